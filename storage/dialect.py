"""The one place that knows what SQLite and PostgreSQL do differently."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import NullPool

BUSY_MS = 10_000
IMMEDIATE = "trioscope_immediate"
_WRITE_LOCK = 7_410_331
_READABLE = {
    "readonly": "it is read-only for this user; change the rights of the file and of its folder, or set another data folder",
    "unable to open": "it cannot be opened or made; check that the folder exists and that this user may write there",
    "disk is full": "the disk is full; free some space and try again, nothing was stored half",
    "not a database": "it is no Trioscope store (no SQLite database); move it away or set another path",
    "malformed": "it is damaged; restore a backup (`Store.backup` makes them)",
    "disk i/o error": "the disk failed; a store needs a local disk (no network share)",
    "locked": "another program has kept it locked for too long; end that program and try again",
}


def make_engine(url: URL, migrating: bool = False) -> Engine:
    """An engine with our settings on every connection. A migrating one leaves SQLite's foreign keys off."""
    pool: dict[str, Any] = {"poolclass": NullPool} if migrating else {"pool_size": 10, "max_overflow": 30}
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000}, **pool)
        _prepare_sqlite(engine, migrating)
        return engine
    engine = create_engine(url, pool_pre_ping=True, **pool)

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        # The same promise as SQLite's: one writer at a time, so that what a transaction has checked stays true.
        if migrating or connection.get_execution_options().get(IMMEDIATE):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")

    return engine


def _prepare_sqlite(engine: Engine, migrating: bool) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, record: Any) -> None:
        connection.isolation_level = None  # the driver's own BEGIN comes too late and is never IMMEDIATE
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        # A table rebuild drops the old table, and with foreign keys on its children would be deleted with it.
        connection.execute(f"PRAGMA foreign_keys={'OFF' if migrating else 'ON'}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        # A deferred transaction that turns to writing fails at once with `locked`; the busy timeout does not help.
        immediate = migrating or connection.get_execution_options().get(IMMEDIATE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def insert_for(connection: Connection) -> Any:
    """The dialect's INSERT construct with `on_conflict_do_…` (same API in both)."""
    return sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert


def broken_references(connection: Connection) -> list[str]:
    """Tables with rows whose parent is missing (PostgreSQL never lets it come to that)."""
    if connection.dialect.name != "sqlite":
        return []
    return sorted({str(row[0]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")})


def is_transient(error: Exception) -> bool:
    """True where the same transaction may succeed when it is tried again."""
    cause = getattr(error, "orig", None) or error
    if getattr(cause, "sqlstate", "") in {"40001", "40P01"}:
        return True
    return isinstance(cause, sqlite3.OperationalError) and ("locked" in str(cause) or "busy" in str(cause))


def explain(error: Exception) -> str:
    """What is wrong and what to do, in words."""
    raw = str(getattr(error, "orig", None) or error)
    for part, words in _READABLE.items():
        if part in raw.lower():
            return f"{words} ({raw})"
    return raw


def sqlite_backup(engine: Engine, target: Path) -> None:
    """Copies a SQLite store while others write to it (copying the file would miss what stands in the WAL)."""
    source = engine.raw_connection()
    copy = sqlite3.connect(target)
    try:
        source.driver_connection.backup(copy)  # type: ignore[union-attr]
    finally:
        copy.close()
        source.close()
