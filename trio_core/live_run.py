"""A run of this process as the hub holds it in memory beside the store, and what a page gets to see of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from trio_core.events import StoredEvent
from trio_core.runs import RunRequest, RunStatus


class LiveText(NamedTuple):
    """Text of the call that is being written."""

    round: int
    role: str
    text: str


class Snapshot(NamedTuple):
    """What a page needs to draw: new events, the text being written, where the run stands."""

    events: Sequence[StoredEvent]
    live: LiveText | None
    status: RunStatus
    waiting: int
    """Runs ahead in the line while queued."""
    fault: str = ""
    """A fault that could not be stored (the store itself failed)."""


class LiveRun:
    """Changed by the hub alone."""

    def __init__(self, request: RunRequest, earlier: Sequence[StoredEvent]) -> None:
        self.request = request
        self.events: list[StoredEvent] = list(earlier)
        self.live: LiveText | None = None
        self.status: RunStatus = "queued"
        self.fault = ""
        self.task: asyncio.Task[None] | None = None
        self.driven = asyncio.Event()
        """Set once it asks nothing more of engine and retriever; its last events may not be stored yet."""
        self.stopping_as = "stopped"
        self.begun = self.cancelled = False

    def cancel(self) -> None:
        """Cancels the task. One that has not taken its first step would end without a word to the store: it cancels itself in that step."""
        self.cancelled = True
        if self.task is not None and self.begun:
            self.task.cancel()
