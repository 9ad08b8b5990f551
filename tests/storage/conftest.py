"""Stores to test on: a SQLite file, or PostgreSQL where TRIOSCOPE_TEST_POSTGRES holds the URL of a server."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
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
    name = f"t_{uuid.uuid4().hex}"
    admin = create_engine(SERVER, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(SERVER).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite store, to be copied: migrating for every test would take most of the tests' time."""
    file = tmp_path_factory.mktemp("empty") / "trioscope.db"
    open_store(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def store(url: str, clock: Clock, empty_store: Path) -> Iterator[Store]:
    if not SERVER:
        target = Path(str(make_url(url).database))
        target.parent.mkdir()
        shutil.copy(empty_store, target)
    opened = open_store(url, clock)
    yield opened
    opened.close()
