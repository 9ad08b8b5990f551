"""The training service: what pages and the command line call. Heavy work runs in a child process (see jobs.py).

    service.make_demo_items()                     label items with gold labels from the demo questions
    snapshot = store.create_snapshot(...)         (storage)
    plan = service.plan(snapshot.id, {})          what would be trained, on how many rows, for how long
    job = service.start(snapshot.id, {})          a child process; follow it with service.job_view(job.id)
    service.promote("judge-1", by="ann")          the engine first, then the store
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storage.store import Store
from storage.values import Job, JudgeVersion
from trio_core.settings import Settings
from trio_core.workbench import Workbench
from training.values import DemoItemCounts, JobView, TrainingPlan

Progress = Callable[[str, float], None]
"""Called with what is going on and the done share (0 to 1)."""


class TrainingService:
    """One a process. Thread-safe; `workbench` is null on the command line of jobs that need no engine."""

    def __init__(self, settings: Settings, store: Store, workbench: Workbench | None = None) -> None:
        self.settings = settings
        self.store = store
        self.workbench = workbench

    def make_demo_items(self, progress: Progress | None = None) -> DemoItemCounts:
        """Label items from the demo questions by retrieval alone, labelled by gold evidence. Idempotent; blocks (seconds).

        Raises CorpusError or UnfitIndexError where the demo index cannot be built, StoreError.
        """
        raise NotImplementedError

    def plan(self, snapshot_id: int, overrides: dict[str, Any] | None = None) -> TrainingPlan:
        """What `start` would do; `problems` says why it would refuse. `overrides`: keys of `JobSettings`.

        Raises SettingsError for an unknown or bad override, StoreError for an unknown snapshot.
        """
        raise NotImplementedError

    def start(self, snapshot_id: int, overrides: dict[str, Any] | None = None) -> Job:
        """Starts the training in a process of its own. Raises TrainingError (rows, a job is active), SettingsError, StoreError."""
        raise NotImplementedError

    def abort(self, job_id: int) -> Job:
        """Asks a job to save a checkpoint and stop; its state is `stopping`, then `stopped`. Raises TrainingError if it has ended."""
        raise NotImplementedError

    def resume(self, job_id: int) -> Job:
        """Continues a stopped or failed job from its newest checkpoint. Raises TrainingError."""
        raise NotImplementedError

    def job_view(self, job_id: int) -> JobView:
        """Job, curves, log tail. Reading also brings the store up to date with the process. Raises StoreError."""
        raise NotImplementedError

    def active_job(self) -> Job | None:
        """The training job that is queued, running or stopping."""
        raise NotImplementedError

    def sweep(self) -> list[int]:
        """Call at start: follows jobs that still run, ends those whose process is gone. Ids of the ended."""
        raise NotImplementedError

    def promote(self, name: str, by: str, reason: str = "") -> JudgeVersion:
        """Makes a judge live: the engine first, then the store. An EngineError leaves both as they were.

        A candidate's scores then hold `served`: P(sufficient) of one held-out item by the server and by transformers.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Stops following jobs. Their processes go on."""
