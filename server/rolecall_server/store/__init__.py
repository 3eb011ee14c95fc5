"""One SQLite file for each user: runs, model calls, proposals, decisions."""

from rolecall_server.store.database import CallRow, RunRow, Store, cache_path, open_store, store_path

__all__ = ["CallRow", "RunRow", "Store", "cache_path", "open_store", "store_path"]
