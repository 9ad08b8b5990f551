"""Jobs that ask a model server: votes, threshold, head and gate, in this process and in a child that is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.store import Store, open_store
from storage.values import SnapshotRequest
from tests.training.conftest import judge_item
from tests.training.test_service import ended, until
from training.gate_values import GateRule
from training.scoring import ScoreCache
from training.service import TrainingService
from training.work import main
from training.work_values import DownstreamTask, GateTask, HeadTask, ThresholdTask, VotesTask, WorkConfig, WorkResult
from trio_core.engines.scripted import Reply, ScriptedEngine
from trio_core.errors import InputError, TrainingError
from trio_core.settings import Settings, load_settings
from trio_core.values import ChatCall

QUICK = GateRule(resamples=100)
ASKED: list[ChatCall] = []


def rule(call: ChatCall) -> Reply:
    """The judge never dares to say sufficient and hardly tells the pools apart; on complete evidence the answers agree."""
    ASKED.append(call)
    text = " ".join(m.content for m in call.messages)
    enough = "complete" in text
    number = sum(map(ord, text)) % 97 / 970
    if call.role == "judge":
        return Reply(text="Insufficient Information", p_sufficient=0.2 + number + 0.04 * enough)
    return Reply(text="Delft" if enough else f"City {len(ASKED) % 5}", mean_logprob=-0.1 if enough else -1.0)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file with 40 questions, a complete and a poor pool each, and half of the questions held out."""
    path = tmp_path_factory.mktemp("filled") / "trioscope.db"
    store = open_store(f"sqlite:///{path}")
    for number in range(40):
        for text, label in ((f"complete {number}, of Delft", "sufficient"), (f"poor {number}", "insufficient")):
            item_id = store.add_item(judge_item(f"question {number}", text), "test", question_id=str(number))
            store.add_gold_label(item_id, label, "made up")  # type: ignore[arg-type]
    store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
    store.backup(path.with_name("copy.db"))
    store.close()
    return path.with_name("copy.db")


@pytest.fixture
def store(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    ASKED.clear()
    monkeypatch.setattr("training.scoring.build_engine", lambda settings: ScriptedEngine(rule))
    shutil.copy(filled, tmp_path / "trioscope.db")
    store = open_store(f"sqlite:///{tmp_path / 'trioscope.db'}")
    yield store
    store.close()


@pytest.fixture
def snapshot_id(store: Store) -> int:
    return store.snapshots()[0].id


def settings_for(tmp_path: Path) -> Settings:
    return load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}"])


def work(tmp_path: Path, task: Any, job_id: int = 1) -> WorkResult:
    folder = tmp_path / f"job-{job_id}"
    folder.mkdir(exist_ok=True)
    return main(WorkConfig(settings=settings_for(tmp_path), task=task, job_id=job_id), folder)


