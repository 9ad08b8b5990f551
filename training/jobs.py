"""Jobs of the learning loop: child processes that outlive the app, followed into the store. One works at a time.

queued -> running -> done | failed | stopped, and by `abort` running -> stopping -> stopped. Whoever looks last at a process
that has ended (a follower thread, a page that reads, the sweep of a new app) stores its end; a lock lets one of them do it.
"""

from __future__ import annotations

import logging
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from storage.jobs import ACTIVE
from storage.store import Store
from storage.values import Job, JobProgress, JudgeVersion
from training import process
from training.child import RESULT
from training.progress import read_progress
from training.rows import TrainingRow, write_rows
from training.sft import SftResult
from training.work_values import WorkResult
from trio_core.errors import StoreError, TrainingError
from trio_core.settings import PROJECT_ROOT
from trio_core.values import Value

KINDS = {"sft": "training.sft", "votes": "training.work", "threshold": "training.work", "head": "training.work", "gate": "training.work"}
"""Kind of job -> the module of its process."""
INTERRUPTED = "interrupted: can be resumed"
UNBEGUN = "the app ended before the job's files were written; start a new job"
POLL_S = 1.0
HEARTBEAT_S = 10.0
TAIL_BYTES = 16_384
TAIL_LINES = 60
logger = logging.getLogger(__name__)


def command_of(folder: Path, kind: str = "sft") -> list[str]:
    """The child process of a job's folder."""
    return [sys.executable, "-m", KINDS[kind], "--config", str(folder / "config.json")]


def command_line(folder: Path, kind: str = "sft") -> str:
    """The command as a shell takes it, from the project's folder."""
    return shlex.join(command_of(folder, kind))


