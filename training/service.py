"""The training service: what pages and the command line call. Heavy work runs in a child process (see jobs.py).

    service.make_demo_items()                     label items with gold labels from the demo questions
    service.label_by_votes(samples=16)            labels by the answer agent's votes
    snapshot = store.create_snapshot(...)         (storage)
    plan = service.plan(snapshot.id, {})          what would be trained, on how many rows, for how long
    job = service.start(snapshot.id, {})          LoRA SFT; follow any job with service.job_view(job.id)
    service.fit_threshold(snapshot.id)            the cheap rungs: a threshold, a calibrated head
    service.fit_head(snapshot.id, judge="judge-1")
    service.run_gate("judge-2")                   the candidate against the live judge
    service.promote("judge-2", by="ann")          the engine first, then the store; service.rollback(by="ann") goes back
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from storage.store import Store
from storage.values import Job, JudgeVersion
from training import promotion
from training.gate_values import GateReport
from training.jobs import Jobs, command_line
from training.plan import draft
from training.progress import read_progress
from training.rows import snapshot_rows
from training.sft import SftConfig, SftResult
from training.starter import add_starter
from training.values import DemoItemCounts, Evaluation, JobView, TrainingPlan
from training.work import STORE_VARIABLE
from training.work_values import (
    DownstreamTask,
    GateTask,
    HeadTask,
    Task,
    ThresholdTask,
    VotesTask,
    WorkConfig,
    WorkResult,
)
from trio_core.errors import SettingsError, TrainingError
from trio_core.settings import Settings, explain

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
        self._jobs = Jobs(store, settings.data_dir, {STORE_VARIABLE: store.url.render_as_string(hide_password=False)})

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
        """Starts an SFT in a process of its own. Raises TrainingError (rows, a job is active), SettingsError, StoreError."""
        rows = snapshot_rows(self.store, snapshot_id)
        plan, settings, selection = draft(self.settings, snapshot_id, rows, overrides, "")
        if plan.problems:
            raise TrainingError("; ".join(plan.problems))
        config = SftConfig(
            settings=settings, embedded=self.settings.engine.embedded, data_dir=self.settings.data_dir, snapshot_id=snapshot_id,
            base_name=plan.base_model, held_out_rows=sum(row.split == "held_out" for row in rows))
        files = {"train.jsonl": selection.train, "held_out.jsonl": selection.held_out, "calibration.jsonl": selection.calibration}
        return self._jobs.create("sft", config.model_dump(mode="json"), lambda job_id: config, snapshot_id, files)

    def label_by_votes(self, **given: Any) -> Job:
        """Starts labelling items by votes (fields of `VotesTask`). Raises SettingsError, TrainingError while a job is active."""
        return self._work(_checked(VotesTask, given))

    def fit_threshold(self, snapshot_id: int, judge: str = "zero-shot", **given: Any) -> Job:
        """Starts tuning a threshold for a judge (fields of `ThresholdTask`); a candidate comes of it."""
        return self._work(_checked(ThresholdTask, {"snapshot_id": snapshot_id, "judge": judge, **given}))

    def fit_head(self, snapshot_id: int, judge: str = "zero-shot", head: dict[str, Any] | None = None, **given: Any) -> Job:
        """Starts fitting a calibrated head on a judge (`head`: fields of `HeadSettings`); a candidate comes of it."""
        return self._work(_checked(HeadTask, {"snapshot_id": snapshot_id, "judge": judge, "head": head or {}, **given}))

    def add_starter(self) -> JudgeVersion:
        """Adds the head that comes with Trioscope as a candidate. Raises TrainingError where it is there already."""
        return add_starter(self.store)

    def run_gate(self, candidate: str, snapshot_id: int | None = None, downstream: dict[str, Any] | None = None, **given: Any) -> Job:
        """Starts the gate of a candidate against the live judge (fields of `GateTask`); the report goes to its version.

        `snapshot_id`: null = the candidate's own, else the newest. `downstream`: fields of `DownstreamTask` for whole runs too.
        """
        version, live = self.store.judge_version(candidate), self.store.live_judge()
        if version.state != "candidate":
            raise TrainingError(f"{candidate} is {version.state}; only a candidate goes through the gate")
        newest = next(iter(self.store.snapshots()), None)
        chosen = snapshot_id or version.snapshot_id or (newest.id if newest else None)
        if chosen is None:
            raise TrainingError("there is no snapshot with held-out labels to compare on; make one first")
        runs = None if downstream is None else _checked(DownstreamTask, downstream)
        return self._work(_checked(GateTask, {
            "candidate": candidate, "live": live.name, "snapshot_id": chosen, "downstream": runs, **given}))

    def _work(self, task: Task) -> Job:
        snapshot_id = getattr(task, "snapshot_id", None)
        if snapshot_id is not None:
            self.store.snapshot(snapshot_id)
        settings = self.settings.model_copy(update={"store_url": ""})
        return self._jobs.create(task.kind, task.model_dump(mode="json"),
                                 lambda job_id: WorkConfig(settings=settings, task=task, job_id=job_id), snapshot_id)

    def abort(self, job_id: int) -> Job:
        """Asks a job to keep what it has and stop: `stopping`, then `stopped`; again = kill. Raises TrainingError if it has ended."""
        return self._jobs.abort(job_id)

    def resume(self, job_id: int) -> Job:
        """Continues a stopped or failed job where it was. Raises TrainingError."""
        return self._jobs.resume(job_id)

    def job_view(self, job_id: int) -> JobView:
        """Job, curves, log tail. Reading also brings the store up to date with the process. Raises StoreError."""
        job = self._jobs.look(job_id)
        folder, result, version = self._jobs.folder(job_id), self._jobs.result(job), self._jobs.version(job_id)
        curves = read_progress(folder)
        return JobView(
            job=job, command=command_line(folder, job.kind), loss=curves.loss, held_out=curves.held_out,
            log_tail=self._jobs.log_tail(job_id), folder=str(folder), judge=version.name if version else "",
            evaluation=_evaluation(result), report=result.report if isinstance(result, WorkResult) else {},
            can_resume=job.state in ("stopped", "failed") and (folder / "config.json").exists(),
        )

    def active_job(self) -> Job | None:
        """The job that is queued, running or stopping."""
        return self._jobs.active()

    def sweep(self) -> list[int]:
        """Call at start: follows jobs that still run, ends those whose process is gone. Ids of the ended."""
        return self._jobs.sweep()

    def gate(self, name: str) -> GateReport | None:
        """A judge's gate report; null where the gate was not run."""
        return promotion.gate_of(self.store.judge_version(name))

    def obstacle(self, name: str) -> str:
        """Why a candidate needs an admin's reason to go live; empty where it may."""
        return promotion.obstacle(self.store.judge_version(name), self.store.live_judge())

    def promote(self, name: str, by: str, reason: str = "", admin: bool = True) -> JudgeVersion:
        """Makes a judge live: the engine first, then the store. An EngineError leaves both as they were.

        Raises TrainingError where the gate stands against it and no admin gives a reason. An SFT candidate's scores then
        hold `served`: P(sufficient) of one held-out item by the server and by transformers.
        """
        return promotion.promote(self.store, self.workbench, self.settings.data_dir, name, by, reason, admin)

    def rollback(self, by: str, reason: str = "") -> JudgeVersion:
        """Makes the judge live that was live before."""
        return promotion.rollback(self.store, self.workbench, self.settings.data_dir, by, reason)

    def close(self) -> None:
        """Stops following jobs. Their processes go on."""
        self._jobs.close()


def _checked(kind: type[Any], given: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise SettingsError("; ".join(explain(e, kind) for e in error.errors())) from error


def _evaluation(result: SftResult | WorkResult | None) -> Evaluation | None:
    if isinstance(result, SftResult):
        return result.evaluation
    report = result.report if result is not None else {}
    return Evaluation.model_validate({name: report[name] for name in Evaluation.model_fields}) if "before" in report else None
