"""Alembic's folder: the environment and the revisions. `storage.migrate` runs them; no ini file is needed."""