class Jobs:
    """Starts, follows and ends the jobs of one store. `env` is added to their environment."""

    def __init__(self, store: Store, data_dir: Path, env: Mapping[str, str] | None = None) -> None:
        self._store = store
        self._data_dir = data_dir
        self._env = dict(env or {})
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._seen: dict[int, tuple[float, JobProgress]] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()

    def folder(self, job_id: int) -> Path:
        """Where a job's files lie."""
        return self._data_dir / "training" / f"job-{job_id}"

    def next_folder(self) -> Path:
        """Where the files of the next job will lie."""
        last = self._store.jobs(limit=1)
        return self.folder(last[0].id + 1 if last else 1)

    def active(self) -> Job | None:
        """The job that is queued, running or stopping, after a look at its process."""
        found = next((job for job in self._store.jobs() if job.kind in KINDS and job.state in ACTIVE), None)
        if found is None:
            return None
        now = self.look(found.id)
        return now if now.state in ACTIVE else None

    def create(self, kind: str, shown: dict[str, Any], config: Callable[[int], Value], snapshot_id: int | None = None,
               rows: Mapping[str, list[TrainingRow]] | None = None) -> Job:
        """Stores a job and its files, and starts it. Raises TrainingError while another is active.

        `shown` is kept in the store, `config` (made with the job's id) and `rows` (by file name) in the job's folder.
        """
        with self._lock:
            self._refuse_second()
            job = self._store.create_job(kind, shown, snapshot_id)
            folder = self.folder(job.id)
            _set_aside(folder)
            folder.mkdir(parents=True)
            for name, found in (rows or {}).items():
                write_rows(folder / name, found)
            (folder / "config.part").write_text(config(job.id).model_dump_json(indent=1), encoding="utf-8")
            (folder / "config.part").replace(folder / "config.json")  # last and in one step: where it lies, the files are whole
            return self._launch(job)

    def _refuse_second(self) -> None:
        if (active := self.active()) is not None:
            raise TrainingError(f"job {active.id} ({active.kind}) is {active.state}; wait for its end or abort it first")

    def resume(self, job_id: int) -> Job:
        """Starts an ended job's command again; it goes on from its newest checkpoint. Raises TrainingError."""
        with self._lock:
            job = self.look(job_id)
            if job.state not in ("stopped", "failed"):
                raise TrainingError(f"job {job_id} is {job.state}; only a stopped or failed one can be resumed")
            if not (self.folder(job_id) / "config.json").exists():
                raise TrainingError(f"the files of job {job_id} are gone from {self.folder(job_id)}; start a new job")
            self._refuse_second()
            return self._launch(self._store.set_job_state(job_id, "queued"))

    def _launch(self, job: Job) -> Job:
        folder = self.folder(job.id)
        (folder / RESULT).unlink(missing_ok=True)
        log = folder / "log.txt"
        try:
            child = process.spawn(command_of(folder, job.kind), PROJECT_ROOT, log, folder, self._env)
        except OSError as error:
            return self._store.set_job_state(job.id, "failed", error=f"the job's process could not start: {error}")
        self._children[job.id] = child
        now = self._store.set_job_state(job.id, "running", pid=child.pid, log_path=str(log.relative_to(self._data_dir)))
        self._follow(job.id)
        return now

    def abort(self, job_id: int) -> Job:
        """Asks for a checkpoint and the end; asked again, it kills the process. Raises TrainingError if it has ended."""
        with self._lock:
            job = self.look(job_id)
            if job.state not in ACTIVE:
                raise TrainingError(f"job {job_id} is {job.state} already")
            again = job.state == "stopping"
            if job.state == "queued":
                return self._store.set_job_state(job_id, "stopped")
            job = self._store.set_job_state(job_id, "stopping")
            process.end(self.folder(job_id), force=again)
            return job

    def look(self, job_id: int) -> Job:
        """Brings the store up to date with the job's process and returns the job."""
        with self._lock:
            job = self._store.job(job_id)
            if job.kind not in KINDS or job.state not in ACTIVE or (job.state == "queued" and job.pid is None):
                return job
            self._copy_progress(job_id)
            child = self._children.get(job_id)
            running = child.poll() is None if child is not None else process.alive(self.folder(job_id))
            return job if running else self._end(job)

    def _copy_progress(self, job_id: int) -> None:
        progress = read_progress(self.folder(job_id)).progress
        at, last = self._seen.get(job_id, (0.0, JobProgress()))
        if progress != last or time.monotonic() - at > HEARTBEAT_S:
            self._store.set_job_progress(job_id, progress)
            self._seen[job_id] = (time.monotonic(), progress)

    def _end(self, job: Job) -> Job:
        self._children.pop(job.id, None)
        result = self.result(job)
        if result is None:
            return self._store.set_job_state(job.id, "stopped") if job.state == "stopping" else self._store.set_job_state(
                job.id, "failed", error=INTERRUPTED)
        if result.state == "done":
            try:
                self._keep(job, result)
            except StoreError as error:
                return self._store.set_job_state(job.id, "failed", error=f"the job is done, but its result was not stored: {error}")
        return self._store.set_job_state(job.id, result.state, error=result.error)

    def _keep(self, job: Job, result: SftResult | WorkResult) -> None:
        """Stores what came of a job; a second time changes nothing."""
        if isinstance(result, WorkResult) and job.kind == "gate":
            self._store.set_judge_gate(str(job.config["candidate"]), result.report)
        elif self.version(job.id) is not None:
            return  # stored before the app ended
        elif isinstance(result, SftResult):
            self._add_version(job, result)
        elif result.version is not None:
            self._store.add_judge_version(**result.version)

    def _add_version(self, job: Job, result: SftResult) -> None:
        folder = self.folder(job.id)
        gguf = folder / "adapter.gguf"
        scores = result.evaluation.model_dump(mode="json") if result.evaluation else {}
        self._store.add_judge_version(
            base_model=str(job.config.get("base_name", "")), snapshot_id=job.snapshot_id, peft_dir=self._relative(folder / "adapter"),
            gguf=self._relative(gguf) if gguf.exists() else None, threshold=result.threshold,
            scores={**scores, "job_id": job.id, "data_hash": result.data_hash, "gguf_note": result.gguf_note},
            reason=f"trained by job {job.id}",
        )

    def version(self, job_id: int) -> JudgeVersion | None:
        """The judge version that came of a job."""
        return next((v for v in self._store.judge_versions() if v.scores.get("job_id") == job_id), None)

    def result(self, job: Job) -> SftResult | WorkResult | None:
        """What the process wrote at its end; null if it was killed."""
        kind = SftResult if job.kind == "sft" else WorkResult
        try:
            return kind.model_validate_json((self.folder(job.id) / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def log_tail(self, job_id: int) -> str:
        """The last lines of the job's log."""
        try:
            with (self.folder(job_id) / "log.txt").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
                # Progress bars rewrite their line with \r; only its last state is of use.
                lines = [line.rpartition("\r")[2] for line in file.read().decode(errors="replace").split("\n")]
        except OSError:
            return ""
        return "\n".join(lines[-TAIL_LINES:]).strip()

    def sweep(self) -> list[int]:
        """Follows jobs that still run; ends those whose process is gone or never came. Ids of the ended."""
        ended = []
        for job in self._store.jobs():
            if job.kind not in KINDS or job.state not in ACTIVE:
                continue
            now = self._left_in_line(job) if job.state == "queued" else self.look(job.id)
            if now.state in ACTIVE:
                self._follow(job.id)
            else:
                ended.append(job.id)
        return ended

    def _left_in_line(self, job: Job) -> Job:
        """A queued job of an app that is gone: its process runs already, or it never came."""
        pid = process.pid_of(self.folder(job.id))
        if pid is not None:
            return self._store.set_job_state(job.id, "running", pid=pid, log_path=self._relative(self.folder(job.id) / "log.txt"))
        whole = (self.folder(job.id) / "config.json").exists()
        return self._store.set_job_state(job.id, "failed", error=INTERRUPTED if whole else UNBEGUN)

    def _follow(self, job_id: int) -> None:
        threading.Thread(target=self._watch, args=(job_id,), name=f"training-job-{job_id}", daemon=True).start()

    def _watch(self, job_id: int) -> None:
        while not self._closed.wait(POLL_S):
            try:
                if self.look(job_id).state not in ACTIVE:
                    return
            except StoreError:
                logger.exception("job %d cannot be followed; the next look tries again", job_id)

    def close(self) -> None:
        """Ends the followers; the processes go on."""
        self._closed.set()

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._data_dir))


def _set_aside(folder: Path) -> None:
    """Moves files of another store's job with the same number away: its checkpoints must not be continued."""
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.before-{int(time.time())}"))
