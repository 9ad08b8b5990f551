"""The Analysis page in a browser: empty, with runs, a figure that opens its runs, a phone, hostile text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.helpers import R, fill, store_run
from tests.e2e.helpers import no_sideways_scroll
from tests.e2e.judging_app import App, serve
from tests.ui.judging_helpers import EVIL


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder: Path = tmp_path_factory.mktemp("analysis")
    with serve(folder, flags=("retriever.encoder=hashed-words",)) as running:
        yield running


def test_from_nothing_to_the_run_behind_a_figure(app: App, page: Page) -> None:
    page.goto(f"{app.url}/analysis")
    expect(page.locator(".empty")).to_contain_text("No runs yet")
    fill(app.store)
    page.goto(f"{app.url}/analysis?evaluation=eval-a")
    expect(page.locator("#al-momentum .al-table").first).to_be_visible()
    expect(page.locator("#al-momentum .al-about").first).to_contain_text("in a direction drawn at random")
    expect(page.locator("#al-momentum")).to_contain_text("no alarm for drift")
    expect(page.locator("#al-noise .al-none")).to_contain_text("noise=1")
    assert page.locator("section.al-card h2").count() >= 10
    page.locator("#al-stopping td a", has_text="3.00").click()
    expect(page.locator(".al-open h2")).to_have_text("Share of runs by search rounds: maps, mean: 3.00")
    expect(page.locator(".al-runs li")).to_have_count(6)
    page.locator(".al-runs a").first.click()
    expect(page.locator("#ts-board .ans")).to_contain_text("Delft")
    page.goto(f"{app.url}/analysis?evaluation=eval-a&open=alignment.0.2")
    expect(page.locator(".al-open h2")).to_contain_text("Momentum alignment: maps")
    page.goto(f"{app.url}/analysis?evaluation=eval-a")
    page.locator("#al-stopping svg a").first.click()
    expect(page.locator(".al-open h2")).to_contain_text("After how many rounds runs stop")


def test_the_selection_stands_in_the_address(app: App, page: Page) -> None:
    page.goto(f"{app.url}/analysis")
    page.get_by_label("Method").select_option("maps")
    page.get_by_role("button", name="Analyse").click()
    expect(page.locator("#al-stopping tbody tr")).to_have_count(1)
    assert "method=maps" in page.url
    page.locator("summary", has_text="command line").click()
    expect(page.locator(".al-card code").first).to_contain_text("python -m trio_core analyse --method maps")
    expect(page.locator("a[download='reproduction.md']")).to_have_attribute("href", re.compile("^data:text/markdown;base64,"))
    page.goto(f"{app.url}/analysis?evaluation=nope&limit=x&origin=%00&open=%3Cb%3E")
    expect(page.get_by_role("alert")).to_contain_text("no runs of evaluation 'nope'")
    page.goto(f"{app.url}/analysis?dataset=nq")
    expect(page.locator(".empty a")).to_have_attribute("href", "./analysis")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_hostile_text(app: App, new_page: Callable[..., Page], theme: str) -> None:
    rounds = tuple(R((f"{EVIL} {n}",), ("a b",), "insufficient") for n in range(3))
    store_run(app.store, rounds, dataset=EVIL, question=EVIL, gold="a", repeats=EVIL)
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme=theme)
    page.goto(f"{app.url}/analysis?open=stopping.1.1")
    expect(page.locator("#al-momentum .al-table").first).to_be_visible()
    assert no_sideways_scroll(page)
    assert page.locator(".al-card img, .al-card script").count() == 0
