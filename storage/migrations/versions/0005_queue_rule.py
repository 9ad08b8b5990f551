"""How many people an item goes to, as admins set it; and who was shown what is said about an item before they answered."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the two tables, empty: one person an item, as before."""
    op.create_table(
        "queue_rule",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Integer(), nullable=True),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue_rule")),
    )
    op.create_table(
        "item_shown",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_item_shown_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("item_id", "annotator", name=op.f("pk_item_shown")),
    )


def downgrade() -> None:
    """Takes them away again."""
    op.drop_table("item_shown")
    op.drop_table("queue_rule")
