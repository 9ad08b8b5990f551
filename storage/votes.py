"""Labels by votes: n sampled answers of an answer model from exactly the item's pool (TRIO's unanimity rule)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, bindparam, func, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.annotation_values import VoteAnswer, VoteLabel
from storage.database import Database, reads, writes
from storage.items import require_item
from storage.state import refresh
from storage.tables import VoteRow
from storage.values import VoteResult
from trio_core.errors import InputError

_ANSWERS: TypeAdapter[tuple[VoteAnswer, ...]] = TypeAdapter(tuple[VoteAnswer, ...])
_OF_ITEM = (select(*VoteRow.__table__.c).where(VoteRow.item_id == bindparam("item"))
            .order_by(VoteRow.created.desc(), VoteRow.id.desc()))


def unanimous(n_right: int, n_samples: int) -> VoteResult:
    """All right = sufficient, all wrong = insufficient, anything between is no label for training."""
    return "sufficient" if n_right == n_samples else "mixed" if n_right else "insufficient"


class Votes(Database):
    """Storing and reading vote labels."""

    @writes
    def add_vote_label(self, session: Session, item_id: int, answer_model: str, answers: Sequence[VoteAnswer],
                       temperature: float) -> VoteLabel:
        """Stores what `answer_model` answered. For one item and model as many or more samples replace fewer; fewer change nothing.

        Returns the label that is stored afterwards. Raises InputError for no answer or no model, StoreError for no item.
        """
        return store_vote(self, session, item_id, answer_model, answers, temperature)

    @reads
    def vote_labels(self, session: Session, item_id: int) -> list[VoteLabel]:
        """The vote labels of an item, one for each answer model, newest first."""
        return [_value(row) for row in session.connection().execute(_OF_ITEM, {"item": item_id})]

    @reads
    def vote_counts(self, session: Session) -> dict[str, dict[VoteResult, int]]:
        """Answer model -> label -> items."""
        found: dict[str, dict[VoteResult, int]] = {}
        for model, label, n in session.execute(select(VoteRow.answer_model, VoteRow.label, func.count())
                                               .group_by(VoteRow.answer_model, VoteRow.label)
                                               .order_by(VoteRow.answer_model, VoteRow.label)):
            found.setdefault(model, {})[label] = n  # type: ignore[index]
        return found


def store_vote(store: Database, session: Session, item_id: int, answer_model: str, answers: Sequence[VoteAnswer],
               temperature: float) -> VoteLabel:
    """`Votes.add_vote_label` in an open transaction."""
    require_item(session, item_id)
    n_samples, n_right = sum(a.n for a in answers), sum(a.n for a in answers if a.right)
    if not n_samples or not answer_model:
        raise InputError(f"a vote label of item {item_id} needs the answer model's name and at least one answer")
    values = {"n_samples": n_samples, "n_right": n_right, "answers": _ANSWERS.dump_json(tuple(answers)).decode(),
              "label": unanimous(n_right, n_samples), "temperature": temperature, "created": store.clock()}
    insert = dialect.insert_for(session.connection())
    session.execute(insert(VoteRow).values(item_id=item_id, answer_model=answer_model, **values).on_conflict_do_update(
        index_elements=["item_id", "answer_model"], where=VoteRow.n_samples <= n_samples, set_=values))
    refresh(session, item_id)
    return _value(session.scalars(select(VoteRow).where(VoteRow.item_id == item_id, VoteRow.answer_model == answer_model)).one())


def _value(row: VoteRow | Row[Any]) -> VoteLabel:
    values = {name: getattr(row, name) for name in VoteLabel.model_fields if name != "answers"}
    return VoteLabel(answers=_ANSWERS.validate_json(row.answers), **values)
