"""Adjudication, votes, guidelines, calibration; heads and gates of judges; claims by annotator; what the queue sorts by."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables, rebuilds claims (they last minutes and are no facts) and works out the state of every item."""
    _create_adjudication()
    _create_vote_label()
    _create_guideline()
    _create_calibration_item()
    _create_item_state()
    _recreate_claim(["item_id", "annotator"])
    op.create_index(op.f("ix_claim_expires"), "claim", ["expires"])
    with op.batch_alter_table("judge_version") as judge:
        judge.add_column(sa.Column("kind", sa.String(), nullable=False, server_default="sft"))
        judge.add_column(sa.Column("head", sa.Text(), nullable=True))
        judge.add_column(sa.Column("gate", sa.Text(), nullable=True))
        judge.add_column(sa.Column("parent", sa.String(), nullable=True))
        judge.create_foreign_key(
            op.f("fk_judge_version_parent_judge_version"), "judge_version", ["parent"], ["name"], ondelete="RESTRICT"
        )
    op.execute("UPDATE judge_version SET kind = 'model' WHERE name = 'zero-shot'")
    op.execute(_FILL_STATE)


def downgrade() -> None:
    """Takes all of it away again; runs, labels, snapshots and judges stay."""
    with op.batch_alter_table("judge_version") as judge:
        judge.drop_constraint(op.f("fk_judge_version_parent_judge_version"), type_="foreignkey")
        for column in ("parent", "gate", "head", "kind"):
            judge.drop_column(column)
    _recreate_claim(["item_id"])
    for table in ("item_state", "calibration_item", "guideline", "vote_label", "adjudication"):
        op.drop_table(table)


def _item_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["item_id"], ["label_item.id"], name=op.f(f"fk_{table}_item_id_label_item"), ondelete="RESTRICT"
    )


def _create_adjudication() -> None:
    op.create_table(
        "adjudication",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("client_uuid", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        _item_key("adjudication"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adjudication")),
        sa.UniqueConstraint("client_uuid", name=op.f("uq_adjudication_client_uuid")),
    )
    op.create_index(op.f("ix_adjudication_item_id"), "adjudication", ["item_id"])


def _create_vote_label() -> None:
    op.create_table(
        "vote_label",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("answer_model", sa.String(), nullable=False),
        sa.Column("n_samples", sa.Integer(), nullable=False),
        sa.Column("n_right", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("temperature", sa.Double(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        _item_key("vote_label"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vote_label")),
        sa.UniqueConstraint("item_id", "answer_model", name=op.f("uq_vote_label_item_id_answer_model")),
    )


def _create_guideline() -> None:
    op.create_table(
        "guideline",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_guideline")),
    )


def _create_calibration_item() -> None:
    op.create_table(
        "calibration_item",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        _item_key("calibration_item"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_calibration_item")),
    )


def _create_item_state() -> None:
    op.create_table(
        "item_state",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("distance", sa.Double(), nullable=False),
        sa.Column("guess", sa.String(), nullable=False),
        sa.Column("agreed", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        _item_key("item_state"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_item_state")),
    )
    op.create_index(op.f("ix_item_state_distance_item_id"), "item_state", ["distance", "item_id"])
    op.create_index(op.f("ix_item_state_agreed_distance_item_id"), "item_state", ["agreed", "distance", "item_id"])
    op.create_index(op.f("ix_item_state_verdict"), "item_state", ["verdict"])


def _recreate_claim(key: list[str]) -> None:
    op.drop_table("claim")
    op.create_table(
        "claim",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["label_item.id"], name=op.f("fk_claim_item_id_label_item"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_claim")),
    )


_FILL_STATE = """
INSERT INTO item_state (item_id, distance, guess, agreed, labels, verdict, policy)
SELECT i.id,
       coalesce((SELECT abs(v.p - v.threshold) FROM machine_verdict v
                 WHERE v.item_id = i.id AND v.p IS NOT NULL ORDER BY v.id DESC LIMIT 1), 2.0),
       coalesce((SELECT g.label FROM gold_label g WHERE g.item_id = i.id),
                (SELECT v.label FROM machine_verdict v WHERE v.item_id = i.id AND v.label <> 'unparsed'
                 ORDER BY v.id DESC LIMIT 1), ''),
       NOT (
           (h.yes > 0 OR EXISTS (SELECT 1 FROM machine_verdict v WHERE v.item_id = i.id AND v.label = 'sufficient')
            OR EXISTS (SELECT 1 FROM gold_label g WHERE g.item_id = i.id AND g.label = 'sufficient'))
           AND
           (h.no > 0 OR EXISTS (SELECT 1 FROM machine_verdict v WHERE v.item_id = i.id AND v.label = 'insufficient')
            OR EXISTS (SELECT 1 FROM gold_label g WHERE g.item_id = i.id AND g.label = 'insufficient'))),
       h.yes + h.no + h.unsure,
       CASE WHEN h.yes > h.no THEN 'sufficient' WHEN h.no > h.yes THEN 'insufficient' WHEN h.yes > 0 THEN 'conflict'
            WHEN h.unsure > 0 THEN 'unsure' WHEN h.skip > 0 THEN 'skip' ELSE '' END,
       CASE WHEN h.yes + h.no = 0 THEN '' WHEN h.yes = h.no THEN 'conflict' WHEN h.yes + h.no = 1 THEN 'single'
            ELSE 'majority' END
FROM label_item i
JOIN (SELECT j.id,
             coalesce(sum(CASE WHEN e.value = 'sufficient' THEN 1 ELSE 0 END), 0) AS yes,
             coalesce(sum(CASE WHEN e.value = 'insufficient' THEN 1 ELSE 0 END), 0) AS no,
             coalesce(sum(CASE WHEN e.value = 'unsure' THEN 1 ELSE 0 END), 0) AS unsure,
             coalesce(sum(CASE WHEN e.value = 'skip' THEN 1 ELSE 0 END), 0) AS skip
      FROM label_item j
      LEFT JOIN label_event e ON e.item_id = j.id AND NOT EXISTS (SELECT 1 FROM label_event l WHERE l.supersedes = e.id)
      GROUP BY j.id) h ON h.id = i.id
"""
