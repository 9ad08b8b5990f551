"""The gate's report, the reliability plot, the loop view, imports and votes in HTML: right figures, in words, escaped."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import open_store
from storage.imports import ImportReport, LineNote
from storage.loop_values import JudgeLoop, JudgeUse, LoopView, SnapshotUse
from storage.values import Job, JudgeVersion, SnapshotRequest
from tests.ui.judging_helpers import EVIL, fill, judge_item
from training.gate import Entrant, GateRow, report
from training.gate_values import Bin, Difference, Downstream, DownstreamSide, GateReport, GateRule, GateSide
from training.values import JobView
from trio_core.errors import InputError
from trio_core.events import Verdict
from ui.pages.judge_data import imported
from ui.pages.judge_loop import where
from ui.pages.judge_snapshots import FORMS, export_file, folder_file
from ui.render import judge as parts
from ui.render import judge_gate, judge_jobs, judge_loop, judge_plot, judge_versions
from ui.render.verdict import verdict_html

NOW = datetime(2026, 11, 29, 21, 4, tzinfo=UTC)


def made(names: tuple[str, str] = ("zero-shot", "judge-2"), question: str = "Q?", flip: bool = True, **more: Any) -> GateReport:
    """80 items: the live judge knows nothing; the candidate is right on all."""
    rows = [GateRow(n, f"{question}{n}", "sufficient" if n % 2 else "insufficient", "human" if n < 60 else "gold", 0.4 + 0.01 * (n % 3),
                    0.9 if n % 2 and flip else 0.1) for n in range(80)]
    return report(rows, Entrant(names[0], 0.5), Entrant(names[1], 0.5), GateRule(resamples=100), snapshot_id=3, **more)


def test_a_report_says_what_passed_and_by_which_figures() -> None:
    html = judge_gate.gate_html(made())
    assert "judge-2 passes the gate against zero-shot" in html and html.count('data-passed="true"') == 5
    assert "40 sufficient (30 human, 10 gold)" not in html and "40 sufficient (10 gold, 30 human)" in html
    assert "80 held-out items of snapshot 3" in html and "better beyond noise" in html and "Whole runs were not made" in html
    assert "40 verdicts flipped: 40 mended, 0 broken" in html and 'href="annotate?item=1&amp;seen=1"' in html


def test_a_failed_check_is_named_in_words() -> None:
    html = judge_gate.gate_html(made(flip=False))
    assert "does not pass" in html and 'data-passed="false"' in html and ">failed<" in html and "No verdict flipped" in html


def test_names_and_questions_are_escaped() -> None:
    html = judge_gate.gate_html(made((EVIL, EVIL), EVIL))
    assert "<img" not in html and "<script" not in html


def test_undefined_figures_stay_words() -> None:
    rows = [GateRow(n, f"q{n}", "sufficient", "gold", 0.2, 0.8) for n in range(4)]
    html = judge_gate.gate_html(report(rows, Entrant("a", 0.5), Entrant("b", 0.5), GateRule(resamples=100)))
    assert "undefined" in html and "one label is absent" in html


def side(name: str, em: float, rounds: float) -> DownstreamSide:
    return DownstreamSide(judge=name, em=em, f1=em, rounds=rounds, calls=3 * rounds, seconds=10)


@pytest.mark.parametrize(("rounds", "kind"), [(-1.2, "better beyond noise"), (1.2, "worse beyond noise")])
def test_fewer_rounds_are_better(rounds: float, kind: str) -> None:
    same = Difference(value=0.0, low=-0.1, high=0.1, better=0.5)
    found = Difference(value=rounds, low=rounds - 0.1, high=rounds + 0.1, better=0.99)
    runs = Downstream(method="trio", questions=40, live=side("a", 0.3, 3.6), candidate=side("b", 0.3, 2.4), failed=1, runs={"q 1": {"a": "r1", "b": "r2"}},
                      differences={"em": same, "f1": same, "rounds": found, "calls": same})
    html = judge_gate.downstream_html(runs)
    assert html.count(kind) == 2 and "1 question left out: a run failed." in html  # as a title and for screen readers
    assert 'href="compare?runs=r1%2Cr2"' in html


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 500)), max_size=10))
def test_every_point_of_the_plot_lies_in_its_square(points: list[tuple[float, float, int]]) -> None:
    bins = tuple(Bin(low=0, high=1, n=n, mean_p=p, share_sufficient=share) for p, share, n in points)
    html = judge_plot.reliability_html([GateSide(judge=name, threshold=0.5, figures={}, bins=bins) for name in ("a", EVIL)])
    svg = ElementTree.fromstring(html[html.index("<svg"):html.index("</svg>") + 6])
    circles = [(float(c.get("cx") or -1), float(c.get("cy") or -1)) for c in svg.iter("circle")]
    assert len(circles) == len(points)
    for (x, y), (p, share, _) in zip(circles, points, strict=True):
        assert x == pytest.approx(40 + 220 * p, abs=0.1) and y == pytest.approx(10 + 220 * (1 - share), abs=0.1)
    assert "<img" not in html


def test_the_loop_names_what_waits_and_what_was_made() -> None:
    use = JudgeUse(name="judge-2", kind="head", state="live")
    view = LoopView(waiting=3, waiting_by={EVIL: 3}, judges=(
        JudgeLoop(judge=use, parent="zero-shot", created=NOW, promoted_at=NOW, snapshot_id=1, rows={"human": 12, "votes": 4}, held_out=9, annotators={"ann": 12}),))
    html = judge_loop.loop_html(view)
    assert "<b>3</b> items that people decided wait" in html and "12 people, 4 votes" in html and "calibrated head on zero-shot" in html
    assert "9 rows" in html and "<img" not in html
    assert "No label waits" in judge_loop.waiting_html(LoopView(judges=(), waiting=0))


def test_the_way_of_one_item() -> None:
    live = JudgeUse(name="judge-2", kind="sft", state="live")
    uses = [SnapshotUse(snapshot_id=2, created=NOW, split="train", label="sufficient", source="human", annotators=("ann",), kind="correction", judges=(live,),
                        live=True), SnapshotUse(snapshot_id=1, created=NOW, split="held_out", label="sufficient", source="gold")]
    html = judge_loop.item_loop_html(7, EVIL, uses)
    assert "people, correction: ann" in html and "judge-2" in html and "trained on it" in html and "none yet" in html and "<img" not in html
    assert "in no snapshot yet" in judge_loop.item_loop_html(7, "Q?", [])


def test_an_item_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    ctx: Any = SimpleNamespace(store=store)
    assert "is no number of an item" in where(ctx, "<img>") + where(ctx, "9" * 5000) and "4711" in where(ctx, " 4711 ")
    store.close()


@pytest.mark.parametrize("form", [name for _, name in FORMS])
def test_every_form_can_be_downloaded_and_comes_back(form: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    store, other = open_store(f"sqlite:///{tmp_path / 'a.db'}"), open_store(f"sqlite:///{tmp_path / 'b.db'}")
    fill(store, 12)
    ctx, theirs = (SimpleNamespace(store=s) for s in (store, other))
    snapshot = store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
    if form == "folder":
        import zipfile

        with zipfile.ZipFile(folder_file(ctx, snapshot)) as packed:
            packed.extractall(tmp_path / "b")
        files = [str(path) for path in sorted((tmp_path / "b").rglob("*.jsonl"))]
        assert [Path(name).name for name in files] == ["test.jsonl", "train.jsonl"]
    else:
        files = [str(export_file(ctx, snapshot, split, form)) for split in ("train", "held_out")]
    html = imported(theirs, "ann", files)  # type: ignore[arg-type]
    assert "12 lines stored, 0 duplicates, 0 lines refused" in html
    assert "0 lines stored, 12 duplicates" in imported(theirs, "ann", files)  # type: ignore[arg-type]
    assert sum(other.label_counts().gold.values()) == 12
    with pytest.raises(InputError, match="'evil' is no form"):
        export_file(ctx, snapshot, "train", "evil")
    store.close()
    other.close()


def test_an_import_names_every_line_that_was_not_stored(tmp_path: Path) -> None:
    notes = tuple(LineNote(file=EVIL, line=n, reason=EVIL) for n in range(1, 150))
    html = parts.import_html("x.jsonl", ImportReport(accepted=2, refused=notes, duplicates=(LineNote(file="x", line=1, reason="again"),)))
    assert "2 lines stored, 1 duplicate, 149 lines refused" in html and "the first 100 of 150" in html and "<img" not in html
    ctx: Any = SimpleNamespace(store=None)
    for given_, words in (((), "choose a .jsonl or .csv file"), ((str(tmp_path / "x.zip"),), "x.zip' is neither")):
        with pytest.raises(InputError, match=words):
            imported(ctx, "ann", given_)


@pytest.mark.parametrize(("kind", "config", "report_", "words"), [
    ("votes", {"samples": 16}, {"items": 5, "answer_model": EVIL, "sufficient": 2, "insufficient": 1, "mixed": 2, "no_gold_answer": 1},
     "voted on 5 items: 2 sufficient, 1 insufficient, 2 mixed (no label). 1 item left out"),
    ("gate", {"candidate": "judge-2", "live": "zero-shot"}, {"passed": False}, "judge-2 does not pass the gate"),
    ("head", {"judge": "zero-shot"}, {"notes": [EVIL]}, "This made judge-9."), ("threshold", {"judge": EVIL}, {}, "This made judge-9.")])
def test_every_kind_of_job_says_what_came_of_it(kind: str, config: dict[str, Any], report_: dict[str, Any], words: str) -> None:
    job = Job(id=3, kind=kind, state="done", created=NOW, config=config)
    html = judge_jobs.job_html(JobView(job=job, command="", report=report_, judge="" if kind in ("votes", "gate") else "judge-9"))
    assert words in html and "<img" not in html
    running = JobView(job=job.model_copy(update={"state": "running"}), command=EVIL)
    assert "running" in judge_jobs.job_html(running) and "<img" not in judge_jobs.command_html(running) + judge_jobs.jobs_html([job], 3)


def test_drops_are_words(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    fill(store, 4)
    snapshot = store.create_snapshot(SnapshotRequest())
    reasons = ("mixed", "vote_conflict", "correction", "agreement", "unjudged", "cap_human", "cap_votes", "cap_gold", "balance", "max_rows", "unlabelled")
    lossy = snapshot.model_copy(update={"manifest": snapshot.manifest.model_copy(update={"dropped": dict.fromkeys(reasons, 1)})})
    html = parts.manifest_html(lossy)
    assert not [reason for reason in reasons if f">{reason}<" in html] and "votes are mixed" in html
    store.close()


def test_a_head_shows_what_it_reads_and_a_broken_one_says_so() -> None:
    head = {"version": 1, "features": ["logit", "agreement"], "means": [0, 0.5], "scales": [1, 1], "coefficients": [0.2, -1.5], "intercept": 0, "samples": 4}
    version = JudgeVersion(name="judge-2", kind="head", parent="zero-shot", head=head, state="candidate", created=NOW)
    html = judge_versions.head_html(version)
    assert re.search(r"most frequent of k sampled answers.*-1\.50.*log\(p.*\+0\.20", html, re.DOTALL) and "samples 4 answers" in html
    assert "cannot be read" in judge_versions.head_html(version.model_copy(update={"head": {"version": 9}}))
    assert "passes the gate" in judge_versions.details_html(version, made())
    shown = json.loads(json.dumps(made().model_dump(mode="json")))
    assert "passed" in judge_versions.gate_badge(version.model_copy(update={"gate": shown}))


def test_a_verdict_of_a_head_shows_its_signals() -> None:
    alone = Verdict(seq=1, round=1, label="sufficient", p_sufficient=0.7, judged_by="zero-shot", item=judge_item())
    assert "calibrated head" not in verdict_html(alone, None, "fix")
    read = alone.model_copy(update={"p_raw": 0.31, "signals": {"logit": -0.8, EVIL: 1.0}})
    html = verdict_html(read, None, "fix")
    assert "calibrated head, 2 signals" in html and "own P(sufficient) was 0.31" in html and "-0.8" in html and "<img" not in html
