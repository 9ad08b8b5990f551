"""The store: all of its parts under one name."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from storage import dialect
from storage.adjudications import Adjudications
from storage.calibration import Calibration
from storage.database import Database
from storage.exports import Exports
from storage.imports import Imports
from storage.items import Items
from storage.jobs import Jobs
from storage.judges import Judges
from storage.loop import Loop
from storage.progress import Progress
from storage.queue import Queue
from storage.queue_rules import QueueRules
from storage.run_reads import RunReader
from storage.runs import RunRecorder
from storage.tables import utc_now
from trio_core.errors import StoreError


class Backup(Database):
    """Copying the store."""

    def backup(self, path: Path) -> Path:
        """Copies the store to a new file while it is in use (a plain copy would miss what stands in the WAL)."""
        if not self.is_sqlite:
            raise StoreError(f"the store {self.name} is a PostgreSQL database; back it up with pg_dump")
        if path.exists():
            raise StoreError(f"{path} exists; a backup overwrites nothing, give another name")
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            self._guarded(lambda: dialect.sqlite_backup(self._engine, part))
            os.replace(part, path)
        except OSError as error:
            raise StoreError(f"the backup {path} cannot be written ({error.strerror}); choose another place") from error
        return path


class Store(RunRecorder, RunReader, Items, Queue, QueueRules, Progress, Adjudications, Calibration, Exports, Imports, Judges, Loop, Jobs,
            Backup):
    """Runs, label items, labels, snapshots, judges and jobs. Thread-safe; several apps may use one store.

    Every method is one short transaction and raises StoreError (or InputError, for what a person typed).
    """


def open_store(url: str, clock: Callable[[], datetime] = utc_now) -> Store:
    """Opens a store, makes it if it is new and migrates it if it is old. Raises StoreError, which says what to do."""
    return Store(url, clock)
