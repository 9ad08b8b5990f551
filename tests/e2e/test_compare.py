"""Compare in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.helpers import ask, no_sideways_scroll, run_ids, wait_end


def both(page: Page, app: App) -> list[str]:
    page.goto(f"{app.url}/compare")
    ask(page)
    wait_end(page, 2)
    return run_ids(page)


def test_both_methods_run_with_one_click(app: App, page: Page) -> None:
    first, second = both(page, app)
    assert app.events(first)[0].method == "trio" and app.events(second)[0].method == "maps"  # type: ignore[union-attr]
    assert page.locator(".sum h2").all_inner_texts() == ["TRIO", "MAPS"]
    rows = page.locator("#ts-board .rl")
    assert rows.count() >= 2
    top = page.locator("#ts-board [data-col='1'].cell").first.bounding_box()
    other = page.locator("#ts-board [data-col='2'].cell").first.bounding_box()
    assert top and other and abs(top["y"] - other["y"]) < 2 and other["x"] > top["x"]


def test_stored_runs_side_by_side(app: App, page: Page) -> None:
    ids = both(page, app)
    page.goto(f"{app.url}/compare?runs={ids[1]},{ids[0]}")
    wait_end(page, 2)
    assert page.locator(".sum h2").all_inner_texts() == ["MAPS", "TRIO"]
    expect(page.locator(".note-notes")).to_be_hidden()


def test_different_questions_are_pointed_out(app: App, page: Page) -> None:
    first, _ = both(page, app)
    page.goto(app.url)
    ask(page, "Who was the mother of the author of Frankenstein?")
    wait_end(page)
    (other,) = run_ids(page)
    page.goto(f"{app.url}/compare?runs={first},{other}")
    expect(page.locator(".note-notes")).to_have_text("These runs answer different questions.")


def test_runs_are_picked_from_a_list(app: App, page: Page) -> None:
    both(page, app)
    page.goto(f"{app.url}/compare")
    page.get_by_text("Compare stored runs").click()
    page.locator(".found input").nth(0).check()
    page.locator(".found input").nth(1).check()
    page.locator(".picker a.go").click()
    wait_end(page, 2)


def test_one_method_is_refused_with_a_hint(app: App, page: Page) -> None:
    page.goto(f"{app.url}/compare")
    page.locator(".card").get_by_text("MAPS").click()
    ask(page)
    expect(page.locator(".err")).to_contain_text("choose two methods or more")


def test_narrow_columns_are_tabs(app: App, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    both(page, app)
    expect(page.locator("#ts-board [data-col='2'].cell").first).to_be_hidden()
    page.locator(".coltabs [data-to='2']").tap()
    expect(page.locator("#ts-board [data-col='2'].cell").first).to_be_visible()
    expect(page.locator("#ts-board [data-col='1'].cell").first).to_be_hidden()
    assert no_sideways_scroll(page)


def test_the_same_passage_lights_up_in_both_columns(app: App, page: Page) -> None:
    both(page, app)
    shared = page.evaluate(
        "[...document.querySelectorAll(\"[data-col='1'] .ch\")].map(e => e.dataset.p)"
        ".find(p => document.querySelector(`[data-col='2'] .ch[data-p='${p}']`))"
    )
    assert shared
    page.locator(f"[data-col='1'] .ch[data-p='{shared}']").first.hover()
    assert page.locator(f"[data-col='2'] .ch.h[data-p='{shared}']").count() >= 1
