"""Alembic's environment. `storage.migrate` hands over an open connection; transactions are the caller's."""

from alembic import context

from storage.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    compare_type=True,
    # The caller holds one transaction around everything: SQLite can roll DDL back, Alembic assumes that it can't.
    transactional_ddl=True,
)
context.run_migrations()
