"""Items with a label that a judge may learn from, and why the others have none."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from storage.labels import current_rows
from storage.questions import normalise
from storage.resolution import human_labels
from storage.tables import AdjudicationRow, GoldRow, ItemRow, LabelRow, VerdictRow, VoteRow
from storage.values import BinaryLabel, HumanKind, LabelSource, SnapshotRequest


@dataclass(frozen=True)
class Candidate:
    """One item with its resolved label. `question` is normalised."""

    item_id: int
    content_hash: str
    question: str
    label: BinaryLabel
    source: LabelSource
    annotators: tuple[str, ...] = ()
    kind: HumanKind | None = None
    answer_models: tuple[str, ...] = ()


def candidates(session: Session, request: SnapshotRequest) -> tuple[list[Candidate], Counter[str]]:
    """Labelled items, and how many others were left out for which reason.

    Of the sources asked for the first that says something about an item speaks: people, then votes, then gold. Where it does
    not decide (people in conflict or unsure, an item skipped, votes mixed or answer models against each other) the item is
    left out: what a reader doubts is no good teacher.
    """
    human = human_labels()
    query = (select(ItemRow.id, ItemRow.content_hash, ItemRow.question, human.c.verdict, human.c.policy, GoldRow.label.label("gold"))
             .outerjoin(human, human.c.item_id == ItemRow.id).outerjoin(GoldRow, GoldRow.item_id == ItemRow.id)
             .order_by(ItemRow.id))
    given = _Given(session, request)
    found: list[Candidate] = []
    dropped: Counter[str] = Counter()
    for row in session.execute(query):
        candidate = _candidate(row, request, given)
        if isinstance(candidate, Candidate):
            found.append(candidate)
        else:
            dropped[candidate] += 1
    return found, dropped


def _candidate(row: Row[Any], request: SnapshotRequest, given: _Given) -> Candidate | str:
    """The candidate, or the reason why there is none."""
    verdict = row.verdict if "human" in request.sources else None
    votes = given.votes.get(row.id, {})
    label = verdict or _of_votes(votes) or (row.gold if "gold" in request.sources else None)
    if label not in {"sufficient", "insufficient"}:
        return label or "unlabelled"
    base = {"item_id": row.id, "content_hash": row.content_hash, "question": normalise(row.question), "label": label}
    if verdict:
        who = given.names[row.id][label] if row.policy != "adjudicated" else [given.adjudicator[row.id]]
        return Candidate(**base, source="human", annotators=tuple(who), kind=given.kind(row.id, label))
    if votes:
        return Candidate(**base, source="votes", answer_models=tuple(sorted(model for model, said in votes.items() if said == label)))
    return Candidate(**base, source="gold")


def _of_votes(votes: dict[str, str]) -> str | None:
    """What the answer models say together. Mixed votes of one model are outvoted by another's unanimous ones."""
    said = set(votes.values()) - {"mixed"}
    return "vote_conflict" if len(said) > 1 else next(iter(said), "mixed" if votes else None)


class _Given:
    """What people, judges and votes gave to items, loaded once."""

    def __init__(self, session: Session, request: SnapshotRequest) -> None:
        self.names: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """item -> value -> annotators."""
        self._labelled: dict[int, datetime] = {}
        self._verdicts: dict[int, list[tuple[datetime, str]]] = defaultdict(list)
        self.votes: dict[int, dict[str, str]] = defaultdict(dict)
        """item -> answer model -> label."""
        rows = current_rows().with_only_columns(LabelRow.item_id, LabelRow.value, LabelRow.annotator, LabelRow.created)
        for item_id, value, annotator, created in session.execute(rows.order_by(LabelRow.annotator)):
            self.names[item_id][value].append(annotator)
            self._labelled[item_id] = max(created, self._labelled.get(item_id, created))
        self.adjudicator: dict[int, str] = {}
        for row in session.scalars(select(AdjudicationRow).order_by(AdjudicationRow.id)):
            self.adjudicator[row.item_id] = row.by
            self._labelled[row.item_id] = max(row.created, self._labelled.get(row.item_id, row.created))
        for item_id, label, created in session.execute(select(VerdictRow.item_id, VerdictRow.label, VerdictRow.created)
                                                       .where(VerdictRow.label != "unparsed").order_by(VerdictRow.id)):
            self._verdicts[item_id].append((created, label))
        if "votes" in request.sources:
            for row in session.scalars(select(VoteRow)):
                if not request.vote_models or row.answer_model in request.vote_models:
                    self.votes[row.item_id][row.answer_model] = row.label

    def kind(self, item_id: int, label: str) -> HumanKind:
        """Against the judge's last verdict before the item's last label (the first one, where labels came earlier)."""
        verdicts = self._verdicts.get(item_id)
        if not verdicts:
            return "unjudged"
        shown = [said for created, said in verdicts if created <= self._labelled[item_id]] or [verdicts[0][1]]
        return "agreement" if shown[-1] == label else "correction"
