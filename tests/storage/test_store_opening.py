"""Opening: what cannot be a store is refused in words that say which path, what is wrong and what to do."""

from __future__ import annotations

import inspect
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, make_url
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from store_helpers import add_items, give, record, request, sqlite_only

from storage import Store, open_store
from storage.tables import Base
from trio_core.errors import StoreError
from trio_core.events import RoundStarted


@sqlite_only
def test_connections_have_our_settings(store: Store) -> None:
    with store._engine.connect() as connection:
        values = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in
                  ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")]
    assert values == ["wal", 1, 10_000, 1]


def test_opening_again_finds_what_was_stored(url: str) -> None:
    first = open_store(url)
    run_id = record(first)
    first.close()
    second = open_store(url)
    assert second.run(run_id) and len(second.events(run_id)) == 4
    second.close()


@sqlite_only
def test_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=rf"data folder {tmp_path}/file/data cannot be made .*data_dir"):
        open_store(f"sqlite:///{tmp_path}/file/data/trioscope.db")
    with pytest.raises(StoreError, match="is a folder"):
        open_store(f"sqlite:///{tmp_path}")


@sqlite_only
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_and_file_are_refused(tmp_path: Path, empty_store: Path) -> None:
    file = Path(shutil.copy(empty_store, tmp_path / "trioscope.db"))
    for place, mode in ((file, 0o400), (tmp_path, 0o500)):
        place.chmod(mode)
        with pytest.raises(StoreError, match=f"{place} is read-only for this user; change its rights"):
            open_store(f"sqlite:///{file}")
        place.chmod(0o700)


@sqlite_only
def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("my notes " * 200)
    with pytest.raises(StoreError, match=f"{file} failed: it is no Trioscope store"):
        open_store(f"sqlite:///{file}")
    assert file.read_text() == "my notes " * 200


@sqlite_only
def test_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.close()
    with pytest.raises(StoreError, match="another program .*invoices"):
        open_store(f"sqlite:///{file}")
    assert sqlite3.connect(file).execute("SELECT name FROM sqlite_master").fetchall() == [("invoices",)]


@sqlite_only
def test_store_of_a_newer_version_is_refused(url: str) -> None:
    open_store(url).close()
    connection = sqlite3.connect(str(make_url(url).database))
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"newer Trioscope \(revision 9999.*update"):
        open_store(url)


@sqlite_only
def test_damaged_references_are_found(tmp_path: Path, url: str) -> None:
    open_store(url).close()
    connection = sqlite3.connect(str(make_url(url).database))
    connection.execute("INSERT INTO claim VALUES (7, 'ann', '2026-01-01 00:00:00')")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="claim whose parent row is missing"):
        open_store(url)


@pytest.mark.parametrize(("wrong", "words"), [
    ("no url", "cannot be read"), ("mysql://h/db", "mysql is not supported"), ("sqlite://", "names no file"),
    ("sqlite:///:memory:", "names no file"), ("postgresql+nothing://u:secret@h/db", "not installed")])
def test_impossible_urls_are_refused_without_showing_passwords(wrong: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        open_store(wrong)
    assert "secret" not in str(caught.value)


@sqlite_only
def test_full_disk_is_said_and_nothing_is_stored_half(store: Store) -> None:
    run_id = store.create_run(request())
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    store._engine.dispose()
    limit = _limit_pages(store, pages)
    with pytest.raises(StoreError, match="disk is full"):
        store.create_run(request("x" * 1_000_000))
    limit.clear()
    store._engine.dispose()
    store.append(run_id, RoundStarted(seq=0, round=1))
    assert store.list_runs()[1] == 1


def _limit_pages(store: Store, pages: int) -> list[int]:
    """Makes the store as small as a full disk would, until the list that is returned is emptied."""
    from sqlalchemy import event

    limit = [pages]

    @event.listens_for(store._engine, "connect")
    def shrink(connection: sqlite3.Connection, record: object) -> None:
        for n in limit:
            connection.execute(f"PRAGMA max_page_count={n}")

    return limit


@sqlite_only
def test_backup_of_a_store_in_use_opens_with_all_rows(store: Store, tmp_path: Path) -> None:
    run_id = record(store)
    give(store, add_items(store, 1)[0])
    copy = open_store(f"sqlite:///{store.backup(tmp_path / 'backups' / 'copy.db')}")
    assert copy.events(run_id) == store.events(run_id) and copy.all_labels() == store.all_labels()
    copy.close()
    with pytest.raises(StoreError, match="overwrites nothing"):
        store.backup(tmp_path / "backups" / "copy.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        store.backup(tmp_path / "file" / "copy.db")


def test_migrations_make_exactly_the_tables_of_the_code(store: Store) -> None:
    engine = create_engine(store.url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_tables_can_be_made_in_postgresql() -> None:
    for table in Base.metadata.sorted_tables:
        CreateTable(table).compile(dialect=postgresql.dialect())
        for index in table.indexes:
            CreateIndex(index).compile(dialect=postgresql.dialect())


def test_every_table_says_what_it_is() -> None:
    for mapper in Base.registry.mappers:
        assert inspect.getdoc(mapper.class_) not in {None, inspect.getdoc(Base)}, mapper.class_
