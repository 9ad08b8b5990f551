"""The training service: what pages and the command line call. Heavy work runs in a child process (see jobs.py).

    service.make_demo_items()                     label items with gold labels from the demo questions
    snapshot = store.create_snapshot(...)         (storage)
    plan = service.plan(snapshot.id, {})          what would be trained, on how many rows, for how long
    job = service.start(snapshot.id, {})          a child process; follow it with service.job_view(job.id)
    service.promote("judge-1", by="ann")          the engine first, then the store
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from storage.store import Store
from storage.values import Job, JudgeVersion
from training.jobs import Jobs, command_line
from training.plan import draft
from training.progress import read_progress
from training.rows import snapshot_rows
from training.sft import SftConfig
from training.values import DemoItemCounts, JobView, TrainingPlan
from trio_core.errors import TrainingError
from trio_core.settings import Settings

if TYPE_CHECKING:
    from trio_core.workbench import Workbench

Progress = Callable[[str, float], None]
"""Called with what is going on and the done share (0 to 1)."""


class TrainingService:
    """One a process. Thread-safe; `workbench` is null on the command line of jobs that need no engine."""

    def __init__(self, settings: Settings, store: Store, workbench: Workbench | None = None) -> None:
        self.settings = settings
        self.store = store
        self.workbench = workbench
        self._jobs = Jobs(store, settings.data_dir)

    def make_demo_items(self, progress: Progress | None = None) -> DemoItemCounts:
        """Label items from the demo questions by retrieval alone, labelled by gold evidence. Idempotent; blocks (seconds).

        Raises CorpusError or UnfitIndexError where the demo index cannot be built, StoreError.
        """
        from training.demo_items import demo_search, store_demo_items

        search = demo_search(self.settings, self.workbench)
        return store_demo_items(self.settings, self.store, search, progress or (lambda what, share: None))

    def plan(self, snapshot_id: int, overrides: dict[str, Any] | None = None) -> TrainingPlan:
        """What `start` would do; `problems` says why it would refuse. `overrides`: keys of `JobSettings`.

        Raises SettingsError for an unknown or bad override, StoreError for an unknown snapshot.
        """
        rows = snapshot_rows(self.store, snapshot_id)
        return draft(self.settings, snapshot_id, rows, overrides, command_line(self._jobs.next_folder())).plan

    def start(self, snapshot_id: int, overrides: dict[str, Any] | None = None) -> Job:
        """Starts the training in a process of its own. Raises TrainingError (rows, a job is active), SettingsError, StoreError."""
        rows = snapshot_rows(self.store, snapshot_id)
        plan, settings, selection = draft(self.settings, snapshot_id, rows, overrides, "")
        if plan.problems:
            raise TrainingError("; ".join(plan.problems))
        config = SftConfig(
            settings=settings, embedded=self.settings.engine.embedded, data_dir=self.settings.data_dir, snapshot_id=snapshot_id,
            base_name=plan.base_model, held_out_rows=sum(row.split == "held_out" for row in rows))
        return self._jobs.create(config, selection.train, selection.held_out)

    def abort(self, job_id: int) -> Job:
        """Asks a job to save a checkpoint and stop; its state is `stopping`, then `stopped`. Raises TrainingError if it has ended."""
        return self._jobs.abort(job_id)

    def resume(self, job_id: int) -> Job:
        """Continues a stopped or failed job from its newest checkpoint. Raises TrainingError."""
        return self._jobs.resume(job_id)

    def job_view(self, job_id: int) -> JobView:
        """Job, curves, log tail. Reading also brings the store up to date with the process. Raises StoreError."""
        job = self._jobs.look(job_id)
        folder, result, version = self._jobs.folder(job_id), self._jobs.result(job_id), self._jobs.version(job_id)
        curves = read_progress(folder)
        return JobView(
            job=job, command=command_line(folder), loss=curves.loss, held_out=curves.held_out, log_tail=self._jobs.log_tail(job_id),
            folder=str(folder), judge=version.name if version else "", evaluation=result.evaluation if result else None,
            can_resume=job.state in ("stopped", "failed") and (folder / "config.json").exists(),
        )

    def active_job(self) -> Job | None:
        """The training job that is queued, running or stopping."""
        return self._jobs.active()

    def sweep(self) -> list[int]:
        """Call at start: follows jobs that still run, ends those whose process is gone. Ids of the ended."""
        return self._jobs.sweep()

    def promote(self, name: str, by: str, reason: str = "") -> JudgeVersion:
        """Makes a judge live: the engine first, then the store. An EngineError leaves both as they were.

        A candidate's scores then hold `served`: P(sufficient) of one held-out item by the server and by transformers.
        """
        from training.promotion import promote

        return promote(self.store, self.workbench, self.settings.data_dir, name, by, reason)

    def close(self) -> None:
        """Stops following jobs. Their processes go on."""
        self._jobs.close()
