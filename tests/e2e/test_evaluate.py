"""Evaluate in a real browser: order, progress, figures, a differing question opened, files; stop, a new app, go on; narrow screens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, end, launch
from tests.e2e.helpers import no_sideways_scroll, run_ids, wait_end
from trio_core.datasets import open_dataset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]


def order(page: Page, app: App, titles: list[str], limit: int) -> str:
    """Starts an evaluation of these methods over the first demo questions; its id."""
    page.goto(f"{app.url}/evaluate")
    expect(page.locator("#evaluate [data-part=list] > *").first).to_be_visible()
    for card in page.locator("#ev-form label.card").all():
        if card.locator("input").is_checked() != (card.locator("b").inner_text() in titles):
            card.click()
    page.locator("#ev-limit input").fill(str(limit))
    page.locator("#ev-at-once input").fill("1")  # so that the replies of a script come in a known order
    page.locator("#ev-at-once input").blur()
    page.locator("#ev-start").click()
    page.wait_for_url("**/evaluate?id=*", timeout=60_000)
    return page.url.rpartition("id=")[2]


def ended(page: Page, state: str = "finished") -> None:
    expect(page.locator(f"[data-part=head] .state.{state}")).to_be_visible(timeout=120_000)


def each_right_once() -> dict[str, Any]:
    """TRIO is right about the first question, no retrieval about the second, nobody about the third."""
    first, second, _ = (q.answers[0] for q in open_dataset("demo", limit=3))
    return {"query": [{"text": "a query"}], "judge": [{"text": "Sufficient Information", "p_sufficient": 0.9}] * 3,
            "answer": [{"text": text} for text in (first, "wrong", "wrong", second, "wrong", "wrong twice")]}


def test_from_an_order_to_the_question_on_which_two_differ(start_app: Callable[..., App], page: Page, tmp_path: Path) -> None:
    app = start_app(script=each_right_once())
    name = order(page, app, ["TRIO", "No retrieval"], 3)
    ended(page)
    expect(page.locator("[data-part=head] .ev-said")).to_contain_text("6 of 6 runs")
    expect(page.locator("[data-part=plots] figure")).to_have_count(4)
    cell = page.locator("[data-part=matrix] .ev-wl").first
    expect(cell).to_have_text("1 : 1")
    cell.click()
    expect(page.locator("[data-part=pair] li")).to_have_count(2)
    assert "first=" in page.url
    page.reload()
    link = page.locator("[data-part=pair] .ev-links a").first
    expect(link).to_be_visible()
    link.click()
    wait_end(page)
    (run,) = run_ids(page)
    assert app.events(run)[-1].type == "run_finished"
    page.goto(f"{app.url}/evaluate?id={name}")
    figures_open_and_sort(page)
    files(page, name, tmp_path)


def figures_open_and_sort(page: Page) -> None:
    page.locator("[data-part=plots] .ev-col").first.click()
    expect(page.locator("[data-part=runs] h2")).to_contain_text("rounds")
    page.locator("[data-part=runs] [data-chosen*=failed]").click()
    expect(page.locator("[data-part=runs] h2")).to_contain_text("0 runs: failed")
    table = page.locator("[data-part=tables] table").first
    column = table.locator("thead th").all_inner_texts().index("answer tokens") + 1
    table.get_by_role("button", name="answer tokens").click()
    expect(table.locator("th[aria-sort=descending]")).to_have_count(1)
    values = [float(text.split()[0]) for text in table.locator(f"tbody td:nth-child({column})").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    page.locator("[data-set=metric]").select_option("f1")
    expect(page.locator("[data-part=matrix] h2")).to_contain_text("F1")


def files(page: Page, name: str, folder: Path) -> None:
    for form, beginning in (("csv", "method,runs"), ("md", "## Answers"), ("tex", r"\begin{table}")):
        with page.expect_download() as waiting:
            page.locator(f"[data-table=Answers][data-file={form}]").click()
        waiting.value.save_as(folder / form)
        assert (folder / form).read_text(encoding="utf-8").startswith(beginning) and waiting.value.suggested_filename == f"{name}-answers.{form}"
    with page.expect_download() as waiting:
        page.locator("[data-file=jsonl]").click()
    waiting.value.save_as(folder / "rows")
    assert len([json.loads(line) for line in (folder / "rows").read_text(encoding="utf-8").splitlines()]) == 6


def scripted(folder: Path, prompt: int) -> App:
    """An app that gives so many answers at once and lets all later ones wait."""
    replies = [{"text": "Delft"}] * prompt + [{"text": "Delft", "delay_s": 600}] * 8
    (folder / "script.yaml").write_text(yaml.safe_dump({"answer": replies}))
    return launch(folder, f"engine.script={folder / 'script.yaml'}")


def test_stopped_and_continued_by_another_app(tmp_path_factory: pytest.TempPathFactory, page: Page) -> None:
    folder = tmp_path_factory.mktemp("evaluate")
    first = scripted(folder, prompt=2)
    try:
        name = order(page, first, ["No retrieval"], 5)
        expect(page.locator("[data-part=head] .ev-said")).to_contain_text("2 of 5 runs", timeout=60_000)
        expect(page.locator("[data-part=head] .ev-said")).to_contain_text("left")
        page.get_by_role("button", name="Stop").click()
        ended(page, "stopped")
    finally:
        assert end(first) == 0
    second = scripted(folder, prompt=8)
    try:
        page.goto(f"{second.url}/evaluate")
        expect(page.locator("[data-part=list] .state.stopped")).to_be_visible()
        page.locator("[data-part=list] a").click()
        page.get_by_role("button", name="Continue").click()
        ended(page)
        expect(page.locator("[data-part=head] .ev-said")).to_contain_text("5 of 5 runs")
        expect(page.locator("[data-part=runs] tbody tr")).to_have_count(5)
        assert len({a.get_attribute("href") for a in page.locator("[data-part=runs] td.q a").all()}) == 5 and name in page.url
    finally:
        end(second)


def test_mistakes_are_told_and_nothing_begins(app: App, page: Page) -> None:
    page.goto(f"{app.url}/evaluate")
    page.locator("#ev-dataset input").fill("/etc/passwd")
    page.locator("#ev-dataset input").press("Enter")
    page.locator("#ev-start").click()
    expect(page.locator(".err")).to_contain_text("data_folders")
    page.goto(f"{app.url}/evaluate?id=nothing")
    expect(page.locator(".ev-message")).to_contain_text("does not exist")


def test_the_page_fits_a_phone(start_app: Callable[..., App], new_page: Callable[..., Page]) -> None:
    app = start_app()
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    order(page, app, ["TRIO", "MAPS", "No retrieval"], 2)
    ended(page)
    page.locator("[data-part=matrix] .ev-wl").first.tap()
    expect(page.locator("[data-part=pair] h3")).to_be_visible()
    assert no_sideways_scroll(page)
