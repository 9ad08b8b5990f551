"""Snapshots, judge versions, promotions and jobs; recorded runs are known by their content."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables of the learning loop, the judge that every store has, and the key of recorded runs."""
    _create_judge_dataset()
    _create_judge_dataset_row()
    _create_question_side()
    _create_judge_version()
    _create_promotion()
    _create_job()
    _insert_zero_shot()
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("content_key", sa.String(), nullable=True))
        run.create_unique_constraint(op.f("uq_run_content_key"), ["content_key"])


def downgrade() -> None:
    """Takes all of it away again; runs and labels stay."""
    with op.batch_alter_table("run") as run:
        run.drop_constraint(op.f("uq_run_content_key"), type_="unique")
        run.drop_column("content_key")
    for table in ("job", "promotion", "judge_version", "question_side", "judge_dataset_row", "judge_dataset"):
        op.drop_table(table)


def _insert_zero_shot() -> None:
    """The base model without an adapter judges until something better is promoted."""
    op.execute(
        "INSERT INTO judge_version (name, number, base_model, scores, threshold, state, created, promoted_by, reason) "
        "VALUES ('zero-shot', 0, '', '{}', 0.5, 'live', CURRENT_TIMESTAMP, '', 'the base model as it is')"
    )


def _create_judge_dataset() -> None:
    op.create_table(
        "judge_dataset",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_dataset")),
    )


def _create_judge_dataset_row() -> None:
    op.create_table(
        "judge_dataset_row",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("annotators", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["judge_dataset.id"],
            name=op.f("fk_judge_dataset_row_dataset_id_judge_dataset"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_judge_dataset_row_item_id_label_item"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "item_id", name=op.f("pk_judge_dataset_row")),
    )


def _create_question_side() -> None:
    op.create_table(
        "question_side",
        sa.Column("question_hash", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["judge_dataset.id"],
            name=op.f("fk_question_side_dataset_id_judge_dataset"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("question_hash", name=op.f("pk_question_side")),
    )


def _create_judge_version() -> None:
    op.create_table(
        "judge_version",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("base_model", sa.String(), nullable=False),
        sa.Column("peft_dir", sa.String(), nullable=True),
        sa.Column("gguf", sa.String(), nullable=True),
        sa.Column("snapshot_id", sa.Integer(), nullable=True),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("promoted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("promoted_by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["snapshot_id"],
            ["judge_dataset.id"],
            name=op.f("fk_judge_version_snapshot_id_judge_dataset"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_judge_version")),
        sa.UniqueConstraint("number", name=op.f("uq_judge_version_number")),
    )
    op.create_index(
        "uq_judge_version_live",
        "judge_version",
        ["state"],
        unique=True,
        sqlite_where=sa.text("state = 'live'"),
        postgresql_where=sa.text("state = 'live'"),
    )


def _create_promotion() -> None:
    op.create_table(
        "promotion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["judge"], ["judge_version.name"], name=op.f("fk_promotion_judge_judge_version"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["previous"], ["judge_version.name"], name=op.f("fk_promotion_previous_judge_version"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion")),
    )


def _create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("snapshot_id", sa.Integer(), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("log_path", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["judge_dataset.id"], name=op.f("fk_job_snapshot_id_judge_dataset"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "uq_job_active_kind",
        "job",
        ["kind"],
        unique=True,
        sqlite_where=sa.text("state in ('queued', 'running', 'stopping')"),
        postgresql_where=sa.text("state in ('queued', 'running', 'stopping')"),
    )
