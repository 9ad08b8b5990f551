"""Sessions: one per call, short, tried again when the database is locked, and every failure a readable StoreError."""

from __future__ import annotations

import functools
import inspect
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from pydantic_core import PydanticSerializationError
from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session

from storage import dialect
from storage.migrate import migrate
from storage.tables import utc_now
from trio_core.errors import StoreError

T = TypeVar("T")
P = ParamSpec("P")
D = TypeVar("D", bound="Database")

_TRIES = 8


class Database:
    """An open, migrated database. `clock` tells the time (tests set it)."""

    def __init__(self, url: str, clock: Callable[[], datetime] = utc_now) -> None:
        self.url = _parse(url)
        self.name = self.url.database or "" if self.is_sqlite else self.url.render_as_string(hide_password=True)
        self.clock = clock
        # The database lets one writer work at a time. Waiting in line here is fair and holds no connection; SQLite's own
        # busy loop starves some waiters.
        self._line = threading.Lock()
        self._shared = _Shared()
        self._engine = self._open()
        self._writer = self._engine.execution_options(**{dialect.IMMEDIATE: True})

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, false for PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    def read(self, work: Callable[[Session], T]) -> T:
        """Runs `work` in one transaction that sees one state of the store."""
        if self._shared.session is not None:
            return work(self._shared.session)
        return self._guarded(lambda: _in_session(self._engine, work))

    def write(self, work: Callable[[Session], T]) -> T:
        """Runs `work` in one write transaction; all of it is stored, or nothing."""
        if self._shared.session is not None:
            if not self._shared.writing:
                raise RuntimeError("a store is written to within `as_one` without `writing`")
            done = work(self._shared.session)
            self._shared.session.flush()
            return done

        def locked() -> T:
            with self._line:
                return _in_session(self._writer, work)

        return self._guarded(locked)

    def as_one(self, work: Callable[[], T], writing: bool = False) -> T:
        """Runs `work`; all that this thread asks of the store in it is one transaction, which costs far less than one for each.

        With `writing` all of it is stored, or nothing; `work` lets the store's errors pass. It may run again: the database was locked.
        """
        def joined(session: Session) -> T:
            before = self._shared.session, self._shared.writing
            self._shared.session, self._shared.writing = session, writing
            try:
                return work()
            finally:
                self._shared.session, self._shared.writing = before

        return self.write(joined) if writing else self.read(joined)

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def _open(self) -> Engine:
        if self.is_sqlite:
            _check_place(self.name)
        try:
            self._guarded(lambda: migrate(self.url, self.name))
            return dialect.make_engine(self.url)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise StoreError(f"the store {self.name} needs a driver that is not installed ({error}); "
                             "for PostgreSQL: pip install 'psycopg[binary]' and a URL postgresql+psycopg://…") from error

    def _guarded(self, work: Callable[[], T]) -> T:
        """The one retry loop, and the one place where the database's errors become ours."""
        for attempt in range(_TRIES):
            try:
                return work()
            except (SQLAlchemyError, sqlite3.Error) as error:
                if isinstance(error, NoSuchModuleError):
                    raise
                if attempt == _TRIES - 1 or not dialect.is_transient(error):
                    raise StoreError(f"the store {self.name} failed: {dialect.explain(error)}") from error
                time.sleep(random.uniform(0.5, 1.5) * 0.02 * 2**attempt)
            except (PydanticSerializationError, UnicodeEncodeError, OverflowError) as error:
                raise StoreError(f"a value cannot be stored in {self.name}: {error}") from error
        raise AssertionError("unreachable")


class _Shared(threading.local):
    """The session of the `as_one` that a thread is in."""

    session: Session | None = None
    writing = False


def _in_session(engine: Engine, work: Callable[[Session], T]) -> T:
    with Session(engine, expire_on_commit=False) as session, session.begin():
        return work(session)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError(f"store URL {url!r} cannot be read; write sqlite:///path/to/file.db or postgresql+psycopg://…") from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise StoreError(f"store URL {url!r}: {parsed.get_backend_name()} is not supported; use sqlite or postgresql")
    if parsed.get_backend_name() == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreError(f"store URL {url!r} names no file, and a store in memory is lost; write sqlite:///path/to/file.db")
    return parsed


def _check_place(file: str) -> None:
    """Makes the folder. Checks the rights here, because SQLite opens a read-only file and fails at the first write."""
    folder = Path(file).absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the data folder {folder} cannot be made ({error.strerror}); set another one with "
                         "--set data_dir=…, or change its rights") from error
    if Path(file).is_dir():
        raise StoreError(f"the store {file} is a folder; give the path of a file in it")
    for place in (folder, Path(file)):
        if place.exists() and not os.access(place, os.W_OK):
            raise StoreError(f"{place} is read-only for this user; change its rights, or set another data folder with "
                             "--set data_dir=…")


def reads(method: Callable[Concatenate[D, Session, P], T]) -> Callable[Concatenate[D, P], T]:
    """Gives a method of the store a session to read in; callers leave that argument out."""
    def call(self: D, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.read(lambda session: method(self, session, *args, **kwargs))

    return _looks_like(method, call)


def writes(method: Callable[Concatenate[D, Session, P], T]) -> Callable[Concatenate[D, P], T]:
    """Gives a method of the store a session with a write transaction; callers leave that argument out."""
    def call(self: D, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.write(lambda session: method(self, session, *args, **kwargs))

    return _looks_like(method, call)


def _looks_like(method: Callable[..., Any], call: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """Name, docstring and signature of `method`, less its session."""
    functools.update_wrapper(call, method)
    signature = inspect.signature(method)
    shown = [parameter for name, parameter in signature.parameters.items() if name != "session"]
    call.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return call


