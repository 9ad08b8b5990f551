"""Forking a run: its events up to a round, copied, and then a person's verdict in place of the judge's.

The copy makes the new run whole by itself: it reads, counts and resumes like any other. What the copied rounds cost is in
its totals, so that both runs compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trio_core.errors import InputError
from trio_core.events import Corrected, RoundStarted, RunStarted, StateSaved, StoredEvent
from trio_core.methods.base import Method
from trio_core.runs import RunRequest
from trio_core.values import ForkPoint


def fork_request(
    request: RunRequest, events: Sequence[StoredEvent], point: ForkPoint, settings: dict[str, Any], group: str = ""
) -> RunRequest:
    """The wish for the new run: the original's question, gold and effective settings with `settings` on top."""
    started = next((e for e in reversed(events) if isinstance(e, RunStarted)), None)
    used = started.settings if started is not None else request.settings
    return request.model_copy(update={
        "settings": {**used, **settings}, "origin": "live", "owner": point.by or request.owner, "group": group, "fork": point})


def forked_events(
    method: Method, started: RunStarted, original: Sequence[StoredEvent], point: ForkPoint
) -> list[StoredEvent]:
    """The new run's first events, numbered from 0: `started`, the copied rounds, the correction, the state that follows from it.

    Raises InputError where the original has no such complete round, or cannot go on from it.
    """
    rounds = complete_rounds(original)
    wanted = [events for events in rounds if events[0].round <= point.round]  # type: ignore[union-attr]
    saved = wanted[-1][-1] if wanted else None
    if not isinstance(saved, StateSaved) or saved.round != point.round:
        known = ", ".join(str(events[-1].round) for events in rounds) or "none"  # type: ignore[union-attr]
        raise InputError(f"run {point.run_id!r} has no complete round {point.round} to fork from; complete rounds: {known}")
    state = method.forked(method.load(saved.state), point.verdict)
    copied = [event for events in wanted for event in events][:-1]
    corrected = Corrected(round=point.round, label=point.verdict, by=point.by, note=point.note, t=saved.t)
    after = saved.model_copy(update={"state": state.model_dump(mode="json")})
    first = started.model_copy(update={"forked_from": point, "t": 0.0})
    return [event.model_copy(update={"seq": seq}) for seq, event in enumerate([first, *copied, corrected, after])]


def complete_rounds(events: Sequence[StoredEvent]) -> list[list[StoredEvent]]:
    """Each finished round's events, from `RoundStarted` to `StateSaved`; rounds that broke off are left out."""
    rounds: list[list[StoredEvent]] = []
    current: list[StoredEvent] = []
    for event in events:
        if isinstance(event, (RoundStarted, RunStarted)):
            current = [event] if isinstance(event, RoundStarted) else []
        elif current:
            current.append(event)
            if isinstance(event, StateSaved):
                rounds.append(current)
                current = []
    return rounds
