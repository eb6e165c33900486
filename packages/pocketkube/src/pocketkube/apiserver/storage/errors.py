"""What can go wrong in storage. The layer above turns each into a Status; this room knows no codes.

StorageError
    AlreadyExists, NotFound, Conflict    the precondition of a write does not hold; nothing was written
    Expired, TooNew                      the version of a read is compacted, or not reached yet
    WriteFailed                          the disk refused; nothing was written and later writes may succeed
    Unusable                             the file cannot be opened; the message is one sentence for a person
    Closed                               the storage was closed
"""

from pocketkube.apiserver.storage.records import Key


class StorageError(Exception):
    """Any trouble of storage."""


class AlreadyExists(StorageError):
    """The key of a create is taken."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"{key} already exists")
        self.key = key


class NotFound(StorageError):
    """The key of an update or delete is not there."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"{key} does not exist")
        self.key = key


class Conflict(StorageError):
    """Somebody wrote the object since it was read."""

    def __init__(self, key: Key, expected: int, found: int) -> None:
        super().__init__(f"{key} is at version {found}, not at {expected}")
        self.key = key
        self.expected = expected
        self.found = found


class Expired(StorageError):
    """The changes after this version are no longer all there; whoever asked has to list again."""

    def __init__(self, version: int, oldest: int) -> None:
        super().__init__(f"version {version} is compacted, the oldest is {oldest}")
        self.version = version
        self.oldest = oldest


class TooNew(StorageError):
    """This version was not reached yet."""

    def __init__(self, version: int, newest: int) -> None:
        super().__init__(f"version {version} is not reached yet, the newest is {newest}")
        self.version = version
        self.newest = newest


class WriteFailed(StorageError):
    """The journal did not take the write."""


class Unusable(StorageError):
    """The file cannot serve as a storage."""


class Closed(StorageError):
    """The storage is closed."""
