"""Brings a store to the newest revision when it is opened, in one transaction, so that two apps may open it at once."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, inspect

from storage import dialect
from trio_core.errors import StoreError

_FOLDER = Path(__file__).parent / "migrations"


def migration_config(connection: Connection | None = None) -> Config:
    """Alembic's settings without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(url: URL, name: str, revision: str = "head") -> None:
    """Runs what is missing up to `revision` (or back down to it). `name` is the store's name in messages."""
    engine = dialect.make_engine(url, migrating=True)
    try:
        with engine.begin() as connection:
            current = _current_revision(connection, name)
            _move(connection, current, revision)
            broken = dialect.broken_references(connection)
            if broken:
                raise StoreError(f"the store {name} has rows in {', '.join(broken)} whose parent row is missing; nothing was "
                                 "changed. Restore a backup, or report this with the store's file")
    finally:
        engine.dispose()


def _current_revision(connection: Connection, name: str) -> str | None:
    """The store's revision, None when it is new. Refuses what is no store of ours or a newer one."""
    current = MigrationContext.configure(connection).get_current_revision()
    script = ScriptDirectory.from_config(migration_config())
    known = {revision.revision for revision in script.walk_revisions()}
    if current is not None and current not in known:
        raise StoreError(f"the store {name} was written by a newer Trioscope (revision {current}, this one knows up to "
                         f"{script.get_current_head()}); update Trioscope, or set another data folder")
    tables = set(inspect(connection).get_table_names())
    if current is None and tables:
        raise StoreError(f"{name} is a database of another program (it holds {', '.join(sorted(tables)[:3])}); "
                         "set another path for the store")
    return current


def _move(connection: Connection, current: str | None, revision: str) -> None:
    config = migration_config(connection)
    script = ScriptDirectory.from_config(config)
    target = script.get_current_head() if revision == "head" else revision
    if current == target:
        return
    back = current is not None and target in {r.revision for r in script.iterate_revisions(current, "base")}
    (command.downgrade if back else command.upgrade)(config, revision)
