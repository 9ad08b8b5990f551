"""An app with tiny models in processes of their own: real llama.cpp, real training, real web server; and what must be true of its store."""

from __future__ import annotations

import socket
from pathlib import Path

import psutil

from storage import Store, open_store
from storage.jobs import ACTIVE
from storage.values import Job, SnapshotRequest
from tests.benchmarks.annotator_store import fill
from tests.e2e.conftest import App, launch
from tests.engines.tiny_gguf import CONTEXT, write_tiny_gguf
from tests.training.conftest import judge_item
from tests.training.tiny_model import make_tiny_model
from training import process
from training.progress import read_progress
from trio_core.settings import Settings, load_settings
from trio_core.workbench import Workbench

OVERLAP = 2
EPOCHS = 3


class World:
    """The data folder, its store (read beside the app), and the app."""

    def __init__(self, folder: Path, items: int, seed: int) -> None:
        self.folder = folder
        self.store: Store = open_store(f"sqlite:///{folder / 'trioscope.db'}")
        fill(self.store, items, seed)
        self.store.set_overlap(OVERLAP, "the test")
        for n in range(20):
            label, item = "sufficient" if n % 2 else "insufficient", judge_item(f"question {n // 2}", f"passage {n} " * 5)
            self.store.add_gold_label(self.store.add_item(item, "test", question_id=str(n // 2), round=n % 2), label, "made up")
        self.snapshot_id = self.store.create_snapshot(SnapshotRequest(sources=frozenset({"gold"}), held_out_fraction=0.4)).id
        self.base = make_tiny_model(folder / "tiny")
        self.model = write_tiny_gguf(self.base, folder / "tiny.gguf")
        self._flags = _flags(self.base, self.model)
        self.app: App | None = None
        self.lives = 0

    def start(self) -> None:
        """Starts the app on the same port and folder as before, as a person or `restart: unless-stopped` does. Blocks until it serves."""
        self.app = launch(self.folder, *self._flags)
        self.lives += 1

    @property
    def url(self) -> str:
        """The app's address; the same in all its lives."""
        assert self.app is not None
        return self.app.url

    def engine(self) -> int | None:
        """The process of llama.cpp; null while there is none."""
        assert self.app is not None
        try:
            children = psutil.Process(self.app.process.pid).children()
            return next((child.pid for child in children if "trio_core.engines.llama_child" in child.cmdline()), None)
        except psutil.Error:
            return None

    def job(self) -> Job | None:
        """The newest job."""
        return next(iter(self.store.jobs(limit=1)), None)

    def job_folder(self, job: Job) -> Path:
        """Its files."""
        return self.folder / "training" / f"job-{job.id}"

    def settings(self) -> Settings:
        """The app's settings."""
        return load_settings("scripted", env={}, flags=[f"data_dir={self.folder}", *self._flags])

    def workbench(self) -> Workbench:
        """An engine and an index of our own, on the app's files."""
        bench = Workbench(self.settings(), self.store)
        bench.bring_up(wait=True)
        return bench

    def end_jobs(self) -> None:
        """Kills what trains still: it would go on without us."""
        for job in self.store.jobs():
            process.end(self.job_folder(job), force=True)

    def untrue_jobs(self) -> list[str]:
        """Jobs whose state is not what their process shows."""
        found = [(job, process.pid_of(self.job_folder(job))) for job in self.store.jobs()]
        return [f"job {job.id} is {job.state} (pid {job.pid}), its process is {pid}" for job, pid in found
                if (job.state in ACTIVE) != (pid is not None) or (pid is not None and pid != job.pid)]

    def faults_of_done(self, job: Job) -> list[str]:
        """What a job that is done lacks: a step of its curve, its judge (once), its adapter in both forms."""
        folder = self.job_folder(job)
        steps = [step for step, _ in read_progress(folder).loss]
        made = [version for version in self.store.judge_versions() if version.scores.get("job_id") == job.id]
        files = [folder / name for name in ("adapter.gguf", "adapter/adapter_model.safetensors", "adapter/training.json")]
        faults = [f"job {job.id} has no {file.name}" for file in files if not file.exists() or not file.stat().st_size]
        if steps != list(range(1, len(steps) + 1)) or len(steps) != job.progress.steps:
            faults.append(f"job {job.id} has the steps {steps} of {job.progress.steps}")
        if len(made) != 1:
            faults.append(f"job {job.id} made {len(made)} judges")
        return faults


def _flags(base: Path, model: Path) -> tuple[str, ...]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return (
        f"server.port={port}", "runs.max_running=2",
        "engine.kind=embedded", f"engine.embedded.model_path={model}", "engine.embedded.sha256=''", "engine.embedded.threads=1",
        f"engine.embedded.context_tokens={2 * CONTEXT}",
        f"training.base_model={base}", "training.lora_rank=2", "training.lora_layers=1", "training.learning_rate=0.01",
        "training.batch_size=2", "training.device=cpu",
    )
