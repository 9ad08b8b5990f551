"""Short ways to runs, items and labels."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import Store
from storage.values import LabelInput, StoredLabel
from trio_core.events import Answered, RunFinished, RunStarted, Totals, Verdict
from trio_core.runs import RunRequest
from trio_core.values import Hit, JudgeItem, Message, Passage, PoolEntry

SERVER = os.environ.get("TRIOSCOPE_TEST_POSTGRES")
sqlite_only = pytest.mark.skipif(bool(SERVER), reason="about SQLite's file")


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def judge_item(question: str = "Who wrote it?", text: str = "Ann wrote it.") -> JudgeItem:
    """A judge's input with one passage."""
    hit = Hit(passage=Passage(id="p1", title="It", text=text), score=0.5, rank=1)
    return JudgeItem(question=question, pool=(PoolEntry(query=question, hits=(hit,)),),
                     messages=(Message(role="user", content=f"{text}\n{question}"),))


def request(question: str = "Who wrote it?", method: str = "trio", **more: Any) -> RunRequest:
    """A wish for a run."""
    return RunRequest(question=question, method=method, **more)


def verdict(seq: int, item: JudgeItem, **more: Any) -> Verdict:
    """A verdict of the base model."""
    fields: dict[str, Any] = {"round": 1, "label": "insufficient", "p_sufficient": 0.3, "judged_by": "zero-shot", **more}
    return Verdict(seq=seq, item=item, **fields)


def run_events(question: str = "Who wrote it?", answer: str = "Ann", **more: Any) -> list[Any]:
    """A short run with one verdict."""
    return [
        RunStarted(seq=0, question=question, method="trio"),
        verdict(1, judge_item(question), **more),
        Answered(seq=2, t=1.0, answer=answer, scores={"em": 1.0, "f1": 0.8}),
        RunFinished(seq=3, t=2.0, reason="judge", totals=Totals(rounds=1, calls=3, seconds=2.0)),
    ]


def record(store: Store, question: str = "Who wrote it?", **more: Any) -> str:
    """A finished run in the store."""
    run_id = store.create_run(request(question))
    for event in run_events(question, **more):
        store.append(run_id, event)
    return run_id


def add_items(store: Store, n: int, rounds: int = 1) -> list[int]:
    """Items of n clearly different questions, in order."""
    return [store.add_item(judge_item(f"word{i}a word{i}b word{i}c?", f"Text {i} of round {r}."), "test", round=r)
            for i in range(n) for r in range(rounds)]


def give(store: Store, item_id: int, value: Any = "sufficient", annotator: str = "ann", **more: Any) -> StoredLabel:
    """A label from a form of its own."""
    fields: dict[str, Any] = {"client_uuid": str(uuid.uuid4()), **more}
    return store.add_label(LabelInput(item_id=item_id, annotator=annotator, value=value, **fields))
