"""The gate in a real browser: a candidate is made, refused to an annotator, put through the gate, made live, and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from storage import Store
from storage.values import SnapshotRequest
from tests.e2e.judging_app import PASSWORD, App, serve
from trio_core.prompting import load_prompts
from trio_core.values import Hit, JudgeItem, Passage, PoolEntry

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]
JOB_MS = 180_000


def items(store: Store, questions: int) -> None:
    """Two items a question. The scripted judge says P = .83 of two queries and .22 of one, and gold agrees: what is left to mend is calibration."""
    for n in range(questions):
        for size, label in ((1, "insufficient"), (2, "sufficient")):
            pool = tuple(PoolEntry(query=f"query {k} of {n}", hits=(Hit(passage=Passage(id=f"{n}-{k}", title="Delft", text=f"Passage {k} of {n}."), score=0.8, rank=1),))
                         for k in range(size))
            text = "\n\n".join(f"Query {k}: query {k} of {n}\n[{k}] Delft\nPassage {k} of {n}." for k in range(1, size + 1))
            item = JudgeItem(question=f"Question {n}?", pool=pool, messages=load_prompts("trio")["judge"].render(question=f"Question {n}?", pool=text))
            store.add_gold_label(store.add_item(item, "test", question_id=str(n), round=size), label, "made up")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with serve(tmp_path, people={"boss": "admin", "ann": "annotator"}) as running:
        items(running.store, 48)
        running.store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
        yield running


@pytest.fixture
def enter(app: App, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """A function that logs a person in and opens the Judge page."""
    def log_in(name: str, **options: Any) -> Page:
        page = new_page(**options)
        assert page.request.post(f"{app.url}/login", form={"username": name, "password": PASSWORD}).ok
        page.goto(f"{app.url}/judge")
        page.wait_for_selector("#jd-loop .jd-table")
        return page

    return log_in


def test_a_candidate_meets_the_gate_and_goes_live(app: App, enter: Callable[..., Page]) -> None:
    boss = enter("boss")
    boss.get_by_role("tab", name="Head", exact=True).click()
    boss.locator("#jd-head").click()
    expect(boss.locator(".jd-job[data-state=done]")).to_contain_text("This made judge-1", timeout=JOB_MS)
    boss.get_by_role("button", name="Exact command of this job").click()
    expect(boss.locator(".jd-log[aria-label='Exact command']")).to_contain_text("training.work --config")
    ann = enter("ann")
    expect(ann.locator(".jd-card", has_text="4 · Judges")).to_contain_text("only an admin may make it live without a passed gate")
    expect(ann.locator("#jd-promote")).not_to_be_visible()
    expect(boss.locator("#jd-promote")).to_be_visible()  # an admin may, with a reason
    boss.locator("#jd-promote").click()
    expect(boss.locator(".jd-card", has_text="4 · Judges")).to_contain_text("Not promoted: the gate was not run for judge-1")
    assert app.store.live_judge().name == "zero-shot"
    boss.locator("#jd-reason textarea").fill("to try it")
    boss.locator("#jd-promote").click()
    expect(boss.locator(".jd-live")).to_contain_text("judge-1")
    ann.reload()
    expect(ann.locator("#jd-back")).to_have_text("Roll back to zero-shot (admins only)")
    expect(ann.locator("#jd-back")).to_be_disabled()
    boss.locator("#jd-back").click()
    expect(boss.locator(".jd-live")).to_contain_text("zero-shot")
    assert [(p.judge, p.by, p.reason) for p in app.store.promotions()] == [("zero-shot", "boss", "rolled back from judge-1"), ("judge-1", "boss", "to try it")]
    assert app.workbench.engine.judge.name == "zero-shot"


def test_who_passes_needs_no_reason(app: App, enter: Callable[..., Page]) -> None:
    ann = enter("ann")
    ann.get_by_role("tab", name="Head", exact=True).click()
    ann.locator("#jd-head").click()
    expect(ann.locator(".jd-job[data-state=done]")).to_contain_text("This made judge-1", timeout=JOB_MS)
    ann.locator("#jd-gate").click()
    expect(ann.locator(".jd-job[data-state=done]")).to_contain_text("judge-1 passes the gate", timeout=JOB_MS)
    expect(ann.locator(".jd-checks li[data-passed=true]")).to_have_count(5)
    assert ann.locator(".jd-plot circle").count() == 2
    expect(ann.locator("#jd-reason")).not_to_be_visible()
    ann.locator("#jd-promote").click()
    expect(ann.locator(".jd-live")).to_contain_text("judge-1")
    expect(ann.locator("#jd-loop")).to_contain_text("gold evidence")
    live = app.store.live_judge()
    assert (live.name, live.promoted_by, live.reason) == ("judge-1", "ann", "") and app.workbench.engine.judge.head is not None
    ann.locator("#jd-item textarea, #jd-item input").fill("1")
    ann.locator("#jd-where").click()
    expect(ann.locator("#jd-loop")).to_contain_text("Where item 1 went")
    ann.locator("#jd-import > button").click()
    ann.locator("#jd-import input[type=file]").set_input_files({"name": "x.jsonl", "mimeType": "application/json", "buffer": b"{}"})
    ann.locator("#jd-take").click()
    expect(ann.locator("#jd-import")).to_contain_text("only an admin may do that")
