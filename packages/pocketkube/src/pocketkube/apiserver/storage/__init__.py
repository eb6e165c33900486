"""Storage of the embedded API server: versioned JSON bytes under (resource, namespace, name), and a log of their changes.

It knows neither HTTP nor kinds nor schemas. The layer above opens it with `open_storage`, reads at once (`get`, `page`),
writes with a precondition (`write`) and follows changes (`watch`).

    open_storage -> Storage -> writer (a thread, or inline) -> ledger (what is allowed) -> journal (the SQLite file)
                       ^-- tables (objects and their past) and watches, filled by what was committed

The surprising decision: SQLite holds the log and nothing else reads it after the start. Everything that can be asked for is
in memory (10,000 pods are some 30 MB), so a read costs a dictionary look-up and never waits for a disk, and the past of a
page is the present with the log undone.
"""

from pocketkube.apiserver.storage.errors import (
    AlreadyExists as AlreadyExists,
    Closed as Closed,
    Conflict as Conflict,
    Expired as Expired,
    NotFound as NotFound,
    StorageError as StorageError,
    TooNew as TooNew,
    Unusable as Unusable,
    WriteFailed as WriteFailed,
)
from pocketkube.apiserver.storage.journal import FIRST_VERSION as FIRST_VERSION
from pocketkube.apiserver.storage.records import (
    Change as Change,
    Create as Create,
    Delete as Delete,
    Draft as Draft,
    Event as Event,
    Key as Key,
    Record as Record,
    Unchanged as Unchanged,
    Update as Update,
    Write as Write,
)
from pocketkube.apiserver.storage.retention import Window as Window
from pocketkube.apiserver.storage.storage import Storage as Storage, open_storage as open_storage
from pocketkube.apiserver.storage.table import Page as Page
from pocketkube.apiserver.storage.watching import Push as Push, Watch as Watch
