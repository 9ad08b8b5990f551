"""Sampling that pages look at: what the answer agent answers from exactly one item's pool.

A handler that knows who asks starts it and gives the page a token; looking and cancelling need only the token. Sampling goes on
when its page is left, and the same question again while it is kept finds it.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from storage.annotation_values import VoteAnswer, VoteLabel
from storage.values import LabelItem
from trio_core.demo import find
from trio_core.errors import InputError
from trio_core.evidence import PAPER_SAMPLES, EvidenceReport, SampleSettings
from trio_core.evidence_task import EvidenceTask
from ui.context import UiContext
from ui.render.evidence import evidence_html

KEPT = 64
MOST = 64
FEW = 4
"""Samples that a small model on a CPU gives in a time that a person waits."""


@dataclass(frozen=True)
class Asked:
    """One sampling and who asked for it."""

    who: str
    item_id: int
    task: EvidenceTask


class Evidences:
    """The samplings of one app; the oldest ended ones are forgotten."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx = ctx
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, Asked] = OrderedDict()

    @property
    def usual(self) -> int:
        """Samples a person gets without asking for a number."""
        return PAPER_SAMPLES if self._ctx.settings.engine.kind in ("vllm", "openai") else FEW

    def start(self, who: str, item: LabelItem, n: object) -> str:
        """Begins sampling, or finds what this person has asked for already; its token. Raises InputError."""
        samples = n if isinstance(n, int) and n else self.usual
        if not 1 <= samples <= MOST:
            raise InputError(f"{samples} samples cannot be drawn; choose 1 to {MOST}")
        with self._lock:
            for token, asked in self._asked.items():
                task = asked.task
                same = (asked.who, asked.item_id, task.settings.samples) == (who, item.id, samples)
                if same and not task.error and (not task.done or task.report().n == samples):
                    return token
            running = [asked for asked in self._asked.values() if asked.who == who and not asked.task.done]
            for asked in running:  # one at a time for each person: the newest question is the one that is looked at
                asked.task.cancel()
            token = secrets.token_urlsafe(12)
            task = self._ctx.workbench.sample_evidence(item.item, SampleSettings(samples=samples), gold_answers(self._ctx, item))
            self._asked[token] = Asked(who, item.id, task)
            self._forget()
            return token

    def _forget(self) -> None:
        for token in [t for t, asked in self._asked.items() if asked.task.done][: max(0, len(self._asked) - KEPT)]:
            del self._asked[token]

    def _of(self, data: Any) -> tuple[str, Asked | None]:
        token = data.get("token") if isinstance(data, dict) else None
        with self._lock:
            return str(token), self._asked.get(token) if isinstance(token, str) else None

    def look(self, data: Any) -> dict[str, Any]:
        """What has come so far, for the page."""
        token, asked = self._of(data)
        if asked is None:
            return {"html": "These samples are gone; ask again.", "done": True, "item": 0}
        report = asked.task.report()
        return {"html": evidence_html(report, asked.task.done, asked.task.error, token), "done": asked.task.done, "item": asked.item_id}

    def cancel(self, data: Any) -> None:
        """Stops a sampling; what has come stays."""
        _, asked = self._of(data)
        if asked is not None:
            asked.task.cancel()

    def keep(self, data: Any) -> tuple[VoteLabel, EvidenceReport]:
        """Stores a whole sampling as a vote label of its answer model. Raises InputError."""
        _, asked = self._of(data)
        report = asked.task.report() if asked else None
        if asked is None or report is None or report.right is None or report.n < report.asked:
            raise InputError("a vote label needs all samples and known gold answers; nothing was stored")
        answers = [VoteAnswer(text=a.answer, n=a.n, right=bool(a.right)) for a in report.answers]
        return self._ctx.store.add_vote_label(asked.item_id, report.model, answers, asked.task.settings.temperature), report


def gold_answers(ctx: UiContext, item: LabelItem) -> tuple[str, ...]:
    """Known answers of an item's question: of a run that it was seen in, else of the demo questions."""
    for source in item.sources:
        run = ctx.store.run(source.run_id) if source.run_id else None
        if run is not None and run.request.gold is not None and run.request.gold.answers:
            return tuple(run.request.gold.answers)
    known = find(item.item.question) if ctx.settings.retriever.corpus == "demo" else None
    return tuple(known.gold.answers) if known else ()
