"""One SQLite file for each user: runs, model calls, proposals, decisions."""

from rolecall_server.store.database import Store
from rolecall_server.store.rows import (
    ActRow,
    Asking,
    CallRow,
    Caps,
    DecisionRow,
    DocumentRow,
    EndpointRow,
    LandingRow,
    RunRow,
    Spent,
)
from rolecall_server.store.store_file import cache_path, open_store, store_path

__all__ = [
    "ActRow",
    "Asking",
    "CallRow",
    "Caps",
    "DecisionRow",
    "DocumentRow",
    "EndpointRow",
    "LandingRow",
    "RunRow",
    "Spent",
    "Store",
    "cache_path",
    "open_store",
    "store_path",
]
