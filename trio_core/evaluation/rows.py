"""From a stored run to its row, and the file of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from trio_core.datasets import Question
from trio_core.errors import InputError
from trio_core.evaluation.choice import choice_accuracy
from trio_core.evaluation.values import Row
from trio_core.events import Answered, LLMCalled, Retrieved, RunFailed, RunFinished, StoredEvent, is_end
from trio_core.metrics import METRICS, score
from trio_core.runs import EvaluationMark, RunStatus
from trio_core.values import Gold

SUPPORT = ("support_f1", "support_precision", "support_recall")
"""Over distinct passages: all that the run retrieved against the gold ones."""


def row_of(run_id: str, question: Question, gold: Gold, method: str, mark: EvaluationMark, events: Sequence[StoredEvent]) -> Row:
    """The figures of one run, from its events; a run without an end event is one that failed."""
    end = events[-1] if events and is_end(events[-1]) else None
    answered = next((e for e in reversed(events) if isinstance(e, Answered)), None)
    answer = answered.answer if answered and isinstance(end, RunFinished) else ""
    status, reason = _end(end)
    recall = recall_by_round(events, gold.passage_ids)
    scores = scores_of(answer, question) | (support(events, gold.passage_ids) if gold.passage_ids else {})
    row = _place(run_id, question, gold, method, mark, status, reason)
    if not isinstance(end, (RunFinished, RunFailed)):
        return row.model_copy(update={"scores": scores, "recall": recall})
    t = end.totals
    return row.model_copy(update={
        "answer": answer, "scores": scores, "recall": recall, "rounds": t.rounds, "calls": t.calls, "retrievals": t.retrievals,
        "prompt_tokens": t.prompt_tokens, "cached_tokens": t.cached_tokens, "completion_tokens": t.completion_tokens,
        "seconds": t.seconds, "unparsed": sum(isinstance(e, LLMCalled) and e.parse == "failed" for e in events),
    })


def refused_row(question: Question, gold: Gold, method: str, mark: EvaluationMark, reason: str) -> Row:
    """The row of a question that could not even be asked."""
    return _place("", question, gold, method, mark, "failed", reason).model_copy(update={"scores": scores_of("", question)})


def _place(run_id: str, question: Question, gold: Gold, method: str, mark: EvaluationMark, status: RunStatus, reason: str) -> Row:
    return Row(
        run_id=run_id, label=mark.label, method=method, dataset=question.dataset, question_id=question.id, question=question.question,
        answers=question.answers, repeat=mark.repeat, seed=mark.seed, type=question.type, level=question.level, hops=len(question.hops),
        answerable=question.answerable, status=status, reason=reason, gold=len(gold.passage_ids), gold_wanted=len(question.evidence),
    )


def scores_of(answer: str, question: Question) -> dict[str, float]:
    """Every answer metric, and `choice` where choices were offered. An empty answer scores 0 throughout."""
    scores = score(answer, question.answers)
    if question.choices:
        scores["choice"] = choice_accuracy(answer, question.choices, question.answers)
    return scores


def recall_by_round(events: Sequence[StoredEvent], gold: Sequence[str]) -> tuple[float, ...]:
    """After each round, the share of the gold passages among all that was retrieved so far."""
    if not gold:
        return ()
    wanted, found = set(gold), set[str]()
    by_round: dict[int, float] = {}
    for event in events:
        if isinstance(event, Retrieved):
            found |= wanted & {h.passage.id for h in event.hits}
            by_round[event.round] = len(found) / len(wanted)
    return tuple(by_round[r] for r in sorted(by_round))


def support(events: Sequence[StoredEvent], gold: Sequence[str]) -> dict[str, float]:
    """F1, precision and recall of the run's distinct passages against the gold ones (0 where nothing was retrieved)."""
    found = {h.passage.id for e in events if isinstance(e, Retrieved) for h in e.hits}
    both = len(found & set(gold))
    precision, recall = (both / len(found) if found else 0.0), both / len(set(gold))
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return dict(zip(SUPPORT, (f1, precision, recall), strict=True))


def _end(end: StoredEvent | None) -> tuple[RunStatus, str]:
    if isinstance(end, RunFinished):
        return "finished", end.reason
    if isinstance(end, RunFailed):
        return end.status, f"{end.error}: {end.message}"
    return "failed", "the run has no end event"


def mend(path: Path) -> None:
    """Takes off a last line that a crash cut, so that the next row begins a line."""
    if path.exists():
        with path.open("rb+") as file:
            body = file.read()
            file.truncate(body.rfind(b"\n") + 1)


class RowFile:
    """Adds rows to a file, each at once and whole, so that a crash loses none. Made by the first row, open until `close`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def append(self, row: Row) -> None:
        """Returns once the operating system has the line."""
        if self._file is None:
            self._file = self._path.open("ab")
        self._file.write(row.model_dump_json().encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """The next row opens the file again."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of a file; a last line that a crash cut is left out. Raises InputError for any other line that is no row."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield Row.model_validate_json(line)
            except ValidationError as error:
                if not line.endswith("\n"):
                    return
                raise InputError(f"{path} line {number} is no row of an evaluation: {error.error_count()} fields do not fit") from error


def latest(rows: Iterator[Row]) -> dict[tuple[str, str, str, int], Row]:
    """One row a job: a run that was continued later has two, and the later one holds."""
    return {row.key: row for row in rows}


ANSWER_METRICS = (*METRICS, "choice")
