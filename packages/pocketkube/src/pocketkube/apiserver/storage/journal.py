"""The SQLite file: a log of changes, written by one connection and read once, when it is opened.

One table is everything. A row is a version of an object and names the version it replaced; the present is the newest row of each
key, so a write is one insert at the end of the file. Compaction deletes what was replaced, and tombstones, up to a floor.

Durability: WAL with `synchronous = FULL`, so a commit returns after its part of the log was synced (NORMAL would sync only at
checkpoints: it survives kill -9 but not a power cut, and etcd, which we are measured against, syncs). The lock is exclusive for as long
as the file is open: a second process is told so, and no shared memory file is needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
import sqlite3

from pocketkube.apiserver.storage.errors import Unusable
from pocketkube.apiserver.storage.records import Change, Event, Key, Record

APPLICATION = 0x6B6F7264
"""Marks a file as ours, in the place SQLite's header has for it ("kord")."""

FORMAT = 1
FIRST_VERSION = 1
"""The version of an empty storage: never 0, which means "any" to a client."""

CHECKPOINT = 4_000
"""Pages of the write-ahead log (16 MB) after which it is folded into the file: rarely, for it costs two more syncs."""

PATIENCE = 1.0
"""Seconds to wait for a process that is just ending to give the file back."""

_SCHEMA = f"""
BEGIN EXCLUSIVE;
CREATE TABLE log (
    version INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    previous INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE compaction (floor INTEGER NOT NULL);
INSERT INTO compaction VALUES ({FIRST_VERSION});
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
COMMIT;
"""  # noqa: S608  the numbers are constants of this module
_INSERT = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)"
_READ = (
    "SELECT version, resource, namespace, name, previous, deleted, value FROM log ORDER BY version"
)
_FORGET_REPLACED = (
    "DELETE FROM log WHERE version IN (SELECT previous FROM log WHERE version > ? AND version <= ?)"
)
_FORGET_DELETED = "DELETE FROM log WHERE deleted AND version > ? AND version <= ?"


@dataclass(slots=True)
class Contents:
    """What a file holds: the present, the changes after the floor, and the versions of both ends."""

    heads: dict[Key, Record] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    version: int = FIRST_VERSION
    floor: int = FIRST_VERSION


class SqliteJournal:
    """An open file. Opening and writing may happen in different threads, but never at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self, events: Sequence[Event], floors: tuple[int, int]) -> None:
        """Adds events and moves the floor from one version to another, durably or not at all."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(_INSERT, map(_row, events))
            if floors[0] != floors[1]:
                execute(_FORGET_REPLACED, floors)
                execute(_FORGET_DELETED, floors)
                execute("UPDATE compaction SET floor = ?", floors[1:])
            execute("COMMIT")
        except BaseException:
            # Some errors have ended the transaction already; what matters is that the next one can begin.
            with suppress(sqlite3.Error):
                execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()


def open_journal(path: Path) -> tuple[SqliteJournal, Contents]:
    """Opens a file, or makes it, and reads all of it."""
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        connection = sqlite3.connect(
            path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path)
            return SqliteJournal(connection), _contents(connection)
        except BaseException:
            connection.close()
            raise


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Says in one sentence why a file cannot be used."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise Unusable(f"{path} is in use by another process") from error
        raise Unusable(f"{path} cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise Unusable(f"{path} is not a store of korder, or it is damaged: {error}") from error
    except OSError as error:
        raise Unusable(f"{path} cannot be opened: {error.filename}: {error.strerror}") from error


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Takes the lock, looks whose file it is before anything is changed, and makes the tables of a new one."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise Unusable(f"{path} is a database of another program")
    if version > FORMAT:
        raise Unusable(
            f"{path} was written by a newer korder: its format is {version}, this one knows {FORMAT}"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
    if not tables:
        connection.executescript(_SCHEMA)


def _contents(connection: sqlite3.Connection) -> Contents:
    found = Contents()
    ((found.floor,),) = connection.execute("SELECT floor FROM compaction").fetchall()
    found.version = found.floor
    with closing(connection.execute(_READ)) as rows:
        for version, resource, namespace, name, previous, deleted, value in rows:
            key = Key(resource, namespace, name)
            head = found.heads.pop(key, None) if previous else None
            record = Record(key if head is None else head.key, version, value)
            if not deleted:
                found.heads[record.key] = record
            if version > found.floor:
                change = Change.MODIFIED if previous else Change.ADDED
                found.events.append(Event(Change.DELETED if deleted else change, record, head))
                found.version = version
    return found


def _row(event: Event) -> tuple[int, str, str, str, int, bool, bytes]:
    record, previous = event.record, event.previous
    replaced = previous.version if previous is not None else 0
    deleted = event.change is Change.DELETED
    return (record.version, *record.key, replaced, deleted, record.value)
