"""`python -m trio_core evaluate`: runs in the app's store, files in a folder, going on, kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from storage import open_store
from trio_core.__main__ import main
from trio_core.datasets import open_dataset
from trio_core.evaluation.wish import Wish, terms_of
from trio_core.settings import PROJECT_ROOT, load_settings

FILES = {"evaluation.json", "rows.jsonl", "summary.md", "summary.json", "table.csv", "table.tex"}


def flags(tmp_path: Path, *more: str, out: str = "out") -> list[str]:
    return ["evaluate", "--profile", "scripted", "--set", f"data_dir={tmp_path / 'data'}", "--dataset", "demo", "--out", str(tmp_path / out), *more]


def stored(tmp_path: Path) -> list[Any]:
    store = open_store(f"sqlite:///{tmp_path / 'data' / 'trioscope.db'}")
    try:
        return store.list_runs(origin="batch", limit=1000)[0]
    finally:
        store.close()


def rows(tmp_path: Path, out: str = "out") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / out / "rows.jsonl").read_text().splitlines()]


def test_runs_open_in_the_app_and_the_same_command_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flags(tmp_path, "--method", "trio,no_retrieval", "--limit", "2", "--concurrency", "3")) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == FILES
    said = capsys.readouterr()
    assert "4 of 4 runs" in said.err and "4 of 4 gold paragraphs" in said.err and "| trio | 2 | 0 |" in said.out
    first = stored(tmp_path)
    assert {r["run_id"] for r in rows(tmp_path)} == {i.id for i in first} and {i.status for i in first} == {"finished"}
    assert {(i.dataset, i.question_id) for i in first} == {("demo", q.id) for q in open_dataset("demo", limit=2)}
    assert main(flags(tmp_path, "--method", "no_retrieval,trio", "--limit", "3")) == 0
    assert len(stored(tmp_path)) == len(rows(tmp_path)) == 6
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [e["label"] for e in summary["summary"]["entrants"]] == ["no_retrieval", "trio"] and summary["about"]["index"]["corpus"] == "demo"
    assert (tmp_path / "out" / "table.csv").read_text().startswith("method,runs,failed,EM")


def test_what_differs_is_refused_and_reports_can_be_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flags(tmp_path, "--method", "no_retrieval", "--limit", "1")) == 0
    assert main(flags(tmp_path, "--method", "no_retrieval", "--limit", "1", "--seed", "4")) == 2
    assert "seed 0, not 4" in capsys.readouterr().err
    joined = flags(tmp_path, "--method", "no_retrieval:max_rounds=1", "--limit", "1", out="other")
    assert main(joined) == 2 and "max_rounds" in capsys.readouterr().err
    assert main(flags(tmp_path, "--method", "trio:max_extensions=1", "--limit", "1", "--with", str(tmp_path / "out"), out="other")) == 0
    assert "| trio:max_extensions=1 | no_retrieval | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize(("more", "said"), [
    (["--method", "trio", "--concurrency", "0"], "--concurrency must be at least 1"), (["--method", "trio", "--sample"], "a sample needs a limit"),
    (["--method", "nobody"], "nobody"), (["--method", "trio", "--set", "store_opener=nothing:here"], "names no function"),
])
def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert main(flags(tmp_path, *more)) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_judge_is_the_live_one_or_the_one_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    store = open_store(f"sqlite:///{tmp_path / 'data' / 'trioscope.db'}")
    for threshold in (0.2, 0.9):
        store.add_judge_version("m", kind="threshold", parent="zero-shot", threshold=threshold)
    store.promote("judge-1", by="ada", reason="a test")
    store.close()
    asked = ["ask", "Who wrote Emma?", "--json", "--profile", "scripted", "--set", f"data_dir={tmp_path / 'data'}"]
    for named, judge, threshold in (("live", "judge-1", 0.2), ("judge-2", "judge-2", 0.9), ("zero-shot", "zero-shot", 0.5)):
        assert main([*asked, "--judge", named]) == 0
        verdicts = [e for line in capsys.readouterr().out.splitlines() if (e := json.loads(line))["type"] == "verdict"]
        assert {(v["judged_by"], v["threshold"]) for v in verdicts} == {(judge, threshold)}
    assert main([*asked, "--judge", "judge-7"]) == 2
    assert "'judge-7' is no judge of this store; choose one of live, zero-shot, judge-1, judge-2" in capsys.readouterr().err
    assert main(flags(tmp_path, "--method", "trio", "--limit", "1", "--judge", "judge-2")) == 0
    assert json.loads((tmp_path / "out" / "evaluation.json").read_text())["judge"] == "judge-2"


def test_the_folder_keeps_no_password() -> None:
    settings = load_settings("scripted", flags=["store_url=postgresql://me:s3:cret@host/db"])
    terms = terms_of(Wish(dataset="demo", methods=("trio",)), settings, "zero-shot")
    assert terms.store == "postgresql://me:…@host/db"


def start(tmp_path: Path, prompt: int) -> subprocess.Popen[str]:
    """The command with an engine that gives `prompt` replies at once and lets all later ones wait."""
    script = tmp_path / "replies.yaml"
    replies = ['{text: "Delft"}'] * prompt + ['{text: "Delft", delay_s: 600}'] * 20
    script.write_text("answer: [" + ", ".join(replies) + "]\n")
    command = [sys.executable, "-m", "trio_core", *flags(tmp_path, "--method", "no_retrieval", "--limit", "12", "--concurrency", "2", "--set", f"engine.script={script}")]
    return subprocess.Popen(command, cwd=PROJECT_ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_evaluation_goes_on_without_asking_twice(tmp_path: Path, how: signal.Signals) -> None:
    process = start(tmp_path, prompt=4)
    while process.poll() is None and (not (tmp_path / "out" / "rows.jsonl").exists() or len(rows(tmp_path)) < 3):
        time.sleep(0.05)
    os.kill(process.pid, how)
    process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -9)
    before = {r["run_id"] for r in rows(tmp_path)}
    assert 3 <= len(before) < 12
    again = start(tmp_path, prompt=20)
    out, err = again.communicate(timeout=110)
    assert again.returncode == 0, err
    runs, found = stored(tmp_path), rows(tmp_path)
    assert len(runs) == len({i.question_id for i in runs}) == 12 and {i.status for i in runs} == {"finished"}
    assert len(found) == 12 and before < {r["run_id"] for r in found} and all(r["status"] == "finished" for r in found)
