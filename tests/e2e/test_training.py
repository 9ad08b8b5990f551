"""The Training page in a browser: empty, a run with its steps and their data, damaged files, a phone, hostile text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.helpers import no_sideways_scroll
from tests.e2e.judging_app import App, serve
from tests.training.pipeline.folder import make_run
from tests.ui.judging_helpers import EVIL
from training.progress import ProgressLog

RUN = "pipelines/cpu-smoke"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with serve(folder, flags=("retriever.encoder=hashed-words",)) as running:
        yield running


@pytest.fixture(scope="module")
def run(app: App, folder: Path) -> Path:
    """A run that is not there when the app starts."""
    return make_run(folder / RUN)


def test_without_a_run_the_page_says_how_to_begin_one(app: App, folder: Path, page: Page) -> None:
    assert not (folder / RUN).exists()
    page.goto(f"{app.url}/training")
    expect(page.locator(".empty")).to_contain_text("No pipeline run yet")
    expect(page.locator("#ts-training pre")).to_have_text([
        "python -m training pipeline plan --profile trio-4b", "python -m training pipeline run --profile cpu-smoke"])


def test_from_the_list_to_the_pool_after_a_round(app: App, run: Path, page: Page) -> None:
    page.goto(f"{app.url}/training")
    page.get_by_role("link", name=RUN).click()
    steps = page.locator(".tr-steps tbody tr")
    expect(steps).to_have_count(6)
    expect(steps.nth(0)).to_contain_text("8 easy: the base model knows them")
    expect(steps.nth(1)).to_contain_text("12 malformed: opponent's action")
    expect(steps.nth(3).locator(".state")).to_have_text("begun")
    expect(steps.nth(4).locator(".state")).to_have_text("damaged")
    expect(page.locator("#ts-training pre").first).to_contain_text(f"--profile cpu-smoke --recipe debate.rounds=2 --out {run}")
    steps.nth(1).get_by_role("link").click()
    expect(page.locator(".tr-row")).to_have_count(10)
    expect(page.locator("#tr-step")).to_be_in_viewport()
    first = page.locator(".tr-row").first
    first.locator("summary").first.click()
    expect(first.locator(".tr-turn.wrong")).to_have_count(1)
    expect(first.locator(".tr-turn.wrong .tag")).to_have_text("malformed")
    expect(first.locator(".tr-round").nth(0)).to_contain_text("book 0 author")
    expect(first.locator(".tr-round").nth(1)).to_contain_text("The pool is as before")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#ts-training")).to_contain_text("rows 11–12 of 12")
    expect(page.locator(".tr-row")).to_have_count(2)


def test_every_step_shows_its_data(app: App, run: Path, page: Page) -> None:
    def look(step: str, **more: str) -> None:
        page.goto(f"{app.url}/training?run={RUN}&step={step}" + "".join(f"&{k}={v}" for k, v in more.items()))
        expect(page.locator("#tr-step")).to_be_visible()

    look("questions", page="2")
    expect(page.locator(".tr-row")).to_have_count(5)
    expect(page.locator(".tr-row").nth(3)).to_contain_text("right in 2 of 4 rollouts")
    expect(page.locator(".tr-row").nth(3).locator(".tag")).to_have_text(["easy", "dropped"])
    look("debate", data="t2.jsonl")
    expect(page.locator(".tr-row")).to_have_count(3)
    look("answer")
    expect(page.locator(".tr-plots figcaption").first).to_have_text("Mean reward")
    expect(page.locator(".tr-reward").first).to_have_text("-0.50")
    page.locator("summary", has_text="Model card").click()
    expect(page.locator("pre", has_text="# Answer agent")).to_be_visible()
    page.locator("summary", has_text="Manifest").click()
    expect(page.locator(".tr-facts").first).to_contain_text("Seed13")
    look("query")
    expect(page.locator(".tr-row").nth(1).locator(".tag").first).to_have_text("not keywords")
    look("judge")
    expect(page.get_by_role("alert")).to_contain_text("manifest.json")
    expect(page.locator(".tr-vote .b").nth(2)).to_have_text("mixed, dropped")
    page.locator(".tr-row summary").first.click()
    expect(page.locator(".tr-row").first).to_contain_text("gold: Author 0")
    look("serving")
    expect(page.locator(".tr-none")).to_contain_text("nothing to see yet")


def test_rows_of_one_difficulty_or_label_have_an_address(app: App, run: Path, page: Page) -> None:
    page.goto(f"{app.url}/training?run={RUN}&step=questions&page=2")
    facet = page.get_by_role("navigation", name="Difficulty")
    expect(facet.get_by_role("link")).to_have_text(["all 25", "hard 9", "medium 8", "easy 8"])
    facet.get_by_role("link", name="easy").click()
    expect(page.locator(".tr-row")).to_have_count(8)
    expect(page.locator(".tr-row .tag:first-of-type")).to_have_text(["easy"] * 8)
    assert "only=easy" in page.url and "page=" not in page.url
    expect(facet.locator("[aria-current]")).to_have_text("easy 8")
    page.get_by_role("link", name="2 Retrieval debate").click()
    expect(page.locator(".tr-row")).to_have_count(10)
    assert "only=" not in page.url
    page.goto(f"{app.url}/training?run={RUN}&step=judge&only=mixed")
    expect(page.locator(".tr-vote .b")).to_have_text(["mixed, dropped"] * 4)
    page.goto(f"{app.url}/training?run={RUN}&step=query&only=not_keywords")
    expect(page.locator(".tr-row")).to_have_count(1)


def test_a_run_at_work_is_followed_until_it_is_silent(app: App, folder: Path, page: Page) -> None:
    work = make_run(folder / "work")
    page.goto(f"{app.url}/training?run=work&step=query")
    first = page.locator(".tr-row details").first
    first.locator("summary").first.click()
    expect(page.locator("#ts-training")).to_contain_text("query agent, 1 of 3")
    log = ProgressLog(work)
    log.work("query agent", 3, 3)
    log.close()
    expect(page.locator("#ts-training")).to_contain_text("query agent, 3 of 3", timeout=60_000)
    expect(first).to_have_attribute("open", "")
    for file in work.rglob("*"):
        os.utime(file, (1e9, 1e9))
    expect(page.get_by_role("link", name="Read anew")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-working]")).to_have_count(0)


def test_what_is_wrong_is_said_and_the_rest_shown(app: App, folder: Path, run: Path, page: Page) -> None:
    broken = make_run(folder / "pipelines" / "broken")
    (broken / "profile.json").write_text('{"name"')
    (broken / "questions" / "questions.jsonl").write_bytes(b"\xff\xfe\n{}\n")
    (broken / "answer" / "stage1" / "metrics.jsonl").write_text('{"step"')
    (broken / "serving").mkdir()
    (broken / "serving" / "footprint.json").write_text("[]")
    page.goto(f"{app.url}/training?run=pipelines/broken&step=questions")
    expect(page.locator(".tr-row")).to_have_count(2)
    expect(page.locator(".tr-row").first).to_contain_text("Row 1 cannot be read")
    expect(page.get_by_role("alert").first).to_contain_text("profile of this run cannot be read")
    page.goto(f"{app.url}/training?run=pipelines/broken&step=serving")
    expect(page.locator("#tr-step .tr-bad")).to_contain_text("cannot be read")
    for address in ("run=..%2F..%2Fetc", "run=%00", f"run={RUN}&step=no"):
        page.goto(f"{app.url}/training?{address}")
        expect(page.get_by_role("alert")).to_contain_text("there is no")
    page.goto(f"{app.url}/training?run={RUN}&step=questions&page=999&data=%3Cb%3E")
    expect(page.locator("#ts-training")).to_contain_text("page 2 of 2")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_hostile_text(app: App, folder: Path, new_page: Callable[..., Page], theme: str) -> None:
    if not (folder / "evil").exists():
        make_run(folder / "evil", EVIL)
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme=theme)
    for step in ("questions", "debate", "answer", "query", "judge"):
        page.goto(f"{app.url}/training?run=evil&step={step}")
        expect(page.locator(".tr-row").first).to_be_visible()
        page.evaluate("document.querySelectorAll('#ts-training details').forEach((d) => { d.open = true; })")
        expect(page.locator(".tr-row").first).to_contain_text(EVIL[:40])
        assert no_sideways_scroll(page)
        assert page.locator("#ts-training img, #ts-training script").count() == 0
