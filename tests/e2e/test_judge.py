"""The learning loop in a real browser: items, a frozen set, a training that is closed and reopened, scores, promotion, rollback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.judging_app import App, serve
from tests.training.tiny_model import make_tiny_model
from tests.ui.judging_helpers import fill
from training.starter import starter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]
TRAINING = ("lora_rank=2", "lora_layers=1", "max_rows=8", "max_tokens=8000", "batch_size=4", "device=cpu")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny-judge"))


@pytest.fixture
def app(tmp_path: Path, tiny: Path) -> Iterator[App]:
    with serve(tmp_path, flags=(f"training.base_model={tiny}", *(f"training.{flag}" for flag in TRAINING))) as running:
        yield running


def opened(browser: Any, app: App, query: str = "", **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(90_000)
    page.goto(f"{app.url}/judge{query}")
    page.wait_for_selector(".jd-figures b")
    return page


def test_from_labels_to_a_live_judge(app: App, browser: Any, tmp_path: Path) -> None:
    page = opened(browser, app)
    assert "No items yet" in page.inner_text(".jd-next")
    page.click("#jd-make")
    page.wait_for_selector("text=demo items now, by gold evidence", timeout=90_000)
    assert "gold labels" in page.inner_text(".jd-next")
    freeze_and_download(page, app, tmp_path)
    page.get_by_role("tab", name="SFT", exact=True).click()
    page.wait_for_selector("#jd-start:not([disabled])")
    page.get_by_role("button", name="Exact command").first.click()
    assert "training" in page.inner_text("#jd-command")
    page.click("#jd-start")
    page.wait_for_selector(".jd-job")
    page.close()  # the training goes on without its page
    page = opened(browser, app)
    page.wait_for_selector(".jd-job[data-state=done]", timeout=240_000)
    page.wait_for_selector("td >> text=judge-1")
    assert "This made judge-1" in page.inner_text(".jd-job")
    promote_and_roll_back(page, app)


def freeze_and_download(page: Any, app: App, folder: Path) -> None:
    page.locator("label:has-text('Held-out share') input").fill("0.06")  # every held-out row is judged twice
    page.click("#jd-freeze")
    page.wait_for_selector("text=Snapshot 1 is frozen")
    page.wait_for_selector("#jd-download-train")
    with page.expect_download() as waiting:
        page.click("#jd-download-train")
    waiting.value.save_as(folder / "rows.jsonl")
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == app.store.snapshot(1).rows("train")
    assert [m["role"] for m in rows[0]["prompt"]] == ["system", "user"] and rows[0]["completion"][0]["content"].endswith("Information")


def promote_and_roll_back(page: Any, app: App) -> None:
    page.wait_for_selector("text=Make judge-1 live")
    page.fill("#jd-reason textarea", "a test of promotion")
    page.click("#jd-promote")
    page.wait_for_selector("text=judge-1 is live.")
    assert app.store.live_judge().name == app.workbench.engine.judge.name == "judge-1"
    page.wait_for_function("document.querySelector('#ts-header').innerText.includes('judge judge-1')", timeout=30_000)
    page.click("#jd-back")
    page.wait_for_selector("text=zero-shot is live.")
    assert [(p.judge, p.by, p.reason) for p in app.store.promotions()] == [
        ("zero-shot", "me", "rolled back from judge-1"), ("judge-1", "me", "a test of promotion")]


def test_a_training_is_aborted_and_resumed(app: App, browser: Any) -> None:
    app_items(app)
    page = opened(browser, app)
    page.get_by_role("tab", name="SFT", exact=True).click()
    page.click("#jd-freeze")
    page.wait_for_selector("#jd-start:not([disabled])")
    page.locator("label:has-text('Epochs') input").fill("40")
    page.wait_for_timeout(1500)
    page.wait_for_selector("#jd-start:not([disabled])")
    page.click("#jd-start")
    page.wait_for_selector("#jd-abort")
    page.click("#jd-abort")
    page.wait_for_selector(".jd-job[data-state=stopped]", timeout=120_000)
    page.click("#jd-resume")
    page.wait_for_selector(".jd-job:not([data-state=stopped])")
    page.click("#jd-abort")
    page.wait_for_selector(".jd-job[data-state=stopped]", timeout=120_000)


def test_the_head_that_comes_with_it_goes_live(app: App, browser: Any) -> None:
    page = opened(browser, app)
    page.click("#jd-starter")
    page.wait_for_selector("text=judge-1 is a candidate")
    page.wait_for_selector("#jd-starter", state="hidden")
    page.wait_for_selector("#jd-loop >> text=judge-1")
    page.fill("#jd-reason textarea", "no labels yet")
    page.click("#jd-promote")
    page.wait_for_selector("text=judge-1 is live.")
    assert app.store.live_judge().head is not None and app.workbench.engine.judge.head == starter().head
    page.get_by_text("What the head reads").click()
    page.wait_for_selector("code:has-text('chain')")
    page.reload()
    page.wait_for_selector("td >> text=judge-1")
    assert page.locator("#jd-starter").count() == 0


def app_items(app: App) -> None:
    fill(app.store, 16)


def test_nothing_to_freeze_says_what_to_do(app: App, browser: Any) -> None:
    page = opened(browser, app)
    page.click("#jd-freeze")
    page.wait_for_selector("text=label some items first")


def test_an_unknown_job_is_named(app: App, browser: Any) -> None:
    page = opened(browser, app, "?job=4711")
    page.wait_for_selector("text=Job 4711 cannot be shown")


def test_the_page_fits_a_phone(app: App, browser: Any) -> None:
    fill(app.store, 8)
    page = opened(browser, app, viewport={"width": 390, "height": 844})
    page.click("#jd-freeze")
    page.wait_for_selector("text=Snapshot 1 is frozen")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