def answers_file(tmp_path: Path, n: int = 20) -> Path:
    path = tmp_path / "asked.jsonl"
    lines = [{"id": i, "question": f"question {i}", "golden_answers": ["Delft", "City of Delft"]} for i in range(n)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_votes_label_items_and_mixed_ones_are_counted(store: Store, tmp_path: Path) -> None:
    task = VotesTask(samples=3, answers_file=answers_file(tmp_path), temperature=0.7)
    found = work(tmp_path, task).report
    assert (found["items"], found["sufficient"], found["insufficient"], found["no_gold_answer"]) == (40, 20, 20, 40)
    assert store.vote_counts() == {"scripted": {"insufficient": 20, "sufficient": 20}}
    (vote,) = store.vote_labels(1)
    assert (vote.n_samples, vote.n_right, vote.temperature, vote.label) == (3, 3, 0.7, "sufficient")
    before = len(ASKED)
    assert work(tmp_path, task).report == found and len(ASKED) == before  # nothing is asked twice


def test_votes_without_a_known_answer_say_what_to_do(store: Store, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="none of the 80 items has a question whose answer is known"):
        work(tmp_path, VotesTask())
    (tmp_path / "bad.jsonl").write_text('{"question": "x"}\n')
    with pytest.raises(InputError, match="line 1 of .*bad.jsonl is no FlashRAG question"):
        work(tmp_path, VotesTask(answers_file=tmp_path / "bad.jsonl"))


def test_a_threshold_and_a_head_become_candidates_and_meet_the_gate(store: Store, snapshot_id: int, tmp_path: Path) -> None:
    threshold = store.add_judge_version(**work(tmp_path, ThresholdTask(snapshot_id=snapshot_id)).version)
    assert (threshold.kind, threshold.parent, threshold.head) == ("threshold", "zero-shot", None) and threshold.threshold < 0.5
    head = store.add_judge_version(**work(tmp_path, HeadTask(snapshot_id=snapshot_id, head={"samples": 3, "features": ("logit", "agreement", "round")}), 2).version)
    adapter = head.adapter(tmp_path)
    assert (head.kind, adapter.head.judge, adapter.head.samples, adapter.head.rows) == ("head", "zero-shot", 3, 40)
    assert "agreement" in adapter.head.features and head.scores["after"]["auroc"] > 0.95 > head.scores["before"]["auroc"]
    found = work(tmp_path, GateTask(candidate=head.name, live="zero-shot", snapshot_id=snapshot_id, rule=QUICK), 3).report
    assert found["passed"] and found["rows"] == 40 and found["counts"] == {"insufficient": {"gold": 20}, "sufficient": {"gold": 20}}
    assert len(found["flips"]) == 20 and all(flip["label"] == "sufficient" for flip in found["flips"])


def test_a_judge_is_not_tuned_on_what_it_was_trained_on(store: Store, snapshot_id: int, tmp_path: Path) -> None:
    store.add_judge_version("tiny", snapshot_id, peft_dir="training/job-9/adapter", scores={"job_id": 9})
    with pytest.raises(TrainingError, match="0 of the snapshot's 40 training items are new to judge-1.*calibration_share"):
        work(tmp_path, ThresholdTask(snapshot_id=snapshot_id, judge="judge-1"))
    store.add_judge_version("m", kind="head", parent="zero-shot", head={"version": 1})
    with pytest.raises(TrainingError, match="judge-2 is a calibrated head on zero-shot"):
        work(tmp_path, ThresholdTask(snapshot_id=snapshot_id, judge="judge-2"))


def test_people_win_over_gold_where_they_are_enough(store: Store, snapshot_id: int, tmp_path: Path) -> None:
    candidate = store.add_judge_version(**work(tmp_path, ThresholdTask(snapshot_id=snapshot_id)).version).name
    with pytest.raises(TrainingError, match="no held-out item with a label of people"):
        work(tmp_path, GateTask(candidate=candidate, live="zero-shot", snapshot_id=snapshot_id, labels="human"))


def test_whole_runs_with_both_judges_go_on_where_they_were(
    store: Store, snapshot_id: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trio_core.workbench.build_engine", lambda settings: ScriptedEngine(rule))
    candidate = store.add_judge_version(**work(tmp_path, ThresholdTask(snapshot_id=snapshot_id)).version).name
    task = GateTask(candidate=candidate, live="zero-shot", snapshot_id=snapshot_id, rule=QUICK,
                    downstream=DownstreamTask(questions=3, settings={"max_extensions": 1}))
    found = work(tmp_path, task).report["downstream"]
    assert (found["questions"], found["failed"], found["method"]) == (3, 0, "trio")
    assert set(found["differences"]) == {"em", "f1", "rounds", "calls"}
    runs, total = store.list_runs(origin="batch")
    assert total == 6 and {run.group for run in runs} == {"gate job-1"} and {run.owner for run in runs} == {"gate"}
    assert {store.run(i).id for pair in found["runs"].values() for i in pair.values()} == {run.id for run in runs}
    lines = (tmp_path / "job-1" / "downstream.jsonl").read_text().split("\n")
    (tmp_path / "job-1" / "downstream.jsonl").write_text("\n".join(lines[:-1]) + '\n{"judge": "jud')
    assert work(tmp_path, task).report["downstream"]["questions"] == 3 and store.list_runs(origin="batch")[1] == 7


def test_a_cut_line_of_the_cache_is_asked_again(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path / "scores.jsonl")
    cache.put("a", 0.5)
    with (tmp_path / "scores.jsonl").open("a") as file:
        file.write('\n["b", 0.')
    again = ScoreCache(tmp_path / "scores.jsonl")
    again.put("c", {"n": 1})
    assert [ScoreCache(tmp_path / "scores.jsonl").get(key) for key in "abc"] == [0.5, None, {"n": 1}]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_votes_job_is_killed_resumed_and_stopped(store: Store, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump({"answer": [{"text": "Delft", "delay_s": 0.05}] * 400}))
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}", f"engine.script={script}"])
    service = TrainingService(settings, store)
    try:
        job = service.label_by_votes(samples=4, answers_file=str(answers_file(tmp_path)))
        with pytest.raises(TrainingError, match=rf"job {job.id} \(votes\) is running"):
            service.fit_threshold(1)
        running = until(service, job.id, lambda v: ended(v) or v.job.progress.step >= 2)
        assert running.progress.steps == 40 and running.progress.figures["sufficient"] >= 1
        os.kill(running.pid, signal.SIGKILL)
        assert until(service, job.id, ended).error == "interrupted: can be resumed"
        known = sum(store.vote_counts()["scripted"].values())
        service.resume(job.id)
        until(service, job.id, lambda v: ended(v) or v.job.progress.step > known + 1)
        assert service.abort(job.id).state == "stopping" and until(service, job.id, ended).state == "stopped"
        service.resume(job.id)
        assert until(service, job.id, ended).state == "done"
        view = service.job_view(job.id)
        assert view.report["sufficient"] == 40 and "training.work --config" in view.command and not view.judge
        assert "password" not in (tmp_path / "training" / "job-1" / "config.json").read_text()
    finally:
        service.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_fitted_threshold_is_stored_once_and_a_gate_lies_with_its_judge(store: Store, snapshot_id: int, tmp_path: Path) -> None:
    service = TrainingService(settings_for(tmp_path), store)  # the built-in rule: P = .83 with two queries or more, else .22
    try:
        job = service.fit_threshold(snapshot_id)
        assert until(service, job.id, ended).state == "done"
        assert service.job_view(job.id).judge == "judge-1" and len(store.judge_versions()) == 2
        assert service.job_view(job.id).evaluation.after.rows == 40
        gate = service.run_gate("judge-1")
        assert until(service, gate.id, ended).state == "done"
        report = service.gate("judge-1")
        assert not report.passed and report.job_id == gate.id and report.snapshot_id == snapshot_id
        assert service.obstacle("judge-1") == report.words
    finally:
        service.close()
