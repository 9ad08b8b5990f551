"""Judge versions: which judge is live, which were, and why."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from storage.database import Database, reads, writes
from storage.tables import JudgeRow, PromotionRow
from storage.values import JudgeKind, JudgeVersion, Promotion
from trio_core.errors import StoreError

_JSON = ("scores", "head", "gate")


class Judges(Database):
    """Adding, promoting and reading judge versions."""

    @writes
    def add_judge_version(self, session: Session, base_model: str, snapshot_id: int | None = None,
                          peft_dir: str | None = None, gguf: str | None = None, scores: dict[str, Any] | None = None,
                          threshold: float = 0.5, reason: str = "", kind: JudgeKind = "sft", parent: str | None = None,
                          head: dict[str, Any] | None = None, gate: dict[str, Any] | None = None) -> JudgeVersion:
        """Stores a candidate under the next free name (`judge-1`, `judge-2`, …). Paths are relative to the data folder.

        A `threshold` or a `head` names the judge it sits on (`parent`); a `head` brings its parameters.
        """
        if parent is not None:
            _require(session, parent)
        if (kind in {"threshold", "head"}) != (parent is not None) or (kind == "head") != (head is not None):
            raise StoreError(f"a judge of kind {kind!r} was given parent {parent!r} and {'no' if head is None else 'a'} head; thresholds and "
                             "heads need the name of the judge they sit on, and only heads have parameters")
        number = (session.scalar(select(func.max(JudgeRow.number))) or 0) + 1
        row = JudgeRow(name=f"judge-{number}", number=number, kind=kind, base_model=base_model, head=_json(head), parent=parent,
                       gate=_json(gate), snapshot_id=snapshot_id, peft_dir=peft_dir, gguf=gguf, scores=json.dumps(scores or {}),
                       threshold=threshold, state="candidate", created=self.clock(), promoted_by="", reason=reason)
        session.add(row)
        session.flush()
        return _version(row)

    @writes
    def set_judge_scores(self, session: Session, name: str, scores: dict[str, Any],
                         threshold: float | None = None) -> JudgeVersion:
        """Replaces a candidate's scores; those of a judge that is or was live stand."""
        row = _require(session, name)
        if row.state != "candidate":
            raise StoreError(f"judge {name} is {row.state}; scores and threshold change only while it is a candidate")
        row.scores = json.dumps(scores)
        row.threshold = row.threshold if threshold is None else threshold
        return _version(row)

    @writes
    def set_judge_gate(self, session: Session, name: str, gate: dict[str, Any]) -> JudgeVersion:
        """Notes a candidate's gate report, in place of an earlier one; that of a judge that is or was live stands."""
        row = _require(session, name)
        if row.state != "candidate":
            raise StoreError(f"judge {name} is {row.state}; its gate report changes only while it is a candidate")
        row.gate = json.dumps(gate)
        return _version(row)

    @reads
    def judge_version(self, session: Session, name: str) -> JudgeVersion:
        """One judge version. Raises StoreError when there is none of this name."""
        return _version(_require(session, name))

    @reads
    def judge_versions(self, session: Session) -> list[JudgeVersion]:
        """All judge versions, oldest first."""
        return [_version(row) for row in session.scalars(select(JudgeRow).order_by(JudgeRow.number))]

    @reads
    def live_judge(self, session: Session) -> JudgeVersion:
        """The judge that decides."""
        return _version(session.scalars(select(JudgeRow).where(JudgeRow.state == "live")).one())

    @writes
    def promote(self, session: Session, name: str, by: str, reason: str = "") -> JudgeVersion:
        """Makes a judge live and retires the one that was, in one transaction. An older one may come back (rollback)."""
        old = session.scalars(select(JudgeRow).where(JudgeRow.state == "live")).one()
        new = _require(session, name)
        if new.name == old.name:
            raise StoreError(f"judge {name} is live already")
        now = self.clock()
        # Two statements in this order: the index that allows one live judge is checked after each of them.
        session.execute(update(JudgeRow).where(JudgeRow.name == old.name).values(state="retired"))
        session.execute(update(JudgeRow).where(JudgeRow.name == name)
                        .values(state="live", promoted_at=now, promoted_by=by, reason=reason))
        session.add(PromotionRow(judge=name, previous=old.name, by=by, reason=reason, created=now))
        session.flush()
        return _version(session.get_one(JudgeRow, name, populate_existing=True))

    @reads
    def promotions(self, session: Session) -> list[Promotion]:
        """All changes of the live judge, newest first."""
        rows = session.scalars(select(PromotionRow).order_by(PromotionRow.id.desc()))
        return [Promotion(judge=r.judge, previous=r.previous, by=r.by, reason=r.reason, created=r.created) for r in rows]


def _require(session: Session, name: str) -> JudgeRow:
    row = session.get(JudgeRow, name)
    if row is None:
        known = ", ".join(session.scalars(select(JudgeRow.name).order_by(JudgeRow.number)))
        raise StoreError(f"judge {name!r} does not exist; there are {known}")
    return row


def _version(row: JudgeRow) -> JudgeVersion:
    values = {name: getattr(row, name) for name in JudgeVersion.model_fields if name not in _JSON}
    loaded = {name: json.loads(text) for name in _JSON if (text := getattr(row, name)) is not None}
    return JudgeVersion(**values, **loaded)


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)
