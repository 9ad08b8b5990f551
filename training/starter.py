"""The head that comes with Trioscope: a candidate judge for whoever has no labels yet.

Fitted on public multi-hop questions, none of them the demo's, by `python -m tests.benchmarks judge_downstream --write-head`; it meets the
same gate as every other candidate. On the untrained judge TRIO hardly ever stops by verdict; with this head it stops after half the rounds
(`tests/benchmarks/results/judge_downstream.md`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from storage.store import Store
from storage.values import ZERO_SHOT, JudgeVersion
from training.values import Evaluation
from trio_core.errors import TrainingError
from trio_core.judge_head import JudgeHead
from trio_core.values import Value

FILE = Path(__file__).with_name("starter_head.json")


class Starter(Value):
    """A fitted head with its figures on held-out public questions."""

    head: JudgeHead
    threshold: float
    evaluation: Evaluation
    notes: tuple[str, ...]


@cache
def starter() -> Starter:
    """What the file holds."""
    return Starter.model_validate_json(FILE.read_text(encoding="utf-8"))


def has_starter(store: Store) -> bool:
    """Whether it is among the judges already."""
    return any(version.scores.get("starter") for version in store.judge_versions())


def add_starter(store: Store) -> JudgeVersion:
    """Stores it as a candidate on the untrained judge. Raises TrainingError where it is there already."""
    if has_starter(store):
        raise TrainingError("the head that comes with Trioscope is among the judges already")
    found, base = starter(), store.judge_version(ZERO_SHOT)
    return store.add_judge_version(
        base_model=base.base_model, kind="head", parent=ZERO_SHOT, head=found.head.model_dump(mode="json"), threshold=found.threshold,
        scores={**found.evaluation.model_dump(mode="json"), "starter": True, "notes": list(found.notes)}, reason="comes with Trioscope")
