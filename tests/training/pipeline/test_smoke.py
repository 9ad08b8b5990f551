"""Profile `cpu-smoke` from questions to three adapters, stopped and resumed on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training.pipeline import records
from training.pipeline.manifest import StepManifest
from training.pipeline.profile import load_profile
from training.pipeline.query import ScoredQuery
from training.pipeline.records import Debate, GradedQuestion, VotedPool
from training.pipeline.run import STEPS, finished, run_pipeline
from training.stop import Stopped, StopRequest
from trio_core.errors import TrainingError
from trio_core.settings import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
PROFILE = load_profile("cpu-smoke")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return load_settings("scripted", flags=[f"data_dir={tmp_path_factory.mktemp('data')}"])


@pytest.fixture(scope="module")
def done(settings, tmp_path_factory) -> tuple[Path, dict[str, StepManifest]]:
    folder = tmp_path_factory.mktemp("run")
    run_pipeline(PROFILE, settings, folder, StopRequest(), until="debate")
    before = (folder / "debate" / "manifest.json").stat().st_mtime_ns
    found = run_pipeline(PROFILE, settings, folder, StopRequest())
    assert (folder / "debate" / "manifest.json").stat().st_mtime_ns == before  # a finished step is not run again
    return folder, found


def test_every_step_leaves_its_data_and_a_manifest(done) -> None:
    folder, found = done
    assert list(found) == [step.name for step in STEPS] == list(finished(folder))
    for made in found.values():
        assert made.settings["seed"] == 13 and len(made.code) == 64 and set(made.versions) >= {"torch", "trl", "peft"}
    graded = records.read(folder / "questions" / "questions.jsonl", GradedQuestion)
    assert {q.set for q in graded} == {"q1", "q2"} and len(graded) == 24
    debates = records.read(folder / "debate" / "debates.jsonl", Debate)
    assert sum(len(d.snapshots) for d in debates) == found["debate"].report["t1"] > len(debates)
    votes = records.read(folder / "judge" / "votes.jsonl", VotedPool)
    assert len(votes) == found["debate"].report["t1"] and all(v.votes == 4 for v in votes)


def test_what_is_meant_to_move_moves_and_the_rest_does_not(done) -> None:
    report = done[1]["answer"].report
    for outcome in (report["stage1"], report["stage2"], done[1]["query"].report):
        assert outcome["frozen_same"] and outcome["moved"] == outcome["trained"] == 28  # 7 modules, A and B, 2 layers
        assert outcome["steps"] == 3
    judge = done[1]["judge"].report
    assert judge["steps"] > 0 and judge["last_loss"] < judge["first_loss"]


def test_three_adapters_with_a_card_each(done) -> None:
    folder, _ = done
    for place in ("answer/stage2/adapter", "query/adapter", "judge/adapter"):
        assert (folder / place / "adapter_model.safetensors").stat().st_size > 0
        card = (folder / place / "README.md").read_text()
        assert "of no other use" in card and "code `" in card


def test_rewards_of_queries_are_counted_and_answers_asked_once(done) -> None:
    folder, found = done
    rows = records.read(folder / "query" / "scored.jsonl", ScoredQuery)
    report = found["query"].report
    assert len(rows) == sum(report["outputs"].values()) == 3 * 16
    assert all(row.reward == -1 for row in rows if row.problem) and all(-1 <= row.reward <= 1 for row in rows)
    keys = [json.loads(line)[0] for line in (folder / "query" / "answers.jsonl").read_text().split("\n") if line]
    assert len(keys) == len(set(keys)) == report["answers_asked"]


def test_other_settings_are_refused_with_what_differs(done, settings) -> None:
    changed = load_profile("cpu-smoke", {"debate.top_k": 1})
    with pytest.raises(TrainingError, match="--again debate"):
        run_pipeline(changed, settings, done[0], StopRequest())


def test_the_adapters_can_be_served_by_role(done) -> None:
    vllm = load_settings("vllm", file=done[0] / "serving.yaml").engine.vllm
    assert set(vllm.adapters) == {"answer", "query", "judge"}
    assert all((Path(place) / "adapter_config.json").exists() for place in vllm.adapters.values())


def test_both_ways_of_serving_are_measured_and_the_checkpoints_written(done) -> None:
    folder, found = done
    report = found["serving"].report
    assert report["shared"]["disk"] < report["separate"]["disk"] and report["shared"]["memory"] < report["separate"]["memory"]
    for name in ("answer", "query", "judge"):
        assert report["merged"][name]["difference"] < 1e-4 and (folder / "serving" / "merged" / name / "model.safetensors").exists()
    assert "8" in load_settings("vllm", file=folder / "serving.yaml").engine.vllm.args  # a rank that vLLM takes, not below the adapters'


def test_a_stopped_training_goes_on_from_its_checkpoint(done, settings, tmp_path) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(done[0], folder)
    shutil.rmtree(folder / "judge")
    shutil.rmtree(folder / "query")

    class AfterAStep(StopRequest):
        @property
        def wanted(self) -> bool:
            return (folder / "query" / "metrics.jsonl").exists()

        @wanted.setter
        def wanted(self, value: bool) -> None:
            """Only the file counts."""

    with pytest.raises(Stopped):
        run_pipeline(PROFILE, settings, folder, AfterAStep(), until="query")
    assert not (folder / "query" / "manifest.json").exists()
    first = len(records.read(folder / "query" / "scored.jsonl", ScoredQuery))
    report = run_pipeline(PROFILE, settings, folder, StopRequest(), until="query")["query"].report
    assert report["steps"] == 3 and report["moved"] == report["trained"]
    assert 16 <= first < sum(report["outputs"].values()) == 3 * 16
