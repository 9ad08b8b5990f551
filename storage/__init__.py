"""Runs, label items, labels, snapshots, judges and jobs in SQLite (default) or PostgreSQL.

`open_store(url)` is the way in; every result is a frozen value of `storage.values`.
"""

from storage.errors import LabelConflict
from storage.store import Store, open_store

__all__ = ["LabelConflict", "Store", "open_store"]
