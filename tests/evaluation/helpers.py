"""Rows, questions and a hub over a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.core.helpers import PASSAGES, ListRetriever
from trio_core.datasets import Paragraph, Question, map_evidence
from trio_core.engines.scripted import ScriptedEngine
from trio_core.evaluation.batch import Batch, Plan
from trio_core.evaluation.values import Entrant, Row
from trio_core.events import RunStarted
from trio_core.hub import Prepared, RunHub
from trio_core.memory_store import MemoryStore
from trio_core.methods import Tools, build_method
from trio_core.prompting import load_prompts
from trio_core.runs import RunRequest
from trio_core.settings import RunSettings
from trio_core.values import ChatCall

TRIO = Entrant(label="trio", method="trio")
PLAIN = Entrant(label="no_retrieval", method="no_retrieval")


def row(label: str = "trio", question: str = "q1", dataset: str = "d", em: float | None = 1.0, **more: Any) -> Row:
    """A row with one score."""
    scores = {} if em is None else {"em": em}
    return Row(**{"run_id": "r", "label": label, "method": label, "dataset": dataset, "question_id": question, "question": "?", "answers": ("x",),
                  "status": "finished", "reason": "judge", "scores": scores, **more})


def questions(n: int) -> list[Question]:
    """Questions whose evidence is the passages p1 and p2."""
    evidence = tuple(Paragraph(title=PASSAGES[i].title, text=PASSAGES[i].text) for i in ("p1", "p2"))
    return [Question(id=f"q{i}", question=f"Where was the maker of number {i} born?", answers=("Delft",), dataset="d", evidence=evidence) for i in range(n)]


def replies(call: ChatCall) -> dict[str, Any]:
    """Enough at once, the right answer."""
    return {"text": "Sufficient Information", "p_sufficient": 0.9} if call.role == "judge" else {"text": "Delft"}


class Bench:
    """A hub over a rule and a store; counts how many runs began."""

    def __init__(self, rule: Callable[[ChatCall], Any] = replies, store: MemoryStore | None = None, max_running: int = 64) -> None:
        self.engine, self.store, self.begun = ScriptedEngine(rule), store or MemoryStore(), 0
        self.rows: list[Row] = []
        self.hub = RunHub(self._prepare, self.store, RunSettings(max_running=max_running))

    async def _prepare(self, request: RunRequest) -> Prepared:
        self.begun += 1
        tools = Tools(self.engine, ListRetriever(), load_prompts(request.method))
        return Prepared(build_method(request.method, request.settings, tools), RunStarted(question=request.question, method=request.method))

    def batch(self, n: int, concurrency: int = 4, entrants: tuple[Entrant, ...] = (TRIO,), have: frozenset[str] = frozenset(), **plan: Any) -> Batch:
        """A batch over n questions; its rows are in `rows`."""
        chosen = questions(n)
        whole = Plan("eval-1", entrants, chosen, map_evidence(chosen, PASSAGES.values()), **plan)
        return Batch(whole, self.hub, self.store, concurrency, self.rows.append, have=have)
