"""What an evaluation is asked for, and one row of what it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import yaml
from pydantic import Field

from trio_core.errors import InputError
from trio_core.events import Cost
from trio_core.runs import RunInfo, RunStatus, RunStore
from trio_core.values import Value


class EvaluationStore(RunStore, Protocol):
    """A run store that finds the runs of an evaluation again."""

    def runs_of_group(self, group: str) -> Sequence[RunInfo]:
        """Runs whose request has this group."""


class Entrant(Value):
    """A method with settings of its own. The label tells entrants of one method apart: `trio:max_extensions=1`."""

    label: str
    method: str
    settings: dict[str, Any] = Field(default_factory=dict)


def entrant(text: str) -> Entrant:
    """`trio`, or `trio:max_extensions=1:top_k=3`. Raises InputError for a setting without `=`."""
    method, *pairs = [part.strip() for part in text.strip().split(":")]
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(f"method {text!r}: {pair!r} is no setting; write trio:max_extensions=1")
        settings[key.strip()] = yaml.safe_load(value)
    if not method:
        raise InputError(f"method {text!r} has no name; write trio, or trio:max_extensions=1")
    return Entrant(label=":".join([method, *pairs]), method=method, settings=settings)


class Row(Cost):
    """One question through one entrant, once. A run that failed is a row too: its scores are 0, `reason` says why."""

    run_id: str
    label: str
    method: str
    dataset: str
    question_id: str
    question: str
    answers: tuple[str, ...]
    repeat: int = 0
    seed: int | None = None
    type: str = ""
    level: str = ""
    hops: int = 0
    """Steps that the data set knows; 0 = unknown."""
    answerable: bool = True
    status: RunStatus
    reason: str
    answer: str = ""
    scores: dict[str, float] = Field(default_factory=dict)
    """By metric name; empty where no right answer is known."""
    recall: tuple[float, ...] = ()
    """Share of the gold passages among all that was retrieved up to each round; empty where none are known."""
    gold: int = 0
    """Gold passages found in the corpus; `gold_wanted` counts the paragraphs that the data set names."""
    gold_wanted: int = 0
    rounds: int = 0
    unparsed: int = 0
    """Outputs of models that could not be read."""

    @property
    def finished(self) -> bool:
        """True when the run ended by itself."""
        return self.status == "finished"

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Which job the row is of."""
        return self.label, self.dataset, self.question_id, self.repeat


class Progress(Value):
    """Where an evaluation stands. `seconds_left` is null until a run of this sitting has ended."""

    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    fresh: int = 0
    """Runs that ended in this sitting; `done` counts those of earlier ones too."""
    seconds: float = 0.0
    seconds_left: float | None = None
    last: str = ""

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {_duration(self.seconds_left)} left"
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self.done:,} of {self.total:,} runs{failed}, {_duration(self.seconds)}{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
