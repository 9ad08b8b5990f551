"""Rows of snapshots tell the kind of a human label and the answer models of a vote label."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the two columns; rows of older snapshots have neither."""
    op.add_column("judge_dataset_row", sa.Column("kind", sa.String(), nullable=False, server_default=""))
    op.add_column("judge_dataset_row", sa.Column("answer_models", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Takes them away again."""
    with op.batch_alter_table("judge_dataset_row") as row:
        row.drop_column("answer_models")
        row.drop_column("kind")
