"""A run as rounds: a pure view of its flat event stream, the same for a live run, a stored one and a test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trio_core.events import (
    Answered,
    BaseEvent,
    Corrected,
    Directions,
    Knowledge,
    LLMCalled,
    Retrieved,
    RoundStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
    SubQueries,
    Verdict,
)


@dataclass
class Round:
    """One round. Calls stand in the order in which they ended."""

    number: int
    began: float
    ended: float | None = None
    directions: Directions | None = None
    sub_queries: SubQueries | None = None
    retrieved: list[Retrieved] = field(default_factory=list)
    calls: list[LLMCalled] = field(default_factory=list)
    verdict: Verdict | None = None
    corrected: Corrected | None = None
    """A fork: the person's verdict that was followed instead."""
    knowledge: Knowledge | None = None
    branches: dict[str, Knowledge] = field(default_factory=dict)
    """By name, what came of each branch; the latest word on it counts."""
    state: StateSaved | None = None

    @property
    def complete(self) -> bool:
        """True once the state is saved: nothing in this round changes any more."""
        return self.state is not None


@dataclass
class Trace:
    """A run so far."""

    started: RunStarted | None = None
    rounds: list[Round] = field(default_factory=list)
    answer_calls: list[LLMCalled] = field(default_factory=list)
    answer: Answered | None = None
    end: RunFinished | RunFailed | None = None
    last_seq: int = -1
    resumed: int = 0
    """How often the run was continued."""

    def add(self, event: BaseEvent) -> None:
        """Takes the next event. A continued run drops the unfinished round that it does again."""
        self.last_seq = event.seq
        match event:
            case RunStarted():
                self._start(event)
            case RoundStarted():
                self.rounds.append(Round(event.round, event.t))
            case Answered():
                self.answer = event
            case RunFinished() | RunFailed():
                self.end = event
            case LLMCalled() if event.role == "answer" or event.role.startswith("answer_"):
                self.answer_calls.append(event)
            case _ if self.rounds:
                self._add_to_round(self.rounds[-1], event)

    def _start(self, event: RunStarted) -> None:
        if self.started is not None:
            self.resumed += 1
            self.rounds = [r for r in self.rounds if r.complete]
            self.answer_calls, self.answer, self.end = [], None, None
        self.started = event

    def _add_to_round(self, current: Round, event: BaseEvent) -> None:
        match event:
            case Directions():
                current.directions = event
            case SubQueries():
                current.sub_queries = event
            case Retrieved():
                current.retrieved.append(event)
            case LLMCalled():
                current.calls.append(event)
            case Verdict():
                current.verdict = event
            case Corrected():
                current.corrected = event
            case Knowledge(branch=str(name)):
                current.branches[name] = event
            case Knowledge():
                current.knowledge = event
            case StateSaved():
                current.state, current.ended = event, event.t
            case _:
                raise TypeError(f"no place in a round for {type(event).__name__}")


def trace_of(events: Iterable[BaseEvent]) -> Trace:
    """The view of all events so far."""
    trace = Trace()
    for event in events:
        trace.add(event)
    return trace
