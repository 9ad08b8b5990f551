"""The one driver of all methods: numbers events, keeps the time and the sums, scores the answer, words the faults.

Live page, command line, batch evaluation and tests all iterate `drive`. Cancelling the iteration cancels the call under way;
what to store about that is the hub's business.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from trio_core.errors import EngineBroken, EngineTimeout, TrioscopeError
from trio_core.events import (
    Answered,
    BaseEvent,
    LLMCalled,
    Retrieved,
    RoundStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
    StoredEvent,
    TextDelta,
    Totals,
    is_end,
)
from trio_core.methods.base import Method, State
from trio_core.metrics import score
from trio_core.values import Gold


class Ledger:
    """Sequence numbers, the clock and the sums of one run; goes on from the stored events of a run that is continued."""

    def __init__(self, earlier: Sequence[StoredEvent] = ()) -> None:
        self._next = earlier[-1].seq + 1 if earlier else 0
        self._offset = earlier[-1].t if earlier else 0.0
        self._began = time.monotonic()
        self._rounds: set[int] = set()
        self._sums: Counter[str] = Counter()
        for event in earlier:
            self._add(event)

    @property
    def totals(self) -> Totals:
        """The sums so far, without the run's seconds."""
        return Totals(rounds=len(self._rounds), **self._sums)  # type: ignore[arg-type]

    def stamp(self, event: BaseEvent) -> BaseEvent:
        """The event with its number and time; live text gets a time only."""
        now = self._offset + time.monotonic() - self._began
        if isinstance(event, TextDelta):
            return event.model_copy(update={"t": now})
        self._add(event)
        numbered = event.model_copy(update={"seq": self._next, "t": now})
        self._next += 1
        return numbered

    def end(self) -> Totals:
        """The sums so far, with the run's seconds."""
        return self.totals.model_copy(update={"seconds": self._offset + time.monotonic() - self._began})

    def _add(self, event: BaseEvent) -> None:
        sums = self._sums
        if isinstance(event, RoundStarted):
            self._rounds.add(event.round)
        elif isinstance(event, Retrieved):
            sums["retrievals"] += 1
            sums["retriever_seconds"] += event.seconds  # type: ignore[assignment]
        elif isinstance(event, LLMCalled):
            sums["calls"] += 1
            sums["prompt_tokens"] += event.usage.prompt_tokens
            sums["cached_tokens"] += event.usage.cached_tokens or 0
            sums["completion_tokens"] += event.usage.completion_tokens
            sums["engine_seconds"] += event.seconds  # type: ignore[assignment]


async def drive(
    method: Method,
    started: RunStarted,
    *,
    gold: Gold | None = None,
    earlier: Sequence[StoredEvent] = (),
    time_limit_s: float = 1800.0,
) -> AsyncIterator[BaseEvent]:
    """All events of one run, from `RunStarted` to `RunFinished` or `RunFailed`.

    `earlier` = stored events of an interrupted run, or a fork's copies: goes on after its last `StateSaved`.
    """
    ledger = Ledger(earlier)
    where = "start"
    try:
        async with asyncio.timeout(time_limit_s), aclosing(_steps(method, started, ledger, earlier, gold)) as steps:
            async for event in steps:
                where = _where(event, where)
                yield ledger.stamp(event)
    except TimeoutError:
        message = f"the run's time limit of {time_limit_s:g} s ran out (setting runs.time_limit_s)"
        yield ledger.stamp(_failed(EngineTimeout(message), where, ledger))
    except TrioscopeError as error:
        yield ledger.stamp(_failed(error, error.where or where, ledger))


async def _steps(
    method: Method, started: RunStarted, ledger: Ledger, earlier: Sequence[StoredEvent], gold: Gold | None
) -> AsyncIterator[BaseEvent]:
    saved = next((e for e in reversed(earlier) if isinstance(e, StateSaved)), None)
    state = method.load(saved.state) if saved else method.begin(started.question)
    if not earlier or is_end(earlier[-1]):  # a fork's first event is stored already
        yield started.model_copy(update={"resumed_from_round": state.round if earlier else None})
    while method.finished(state) is None:
        async with aclosing(method.round(state)) as events:  # type: ignore[type-var]
            async for item in events:
                if isinstance(item, State):
                    state = item
                else:
                    yield item
        yield await _saved(method, state)
    async for event in method.answer(state):
        if isinstance(event, Answered) and gold is not None and gold.answers:
            event = event.model_copy(update={"scores": score(event.answer, gold.answers)})
        yield event
    yield RunFinished(reason=method.finished(state) or "done", totals=ledger.end())


async def _saved(method: Method, state: State) -> StateSaved:
    carried = method.carried(state)
    tokens = 0
    # Counted by paragraph: the engine remembers counts by text, and a pool's older paragraphs come again every round.
    for part in carried.text.split("\n"):
        tokens += await method.tools.engine.count_tokens(part) if part else 0
    return StateSaved(round=state.round, state=state.model_dump(mode="json"), tokens=tokens, hidden=carried.hidden)


def _where(event: BaseEvent, before: str) -> str:
    if isinstance(event, RoundStarted):
        return f"round {event.round}"
    if isinstance(event, (TextDelta, LLMCalled)):
        return f"round {event.round}, {event.role}"
    return before if not is_end(event) else "end"


def _failed(error: TrioscopeError, where: str, ledger: Ledger) -> RunFailed:
    partial = error.partial if isinstance(error, EngineBroken) else ""
    status = "interrupted" if isinstance(error, EngineBroken) else "failed"
    return RunFailed(
        status=status, error=type(error).__name__, message=str(error), where=where, acts=error.acts, partial=partial, totals=ledger.end()
    )


def stopped(earlier: Sequence[StoredEvent], status: str, message: str) -> RunFailed:
    """The end event of a run that was stopped or interrupted from outside."""
    ledger = Ledger(earlier)
    last = earlier[-1].t if earlier else 0.0
    event = RunFailed(
        status=status, error=status.capitalize(), message=message, acts="user",  # type: ignore[arg-type]
        totals=ledger.totals.model_copy(update={"seconds": last}),
    )
    stamped = ledger.stamp(event)
    assert isinstance(stamped, RunFailed)
    return stamped
