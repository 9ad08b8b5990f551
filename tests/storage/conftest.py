"""Stores to test on: a SQLite file, or PostgreSQL where TRIOSCOPE_TEST_POSTGRES holds the URL of a server."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from store_helpers import SERVER, Clock

from storage import Store, open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    if not SERVER:
        yield f"sqlite:///{tmp_path / 'data' / 'trioscope.db'}"
        return
    with _database() as made:
        yield made


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A migrated store, to be copied: migrating for every test would take most of the tests' time."""
    if SERVER:
        with _database() as made:
            open_store(made).close()
            yield made
        return
    file = f"sqlite:///{tmp_path_factory.mktemp('empty') / 'trioscope.db'}"
    open_store(file).close()
    yield file


@pytest.fixture
def store(url: str, clock: Clock, empty_store: str) -> Iterator[Store]:
    source, target = str(make_url(empty_store).database), str(make_url(url).database)
    if SERVER:
        _as_admin(f"DROP DATABASE {target}", f"CREATE DATABASE {target} TEMPLATE {source}")
    else:
        Path(target).parent.mkdir()
        shutil.copy(source, target)
    opened = open_store(url, clock)
    yield opened
    opened.close()


@contextmanager
def _database() -> Iterator[str]:
    """The URL of a new, empty database of the server; dropped at the end."""
    name = f"t_{uuid.uuid4().hex}"
    _as_admin(f"CREATE DATABASE {name}")
    yield make_url(str(SERVER)).set(database=name).render_as_string(hide_password=False)
    _as_admin(f"DROP DATABASE {name} WITH (FORCE)")


def _as_admin(*statements: str) -> None:
    admin = create_engine(str(SERVER), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    admin.dispose()
