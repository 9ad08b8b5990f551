"""The Judge page without a browser: tables, plans, jobs, promotions, what its handlers refuse. The gate's report: test_judge_gate.py."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storage import Store, open_store
from storage.values import ZERO_SHOT, Job, JobProgress, JudgeVersion, LabelCounts, Promotion, SnapshotRequest
from tests.ui.judging_helpers import EVIL, fill
from training.service import TrainingService
from training.values import DroppedRow, Evaluation, ItemScore, JobView, Scores, TrainingPlan
from trio_core.errors import EngineUnreachable, InputError, StoreError, TrainingError
from trio_core.settings import Settings
from ui.pages.judge_snapshots import snapshot_request
from ui.pages.judge_versions import obstacle_words, promoted
from ui.render import judge as parts
from ui.render import judge_jobs as jobs
from ui.render import judge_versions as versions

NOW = datetime(2026, 11, 29, 21, 4, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


def scores(accuracy: float | None) -> Scores:
    return Scores(rows=10, counts={"sufficient": 4, "insufficient": 6}, balanced_accuracy=0.5, threshold=0.4, balanced_accuracy_tuned=accuracy,
                  f1_sufficient=0.5, f1_insufficient=0.5, f1_sufficient_tuned=0.55, f1_insufficient_tuned=0.6, kappa=None, kappa_tuned=None,
                  auroc=0.7, ece=0.2)


def judge(name: str, before: float | None = None, after: float | None = None, state: Any = "candidate", question: str = "Q?",
          snapshot: int = 1) -> JudgeVersion:
    items = (ItemScore(item_id=7, label="sufficient", question=question, p_before=0.3, p_after=0.8, flipped=True),
             ItemScore(item_id=8, label="sufficient", question="stays", p_before=0.3, p_after=0.2, flipped=False))
    found = Evaluation(before=scores(before), after=scores(after), items=items, held_out_rows=20, flips={"to_right": 1})
    known = {**found.model_dump(mode="json"), "served": {"p": 0.5}} if after is not None else {}
    return JudgeVersion(name=name, base_model="base", snapshot_id=snapshot, scores=known, threshold=0.4, state=state, created=NOW)


def job(state: Any = "running", error: str = "", **progress: Any) -> Job:
    return Job(id=3, kind="sft", state=state, snapshot_id=1, created=NOW, error=error, progress=JobProgress(**progress))


def test_counts_name_every_kind_of_label() -> None:
    html = parts.counts_html(LabelCounts(items=1200, human={"sufficient": 3, "conflict": 2, "unsure": 1}, gold={"sufficient": 75, "insufficient": 105},
                                         machine={"unparsed": 4}))
    assert "1,200" in html and "75 sufficient, 105 insufficient" in html and "4 unparsed" in html and "1 can&#x27;t tell, 0 skipped" in html
    assert "3 human labels and up to 180 gold labels of items that nobody has labelled" in html and "Left out: 3 items" in html


@pytest.mark.parametrize(("counts", "words"), [
    (LabelCounts(), "No items yet"), (LabelCounts(items=3), "nothing to train on"),
    (LabelCounts(items=3, gold={"sufficient": 1}), "hold 1 gold label."), (LabelCounts(items=3, human={"insufficient": 2}), "hold 2 human labels.")])
def test_the_next_set_in_words(counts: LabelCounts, words: str) -> None:
    assert words in parts.next_set(counts)


def test_a_manifest_shows_sides_drops_and_hash(store: Store) -> None:
    fill(store, 8)
    made = store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
    html = parts.manifest_html(made)
    assert made.manifest.content_hash[:16] in html and "Held out: all" in html and f"<b>{made.rows('train')}</b>" in html and "seed 13" in html
    lossy = made.model_copy(update={"manifest": made.manifest.model_copy(update={"dropped": {"unsure": 2, EVIL: 1}, "annotators": (EVIL,)})})
    assert "labelled can&#x27;t tell" in parts.manifest_html(lossy) and "<img" not in parts.manifest_html(lossy)


def test_a_plan_shows_rows_drops_minutes_and_problems_first() -> None:
    dropped = tuple(DroppedRow(item_id=k, split="train", label="sufficient", tokens=2000, reason="longer than 1,400 tokens") for k in range(3))
    html = jobs.plan_html(TrainingPlan(
        snapshot_id=1, rows={"train": {"sufficient": 5}}, in_snapshot={"train": {"sufficient": 8}}, dropped=dropped, mean_tokens=612.4, steps=14,
        tokens_exact=False, estimated_minutes=6.2, base_model=EVIL, notes=(EVIL,), problems=("one class only",)))
    assert '5 <span class="jd-soft">of 8</span>' in html and "3 rows left out: longer than 1,400 tokens" in html
    assert "about 6 minutes" in html and "612 tokens a row on average (estimated)" in html and "<img" not in html
    assert html.index("one class only") < html.index("Rows used")


def test_a_running_job_shows_step_and_time_left() -> None:
    html = jobs.job_html(JobView(job=job(step=4, steps=14, seconds_left=75, stage="training", figures={"loss": 0.4321}), command=""))
    assert "step 4 of 14, 75 s left" in html and "loss 0.432" in html and 'aria-valuenow="29"' in html


def test_a_failed_job_says_what_and_how_to_go_on() -> None:
    html = jobs.job_html(JobView(job=job("failed", error=f"out of memory {EVIL}"), command="", can_resume=True))
    assert "Resume continues from the newest checkpoint" in html and "<img" not in html


def test_a_log_is_escaped() -> None:
    assert "<img" not in jobs.log_html(JobView(job=job(), command="", log_tail=EVIL))


def test_versions_show_before_and_after() -> None:
    html = versions.versions_html([JudgeVersion(name=ZERO_SHOT, state="live", created=NOW), judge("judge-1", 0.52, 0.71)])
    assert "<span>0.52 →</span> <b>0.71</b>" in html and "undefined → undefined" in html and "4 suf., 6 insuf." in html
    assert html.index("judge-1") < html.index("zero-shot")


def test_scores_of_another_kind_are_no_crash() -> None:
    odd = judge("judge-1").model_copy(update={"scores": {"before": "x"}})
    assert versions.evaluation_of(odd) is None and "not evaluated" in versions.versions_html([odd])


def test_flipped_items_can_be_opened_and_are_escaped() -> None:
    html = versions.details_html(judge("judge-1", 0.5, 0.7, question=EVIL))
    assert 'href="annotate?item=7&amp;seen=1"' in html and "<img" not in html and "stays" not in html
    assert "1 held-out verdict flipped: 1 to right, 0 to wrong. A sample of 10 of 20" in html


def test_history_escapes_reasons() -> None:
    html = versions.history_html([Promotion(judge="judge-1", previous=ZERO_SHOT, by=EVIL, reason=EVIL, created=NOW)])
    assert "<img" not in html and "judge-1" in html


@pytest.fixture
def service(store: Store, tmp_path: Path) -> TrainingService:
    return TrainingService(Settings(profile="scripted", data_dir=tmp_path), store)


def context(store: Store, service: Any, role: str = "admin") -> Any:
    return SimpleNamespace(store=store, training=service, who=lambda request: "ann", role=lambda request: role)


def test_a_promotion_needs_the_gate_or_an_admins_reason(store: Store, service: TrainingService) -> None:
    store.add_judge_version("base", scores=judge("x", 0.6, 0.5).scores)
    for role, why in (("admin", "  "), ("annotator", "I like it")):
        with pytest.raises(TrainingError, match="the gate was not run for judge-1"):
            promoted(context(store, service, role), None, "judge-1", why)
    assert store.live_judge().name == ZERO_SHOT
    assert promoted(context(store, service), None, "judge-1", " to compare ").state == "live"
    assert [(p.by, p.reason) for p in store.promotions()] == [("ann", "to compare")]
    assert promoted(context(store, service, "annotator"), None, ZERO_SHOT, "").name == ZERO_SHOT  # it was live before


@pytest.mark.parametrize("name", [None, "", "judge-9", "../../etc/passwd", "<b>"])
def test_names_from_the_browser_are_checked(store: Store, service: TrainingService, name: str | None) -> None:
    with pytest.raises((InputError, StoreError)):
        promoted(context(store, service), None, name, "because")
    assert store.live_judge().name == ZERO_SHOT


def test_an_engine_that_fails_leaves_the_live_judge(store: Store) -> None:
    store.add_judge_version("base", scores=judge("x", 0.5, 0.7).scores)

    def fail(name: str, by: str, reason: str, admin: bool) -> JudgeVersion:
        raise EngineUnreachable("nothing answers at http://127.0.0.1:8000/v1")

    with pytest.raises(EngineUnreachable):
        promoted(context(store, SimpleNamespace(promote=fail)), None, "judge-1", "")
    assert store.live_judge().name == ZERO_SHOT


@pytest.mark.parametrize(("state", "against", "admin", "words"), [
    ("candidate", "", False, "passed the gate against the live judge and may go live"), ("retired", "", False, "was live before"),
    ("candidate", "the gate was not run for judge-1", True, "The gate was not run for judge-1. An admin may make it live all the same"),
    ("candidate", "the gate was not run for judge-1", False, "only an admin may make it live")])
def test_what_stands_against_a_promotion(state: str, against: str, admin: bool, words: str) -> None:
    assert words in obstacle_words(judge("judge-1", state=state), against, admin)


FORM: dict[str, Any] = {"held": 0.4, "seed": 13, "most": 0, "sources": ["human"], "balance": "none", "kinds": ["correction"], "models": None}


@pytest.mark.parametrize(("given", "numbers", "words"), [
    ({"held": 1.5}, (), "held-out share: .*less than or equal to 1"), ({"sources": []}, (), "at least one source"),
    ({"sources": ["x"]}, (), "at least one source"), ({"most": -3}, (), "most training rows"), ({}, (0, -1, 0), "most rows of vote labels"),
    ({}, (0, 0, 0, 1, 1, 0), "weight of gold evidence: .*greater than 0")])
def test_the_snapshot_form_names_its_fields(given: dict[str, Any], numbers: tuple[float, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        snapshot_request(*{**FORM, **given}.values(), *numbers)


def test_the_snapshot_form_as_a_request() -> None:
    found = snapshot_request(*{**FORM, "balance": "weights", "models": ["m"]}.values(), 0, 5, None, 1, 2, 0.5)
    assert found == SnapshotRequest(held_out_fraction=0.4, seed=13, sources=frozenset({"human"}), vote_models=frozenset({"m"}), caps={"votes": 5},
                                    human_kinds=frozenset({"correction"}), weights={"votes": 2, "gold": 0.5}, class_weights=True)


@pytest.mark.parametrize(("served", "words"), [
    ({"p_server": 0.51, "p_transformers": 0.5, "warning": ""}, "0.51, the trained model 0.50"),
    ({"p_server": None, "p_transformers": 0.5, "warning": "the server shows none"}, "the server shows none"), (None, ""), ({"x": 1}, "")])
def test_the_check_of_the_served_judge_is_told(served: Any, words: str) -> None:
    assert words in versions.served_html(judge("judge-1", 0.5, 0.7).model_copy(update={"scores": {"served": served}}))
