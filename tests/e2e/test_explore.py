"""Explore in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.helpers import BOX, QUESTION, ask, no_sideways_scroll, run_ids, wait_end
from trio_core.events import Answered, Retrieved

EVIL = '<img src=x onerror="alert(1)"><script>alert(2)</script> [x](javascript:alert(3)) {{value}} ${7*7}'


def test_an_example_runs_with_one_click(app: App, page: Page) -> None:
    page.goto(app.url)
    picks = page.locator("[data-pick]")
    expect(picks).to_have_count(6)
    picks.first.click()
    wait_end(page)
    (run_id,) = run_ids(page)
    events = app.events(run_id)
    answer = next(e for e in events if isinstance(e, Answered))
    expect(page.locator(".ans")).to_contain_text(answer.answer)
    expect(page.locator(".ans .tag").first).to_contain_text("EM")
    expect(page.locator("#ts-board .cell")).to_have_count(len({e.round for e in events if isinstance(e, Retrieved)}))
    expect(page.locator(".facts").first).to_contain_text("stopped: the judge called the evidence sufficient")
    expect(page.locator(".tag.g").first).to_have_text("gold")


def test_a_run_appears_before_its_first_reply(slow_app: App, page: Page) -> None:
    page.goto(slow_app.url)
    ask(page)
    expect(page.locator("#ts-board .cell .ch").first).to_be_visible()
    expect(page.locator("#ts-board .state.live")).to_be_visible()
    expect(page.locator(".livestep")).to_contain_text("Judging the evidence")
    page.locator("#ts-stop").click()
    wait_end(page, state="stopped")


def test_reload_attaches_again_and_ends_with_the_stored_events(slow_app: App, page: Page) -> None:
    page.goto(slow_app.url)
    ask(page)
    expect(page.locator("#ts-board .cell")).to_have_count(2)
    before = run_ids(page)
    page.reload()
    expect(page.locator("#ts-board .state.live")).to_be_visible()
    expect(page.locator(BOX)).to_have_value(QUESTION)
    wait_end(page)
    assert run_ids(page) == before
    events = slow_app.events(before[0])
    assert [e.seq for e in events] == list(range(len(events)))
    assert page.locator("#ts-board .cell").count() == len({e.round for e in events if isinstance(e, Retrieved)})
    shown = page.locator("#ts-board .cell .sq span").all_inner_texts()
    assert [s.replace(" (the question)", "") for s in shown] == [e.query for e in events if isinstance(e, Retrieved)]


def test_finished_rounds_are_not_touched_while_the_run_goes_on(slow_app: App, page: Page) -> None:
    page.goto(slow_app.url)
    ask(page)
    expect(page.locator("#ts-board .cell")).to_have_count(2)
    first = page.locator("#ts-board .cell").first
    first.locator(".ch summary").first.click()
    page.evaluate("document.querySelector('#ts-board .cell .ch').mark = 'same node'")
    wait_end(page)
    assert page.evaluate("document.querySelector('#ts-board .cell .ch').mark") == "same node"
    assert page.evaluate("document.querySelector('#ts-board .cell .ch details').open") is True


def test_stop_and_continue(slow_app: App, page: Page) -> None:
    page.goto(slow_app.url)
    ask(page)
    expect(page.locator("#ts-board .cell").first).to_be_visible()
    page.keyboard.press("Escape")
    wait_end(page, state="stopped")
    expect(page.locator(".quiet")).to_contain_text("stopped by hand")
    page.locator("[data-do=resume]").click()
    wait_end(page)
    expect(page.locator(".ans")).to_contain_text("Budapest")


def test_correct_and_undo(app: App, page: Page) -> None:
    page.goto(app.url)
    ask(page, "Which film was released first, Seven Samurai or Tokyo Story?")
    wait_end(page)
    page.locator("details.fix summary").first.click()
    page.locator("details.fix input").first.fill("the second date is missing")
    page.locator("details.fix button[data-value=insufficient]").first.click()
    saved = page.locator(".saved").first
    expect(saved).to_contain_text("Insufficient · “the second date is missing” · saved ")
    page.reload()
    expect(saved).to_contain_text("Insufficient")
    saved.locator("[data-do=undo]").click()
    expect(page.locator(".saved")).to_have_count(0)
    page.reload()
    expect(page.locator("details.fix").first).to_be_visible()
    expect(page.locator(".saved")).to_have_count(0)


@pytest.mark.parametrize(("question", "message"), [("", "the question is empty"), ("x " * 10_000, "at most 4,000 are allowed")])
def test_a_bad_question_is_answered_under_the_box(app_url: str, page: Page, question: str, message: str) -> None:
    page.goto(app_url)
    page.locator(BOX).fill(question)
    page.locator("#ts-run").click()
    expect(page.locator(".err")).to_contain_text(message)
    assert run_ids(page) == []


def test_a_bad_setting_is_named(app_url: str, page: Page) -> None:
    page.goto(app_url)
    expect(page.locator("#ts-start")).to_contain_text("Examples")  # the page's first answers are in: nothing is drawn anew after this
    page.get_by_text("Settings of the method").click()
    page.get_by_label("top k").first.fill("1000")
    page.get_by_label("top k").first.press("Tab")
    ask(page)
    expect(page.locator(".err")).to_contain_text("'top_k'")


def test_what_a_question_may_cost_follows_the_settings(app_url: str, page: Page) -> None:
    page.goto(app_url)
    expect(page.locator("#ts-start")).to_contain_text("Examples")
    page.get_by_text("Settings of the method").click()
    group = page.locator(".ts-settings:visible")
    expect(group).to_contain_text("Query extensions after the first search")  # the field's own help
    group.get_by_label("fixed rounds").fill("2")
    group.get_by_label("fixed rounds").press("Tab")
    for place in (group.locator(".most"), page.locator(".card", has_text="TRIO").first.locator(".most")):
        expect(place).to_contain_text("at most 5 calls, 3 retrievals")


def test_an_unknown_run_says_so(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/?run=nosuchrun")
    expect(page.locator(".note-line")).to_contain_text("is not in this store")
    page.goto(f"{app_url}/?run=%3Cimg%20src=x%3E")
    expect(page.locator(".note-line")).to_contain_text("no run id")


def test_markup_is_shown_to_the_letter(start_app: Callable[..., App], page: Page) -> None:
    reply = {"text": EVIL, "p_sufficient": 0.9}
    evil = start_app(script={"query": [reply] * 9, "judge": [reply] * 9, "answer": [reply] * 9})
    page.goto(evil.url)
    ask(page, f"Who was born? {EVIL}")
    wait_end(page)
    expect(page.locator(".ans")).to_contain_text("<img src=x onerror=")
    expect(page.locator(".sq").first).to_contain_text(EVIL)
    page.locator(".calls summary").first.click()
    page.locator(".call summary").first.click()
    expect(page.locator("pre.raw").first).to_have_text(EVIL)
    assert page.locator("#ts-board img, #ts-board script, #ts-board a[href^=javascript]").count() == 0
    page.goto(f"{evil.url}/runs")
    expect(page.locator("td.q").first).to_contain_text(EVIL)
    assert page.locator("#ts-runs img, #ts-runs script").count() == 0


def test_links_light_up(app: App, page: Page) -> None:
    page.goto(app.url)
    page.get_by_text("MAPS").click()
    ask(page)
    wait_end(page)
    page.locator("[data-q='1']").first.hover()
    lit = page.locator(".ch.h")
    assert lit.count() > 0
    assert all("1" in by.split() for by in lit.evaluate_all("list => list.map(e => e.dataset.by)"))
    page.locator(".ch").first.hover()
    assert page.locator(".sq.h").count() > 0


def test_keys(app_url: str, page: Page) -> None:
    page.goto(app_url)
    expect(page.locator("[data-pick]").first).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator(BOX)).to_be_focused()
    page.locator(BOX).fill("what? a/b")
    expect(page.locator("dialog.sheet")).not_to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("dialog.sheet")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.sheet")).not_to_be_visible()


def test_narrow_and_dark(app_url: str, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page.goto(app_url)
    page.locator("[data-pick]").first.tap()
    wait_end(page)
    assert no_sideways_scroll(page)
    assert page.evaluate("getComputedStyle(document.querySelector('.board .sum')).backgroundColor") == "rgb(28, 32, 38)"


@pytest.mark.timeout(300)
def test_five_runs_each_in_two_browsers(app: App, new_page: Callable[..., Page]) -> None:
    pages = [new_page() for _ in range(10)]
    for number, page in enumerate(pages):
        page.goto(app.url)
        ask(page, f"Who directed film number {number}?")
    seen = set()
    for number, page in enumerate(pages):
        wait_end(page)
        (run_id,) = run_ids(page)
        seen.add(run_id)
        events = app.events(run_id)
        assert events[0].question == f"Who directed film number {number}?"  # type: ignore[union-attr]
        expect(page.locator(".sq").first).to_contain_text(f"film number {number}?")
        assert page.locator("#ts-board .cell").count() == len({e.round for e in events if isinstance(e, Retrieved)})
    assert len(seen) == 10
