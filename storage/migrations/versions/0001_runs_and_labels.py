"""Runs, events, label items, verdicts and labels."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables, parents first."""
    _create_run()
    _create_event()
    _create_label_item()
    _create_item_source()
    _create_machine_verdict()
    _create_label_event()
    _create_claim()
    _create_gold_label()


def downgrade() -> None:
    """Drops them, children first."""
    for table in ("gold_label", "claim", "label_event", "machine_verdict", "item_source", "label_item", "event", "run"):
        op.drop_table(table)


def _create_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("dataset", sa.String(), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("em", sa.Double(), nullable=True),
        sa.Column("f1", sa.Double(), nullable=True),
        sa.Column("rounds", sa.Integer(), nullable=True),
        sa.Column("calls", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_created"), "run", ["created"])
    op.create_index(op.f("ix_run_group_id"), "run", ["group_id"])
    op.create_index(op.f("ix_run_status_heartbeat"), "run", ["status", "heartbeat"])


def _create_event() -> None:
    op.create_table(
        "event",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("t", sa.Double(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id_run"), ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("pk_event")),
    )


def _create_label_item() -> None:
    op.create_table(
        "label_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("question_hash", sa.String(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_item")),
        sa.UniqueConstraint("content_hash", name=op.f("uq_label_item_content_hash")),
    )
    op.create_index(op.f("ix_label_item_question_hash"), "label_item", ["question_hash"])


def _create_item_source() -> None:
    op.create_table(
        "item_source",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("dataset", sa.String(), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_item_source_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_item_source_run_id_run"), ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item_source")),
        sa.UniqueConstraint("item_id", "key", name=op.f("uq_item_source_item_id_key")),
    )
    op.create_index(op.f("ix_item_source_run_id"), "item_source", ["run_id"])


def _create_machine_verdict() -> None:
    op.create_table(
        "machine_verdict",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("p", sa.Double(), nullable=True),
        sa.Column("p_method", sa.String(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("deciding", sa.Boolean(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_machine_verdict_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_machine_verdict_run_id_run"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machine_verdict")),
        sa.UniqueConstraint("run_id", "seq", name=op.f("uq_machine_verdict_run_id_seq")),
    )
    op.create_index(op.f("ix_machine_verdict_item_id"), "machine_verdict", ["item_id"])


def _create_label_event() -> None:
    op.create_table(
        "label_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("milliseconds", sa.Integer(), nullable=False),
        sa.Column("client_uuid", sa.String(), nullable=False),
        sa.Column("supersedes", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_label_event_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["supersedes"], ["label_event.id"], name=op.f("fk_label_event_supersedes_label_event"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_event")),
        sa.UniqueConstraint("client_uuid", name=op.f("uq_label_event_client_uuid")),
        sa.UniqueConstraint("supersedes", name=op.f("uq_label_event_supersedes")),
    )
    op.create_index(op.f("ix_label_event_annotator_id"), "label_event", ["annotator", "id"])
    op.create_index(op.f("ix_label_event_item_id_annotator"), "label_event", ["item_id", "annotator"])


def _create_claim() -> None:
    op.create_table(
        "claim",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_claim_item_id_label_item"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_claim")),
    )


def _create_gold_label() -> None:
    op.create_table(
        "gold_label",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_gold_label_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_gold_label")),
    )
