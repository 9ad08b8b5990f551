"""`python -m training`: every command on a small store with the scripted engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.store import open_store
from tests.training.conftest import judge_item
from tests.training.test_service import gate_report
from training.__main__ import main


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Runs a command; (status, what it said)."""
    def run(*words: str) -> tuple[int, str]:
        status = main([*words, "--profile", "scripted", "--set", f"data_dir={tmp_path}"])
        said = capsys.readouterr()
        return status, said.out + said.err

    store = open_store(f"sqlite:///{tmp_path / 'trioscope.db'}")
    for number in range(10):
        item_id = store.add_item(judge_item(f"question {number}", f"text {number}"), "test")
        store.add_gold_label(item_id, "sufficient" if number % 2 else "insufficient", "made up")
    store.close()
    return run


def test_snapshot_plan_and_what_a_wrong_key_says(call) -> None:
    status, said = call("snapshot", "--held-out", "0.5")
    assert status == 0 and "snapshot 1:" in said
    status, said = call("train", "--snapshot", "1", "--plan", "--job", "epochs=2")
    assert status == 0 and "steps; about" in said and "-m training.sft --config" in said
    assert call("train", "--snapshot", "1", "--plan", "--job", "epoch=2") == (1, "error: unknown setting 'epoch'; did you mean 'epochs'?\n")
    assert call("train", "--snapshot", "9", "--plan")[0] == 1
    assert "has no '='" in call("head", "--snapshot", "1", "--head", "samples")[1]
    assert "unknown features ['mood']" in call("head", "--snapshot", "1", "--head", "features=[mood]")[1]


def test_promotion_asks_the_gate_and_goes_back(call, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'trioscope.db'}")
    store.add_judge_version("tiny", kind="threshold", parent="zero-shot", threshold=0.3)
    status, said = call("promote", "judge-1")
    assert status == 1 and "the gate was not run for judge-1" in said
    store.set_judge_gate("judge-1", gate_report().model_dump(mode="json"))
    assert call("promote", "judge-1") == (0, "judge-1 is live; an app that runs uses it from its next start on\n")
    assert "judge-1 (threshold, live, threshold 0.300)" in call("evaluate")[1]
    assert call("rollback", "--by", "bob")[1].startswith("zero-shot is live again") and store.promotions()[0].by == "bob"
    assert call("jobs") == (0, "")
    store.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_jobs_run_to_their_end_or_say_why_not(call, tmp_path: Path) -> None:
    assert call("snapshot", "--held-out", "0.5")[0] == 0
    status, said = call("threshold", "--snapshot", "1")
    assert status == 0 and "judge-1: a candidate" in said
    status, said = call("gate", "judge-1", "--job", "rule={resamples: 100}")
    assert status == 0 and "judge-1 does not pass the gate against zero-shot" in said and "[ ]" in said
    with pytest.raises(SystemExit, match="job 3 failed: a head needs at least 20 labelled items"):
        call("head", "--snapshot", "1", "--head", "samples=2")
    with pytest.raises(SystemExit, match="job 4 failed: none of the 10 items"):
        call("votes", "--job", "samples=2")
    call("jobs")  # reads what the failed commands had printed
    lines = call("jobs")[1]
    assert lines.count("job ") == 4 and "job 4 (votes) failed" in lines
