"""What a run is to the hub and to the store that records it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import Field

from trio_core.events import StoredEvent, absent
from trio_core.values import ForkPoint, Gold, Value

RunStatus = Literal["queued", "running", "stopping", "finished", "failed", "stopped", "interrupted"]
ENDED: frozenset[str] = frozenset({"finished", "failed", "stopped", "interrupted"})
Origin = Literal["live", "recorded", "batch"]


class EvaluationMark(Value):
    """The place of a run in an evaluation: which one, which of its methods, which repeat, the seed of its sampling."""

    id: str
    label: str
    """The method with the settings that tell it from others of the evaluation."""
    repeat: int = Field(default=0, ge=0)
    seed: int | None = None


class RunRequest(Value):
    """A wish for a run."""

    question: str
    method: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """Overrides of the method's settings for this run."""
    gold: Gold | None = None
    dataset: str = ""
    question_id: str = ""
    owner: str = ""
    origin: Origin = "live"
    group: str = ""
    """Runs started together (Compare) share a group."""
    fork: ForkPoint | None = Field(default=None, exclude_if=absent)
    """The run and round that this run leaves, with the verdict that it follows."""
    evaluation: EvaluationMark | None = Field(default=None, exclude_if=absent)


def new_run_id() -> str:
    """Short, URL-safe, unguessable."""
    return secrets.token_hex(8)


class RunInfo(Value):
    """One run as lists show it. `answer`, `em` and the totals are null until the run has ended."""

    id: str
    question: str
    method: str
    status: RunStatus
    origin: Origin
    dataset: str = ""
    question_id: str = ""
    owner: str = ""
    group: str = ""
    created: datetime
    ended: datetime | None = None
    answer: str | None = None
    em: float | None = None
    f1: float | None = None
    rounds: int | None = None
    calls: int | None = None
    seconds: float | None = None
    reason: str = ""
    request: RunRequest


class RunStore(Protocol):
    """What the hub needs of a store. Synchronous and thread-safe; the hub calls it off its event loop."""

    def create_run(self, request: RunRequest) -> str:
        """Stores the wish with status `queued` and returns the run's id."""

    def append(self, run_id: str, event: StoredEvent) -> None:
        """Stores one event; `(run, seq)` is unique. A queued run is running from its first event on. A `Verdict` also yields its label item and machine verdict.

        The end event sets the run's status and totals in the same transaction. Raises StoreError.
        """

    def append_all(self, run_id: str, events: Sequence[StoredEvent]) -> None:
        """`append` for several events in one transaction: all of them, or none."""

    def append_runs(self, batch: Mapping[str, Sequence[StoredEvent]], wishes: Mapping[str, RunRequest]) -> None:
        """New runs under the ids of `new_run_id`, then `append_all` for several runs, in one transaction: all of it, or nothing."""

    def set_status(self, run_id: str, status: RunStatus) -> None:
        """Changes a run's status (queued -> running -> stopping); ends come through `append`."""

    def reopen_run(self, run_id: str) -> None:
        """An interrupted, stopped or failed run becomes `queued` again; its end event stays where it is."""

    def events(self, run_id: str, after: int = -1) -> Sequence[StoredEvent]:
        """Stored events with `seq` > `after`, in order."""

    def run(self, run_id: str) -> RunInfo | None:
        """One run, or None."""

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        """Marks runs as alive in this process."""

    def sweep(self, older_than_s: float) -> list[str]:
        """Marks queued, running and stopping runs without a recent heartbeat as interrupted (with a RunFailed event)
        and returns their ids."""
