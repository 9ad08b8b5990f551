"""The service: plans, and a training in a child process that is killed, resumed, aborted and promoted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage.values import Job
from tests.training.conftest import settings_for
from tests.training.test_gate import rows_of
from training import process
from training.gate import Entrant, report
from training.gate_values import GateRule
from training.jobs import INTERRUPTED
from training.service import TrainingService
from trio_core.errors import EngineError, SettingsError, TrainingError
from trio_core.values import Completion, VerdictReading


class FakeWorkbench:
    """An engine that serves what it is told to."""

    def __init__(self, p: float = 0.5, error: Exception | None = None) -> None:
        self.p, self.error, self.used = p, error, []
        self.engine = SimpleNamespace(verdict=lambda call: VerdictReading(completion=Completion(text=""), p_sufficient=self.p))

    def status(self):
        return SimpleNamespace(state="ready", message="ready")

    def use_judge(self, adapter) -> None:
        if self.error:
            raise self.error
        self.used.append(adapter.name)

    def call(self, value):
        return value


@pytest.fixture
def service(store, tiny, tmp_path):
    service = TrainingService(settings_for(tiny, tmp_path), store)
    yield service
    if (job := service.active_job()) is not None:
        os.killpg(job.pid, signal.SIGKILL)
    service.close()


def until(service: TrainingService, job_id: int, reached, seconds: float = 240.0) -> Job:
    deadline = time.monotonic() + seconds
    while not reached(view := service.job_view(job_id)):
        assert time.monotonic() < deadline, view.log_tail
        time.sleep(0.1)
    return view.job


def ended(view) -> bool:
    return view.job.state in ("done", "failed", "stopped")


def test_a_plan_counts_rows_minutes_and_names_the_command(service, snapshot_id) -> None:
    plan = service.plan(snapshot_id, {"epochs": 3})
    assert plan.rows == plan.in_snapshot and sum(plan.rows["train"].values()) == 12
    assert (plan.steps, plan.problems, plan.tokens_exact) == (18, (), True)
    assert "-m training.sft --config" in plan.command and "job-1/config.json" in plan.command
    assert plan.config["epochs"] == 3 and plan.mean_tokens > 50


def test_a_plan_that_cannot_start_says_why(service, snapshot_id) -> None:
    plan = service.plan(snapshot_id, {"max_tokens": 64})
    assert len(plan.dropped) == 20 and "longer than training.max_tokens = 64" in plan.problems[0]
    with pytest.raises(TrainingError, match="longer than"):
        service.start(snapshot_id, {"max_tokens": 64})
    assert service.active_job() is None


def test_a_wrong_override_names_the_nearest(service, snapshot_id) -> None:
    with pytest.raises(SettingsError, match="did you mean 'epochs'"):
        service.plan(snapshot_id, {"epoch": 3})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_survives_kill_resume_abort_and_goes_live(service, store, snapshot_id, tiny, tmp_path) -> None:
    job = service.start(snapshot_id, {"epochs": 6})
    assert job.state == "running" and service.active_job().id == job.id
    with pytest.raises(TrainingError, match=rf"job {job.id} \(sft\) is running"):
        service.start(snapshot_id)

    running = until(service, job.id, lambda v: ended(v) or v.job.progress.step >= 3)
    os.kill(running.pid, signal.SIGKILL)
    assert until(service, job.id, ended).error == INTERRUPTED
    reached = len(service.job_view(job.id).loss)

    service.resume(job.id)
    until(service, job.id, lambda v: ended(v) or len(v.loss) > reached)
    assert "from checkpoint-" in service.job_view(job.id).log_tail
    assert service.abort(job.id).state == "stopping"
    assert until(service, job.id, ended).state == "stopped"

    service.resume(job.id)
    later = TrainingService(settings_for(tiny, tmp_path), store)  # the app starts anew beside the running job
    assert later.sweep() == []
    assert until(later, job.id, ended).state == "done"
    view = later.job_view(job.id)
    assert [step for step, _ in view.loss] == list(range(1, 37)) and view.judge == "judge-1"
    later.close()

    version = store.judge_version("judge-1")
    adapter = version.adapter(tmp_path)
    assert version.state == "candidate" and version.snapshot_id == snapshot_id and version.scores["after"]["rows"] == 8
    assert adapter.gguf.exists() and adapter.peft_dir.is_dir() and adapter.threshold == version.scores["after"]["threshold"]


def candidate(store) -> None:
    item = store.item(1)
    store.add_judge_version("tiny", peft_dir="training/job-1/adapter", gguf="training/job-1/adapter.gguf",
                            scores={"items": [{"item_id": item.id, "p_before": 0.2, "p_after": 0.8}]})


@pytest.mark.parametrize(("p", "warned"), [(0.78, False), (0.2, True)])
def test_promotion_switches_the_engine_and_compares_its_p(service, store, p: float, warned: bool) -> None:
    candidate(store)
    service.workbench = FakeWorkbench(p)
    assert service.promote("judge-1", by="ann", reason="better").state == "live"
    served = store.live_judge().scores["served"]
    assert service.workbench.used == ["judge-1"] and served["difference"] == pytest.approx(abs(p - 0.8))
    assert bool(served["warning"]) is warned
    assert service.promote("zero-shot", by="ann").name == "zero-shot"


def test_an_engine_that_refuses_leaves_the_store_alone(service, store) -> None:
    candidate(store)
    service.workbench = FakeWorkbench(error=EngineError("did not load"))
    with pytest.raises(EngineError):
        service.promote("judge-1", by="ann", reason="to try")
    assert store.live_judge().name == "zero-shot" and store.judge_version("judge-1").state == "candidate"


def test_a_check_that_fails_switches_the_engine_back(service, store) -> None:
    candidate(store)

    def broken(call):
        raise EngineError("the server is gone")

    service.workbench = FakeWorkbench()
    service.workbench.engine.verdict = broken
    with pytest.raises(EngineError):
        service.promote("judge-1", by="ann", reason="to try")
    assert service.workbench.used == ["judge-1", "zero-shot"] and store.live_judge().name == "zero-shot"


def test_a_candidate_needs_the_gate_or_an_admins_reason(service, store) -> None:
    candidate(store)
    with pytest.raises(TrainingError, match="the gate was not run for judge-1"):
        service.promote("judge-1", by="ann")
    with pytest.raises(TrainingError, match="an admin makes judge-1 live"):
        service.promote("judge-1", by="ann", reason="I like it", admin=False)
    store.set_judge_gate("judge-1", gate_report().model_dump(mode="json"))
    assert service.obstacle("judge-1") == "" and service.promote("judge-1", by="ann", admin=False).state == "live"
    assert service.rollback("bob").name == "zero-shot"
    assert [(p.judge, p.by, p.reason) for p in store.promotions()][0] == ("zero-shot", "bob", "rolled back from judge-1")
    assert service.promote("judge-1", by="ann", admin=False).state == "live"  # it was live before


def test_a_gate_counts_only_against_the_judge_that_is_live(service, store) -> None:
    candidate(store)
    store.set_judge_gate("judge-1", gate_report().model_copy(update={"live": "judge-9"}).model_dump(mode="json"))
    assert service.obstacle("judge-1") == "judge-1 was compared with judge-9, but zero-shot is live now"
    with pytest.raises(TrainingError, match="no judge to go back to"):
        service.rollback("ann")


def gate_report():
    return report(rows_of(), Entrant("zero-shot", 0.5), Entrant("judge-1", 0.5), GateRule(resamples=100))


def test_a_queued_job_without_a_process_is_swept(service, store, snapshot_id) -> None:
    job = store.create_job("sft", {}, snapshot_id)
    assert service.sweep() == [job.id] and "start a new job" in store.job(job.id).error
    second = store.create_job("sft", {}, snapshot_id)
    written(service, second.id)
    assert service.sweep() == [second.id] and store.job(second.id).error == INTERRUPTED


def test_the_process_of_an_app_that_was_killed_as_it_started_it_is_found(service, store, snapshot_id) -> None:
    job = store.create_job("sft", {}, snapshot_id)
    child = process.spawn(["sleep", "600"], Path.cwd(), (folder := written(service, job.id)) / "log.txt", folder)
    assert service.sweep() == [] and (now := store.job(job.id)).state == "running" and now.pid == child.pid
    child.kill()
    child.wait()
    assert until(service, job.id, ended).error == INTERRUPTED


def written(service: TrainingService, job_id: int) -> Path:
    """A job's folder with its config."""
    folder = Path(service.job_view(job_id).folder)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder
