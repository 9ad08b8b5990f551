"""Annotating in a real browser: keys, one round trip a label, blind until answered, undo, two annotators, a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.judging_app import PASSWORD, App, serve
from tests.ui.judging_helpers import fill

pytestmark = pytest.mark.slow
ITEMS = 8
GUARD_MS = 300
"""The page ignores keys for the first 250 ms of an item."""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with serve(tmp_path) as running:
        fill(running.store, ITEMS)
        yield running


def opened(browser: Any, url: str, **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    page.goto(url)
    page.wait_for_selector(".an[data-state=item], .an[data-state=reviewing]")
    page.wait_for_timeout(GUARD_MS)
    return page


def press(page: Any, key: str, until: str = "saved") -> None:
    """Presses a key and waits for the answer: another message, and nothing under way."""
    before = page.inner_html(".an-message")
    page.keyboard.press(key)
    page.wait_for_function(
        """([before, until]) => { const box = document.querySelector(".an-message");
           return box.innerHTML !== before && box.innerText.includes(until) && !document.querySelector(".an").dataset.busy }""",
        arg=[before, until])
    page.wait_for_timeout(GUARD_MS)


def values(app: App, who: str = "me") -> list[str]:
    return [label.value for label in app.store.last_labels(who)][::-1]


def test_three_labels_by_keys_then_undo_and_reload(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" and "gradio_api" in request.url else None)
    shown = [page.inner_text(".an-question")]
    for key in "123":
        press(page, key)
        shown.append(page.inner_text(".an-question"))
    labels = sum("/run/predict" in url for url in asked)
    assert labels == 3 and len(set(shown)) == 4 and values(app) == ["sufficient", "insufficient", "unsure"]
    assert f"3 of {ITEMS} · you 3" in page.inner_text(".an-progress")
    assert all(label.blind and label.milliseconds >= GUARD_MS for label in app.store.last_labels("me"))
    press(page, "u", until="Withdrawn")
    assert page.inner_text(".an-question") == shown[2] and values(app) == ["sufficient", "insufficient"]
    page.reload()
    page.wait_for_selector(".an[data-state]:not([data-state=loading])")
    assert f"2 of {ITEMS} · you 2" in page.inner_text(".an-progress") and page.locator(".an-last li").count() == 2


def test_the_verdict_is_not_in_the_page_before_the_answer(app: App, browser: Any) -> None:
    page = browser.new_context().new_page()
    bodies: list[str] = []
    page.on("response", lambda response: bodies.append(response.text()) if "run/predict" in response.url else None)
    page.goto(f"{app.url}/annotate")
    page.wait_for_selector(".an[data-state=item]")
    page.wait_for_timeout(GUARD_MS)
    text = page.content() + "".join(bodies)
    assert "the rule of this test" not in text and "zero-shot" not in page.inner_html(".an-side") and "p 0.4" not in text
    assert bodies and "the rule of this test" not in "".join(bodies)
    press(page, "v", until="after you have answered")
    press(page, "1")
    assert "judge disagreed (p 0.4" in page.inner_text(".an-message")
    page.keyboard.press("v")
    assert "the rule of this test" in page.inner_text(".an-reveal") and "zero-shot" in page.inner_text(".an-reveal")


def test_keys_are_off_while_typing_and_the_note_is_stored(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    page.keyboard.press("n")
    page.keyboard.type("1 2 3 0 u b — why")
    assert values(app) == [] and page.input_value(".an-note") == "1 2 3 0 u b — why"
    page.keyboard.press("Escape")
    press(page, "2")
    label = app.store.last_labels("me")[0]
    assert (label.value, label.note) == ("insufficient", "1 2 3 0 u b — why") and page.input_value(".an-note") == ""


def test_a_held_key_and_a_double_click_are_one_label(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    page.evaluate("""() => { for (let k = 0; k < 5; k++)
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "1", code: "Digit1", repeat: k > 0, bubbles: true})) }""")
    page.wait_for_function("document.querySelector('.an-message').innerText.includes('saved')")
    page.wait_for_timeout(GUARD_MS)
    page.evaluate("() => { const b = document.querySelector('[data-value=insufficient]'); b.click(); b.click(); b.click() }")
    page.wait_for_function("document.querySelectorAll('.an-last li').length === 2")
    page.wait_for_timeout(GUARD_MS)
    assert values(app) == ["sufficient", "insufficient"]


def test_back_shows_the_answer_and_a_new_label_replaces_it(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    first = page.inner_text(".an-question")
    press(page, "1")
    page.keyboard.press("b")
    page.wait_for_selector(".an[data-state=reviewing]")
    page.wait_for_timeout(GUARD_MS)
    assert page.inner_text(".an-question") == first and "item=" in page.url
    assert page.locator("[data-value=sufficient]").get_attribute("aria-pressed") == "true" and page.is_visible(".an-reveal")
    press(page, "2")
    assert values(app) == ["insufficient"] and not app.store.last_labels("me")[0].blind and "item=" not in page.url


def test_guidelines_open_and_close_by_key(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    page.keyboard.press("g")
    assert page.is_visible(".an-guide")
    press(page, "1")
    assert page.is_visible(".an-guide") and values(app) == ["sufficient"], "they stand beside the item: labelling goes on"
    page.keyboard.press("Escape")
    assert not page.is_visible(".an-guide")
    page.keyboard.press("g")
    page.keyboard.press("g")
    assert not page.is_visible(".an-guide")


def test_a_note_that_is_too_long_stays_in_the_form(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    page.fill(".an-note", "x" * 10_001)
    page.keyboard.press("Escape")
    press(page, "1", until="10,001 characters")
    assert len(page.input_value(".an-note")) == 10_001 and values(app) == []
    page.fill(".an-note", "short")
    page.keyboard.press("Escape")
    press(page, "1")
    assert values(app) == ["sufficient"]


def test_the_order_of_the_queue_is_kept_in_the_address(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    uncertain = page.inner_text(".an-question")
    page.click(".an-queue > summary")
    page.select_option(".an-filters [name=order]", "oldest")
    page.wait_for_function("question => document.querySelector('.an-question').innerText !== question", arg=uncertain)
    assert "order=oldest" in page.url and page.inner_text(".an-question") == "Question number 0?"
    page.reload()
    page.wait_for_selector(".an[data-state=item]")
    assert page.inner_text(".an-question") == "Question number 0?"


def test_a_filter_that_is_changed_while_a_label_is_under_way_takes_effect_after_it(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    held: list[Any] = []
    page.route("**/run/predict", lambda route: route.continue_() if held else held.append(route))
    page.keyboard.press("1")
    page.click(".an-queue > summary")
    page.select_option(".an-filters [name=order]", "oldest")
    while not held:
        page.wait_for_timeout(50)
    assert values(app) == [] and page.locator(".an[data-busy=label]").count() == 1
    held[0].continue_()
    page.wait_for_function("document.querySelector('.an-question').innerText === 'Question number 0?'")
    assert "order=oldest" in page.url and values(app) == ["sufficient"]


def test_undo_pressed_again_without_an_answer_takes_one_label(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate")
    for key in "12":
        press(page, key)
    unanswered: list[Any] = []
    page.route("**/run/predict", lambda route: route.continue_() if unanswered else unanswered.append(route.fetch()))
    press(page, "u", until="No answer from the server")
    press(page, "u", until="Withdrawn")
    assert values(app) == ["sufficient"]


def test_on_a_phone_the_buttons_stick_to_the_bottom(app: App, browser: Any) -> None:
    page = opened(browser, f"{app.url}/annotate", viewport={"width": 390, "height": 844})
    boxes = [page.locator(f".an-key[data-value={value}]").bounding_box() for value in ("sufficient", "insufficient", "unsure", "skip")]
    assert all(box["height"] >= 44 and box["width"] >= 150 and box["y"] > 600 and box["y"] + box["height"] <= 844 for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.tap(".an-key[data-value=skip]") if page.evaluate("'ontouchstart' in window") else page.click(".an-key[data-value=skip]")
    page.wait_for_function("document.querySelector('.an-message').innerText.includes('saved')")
    assert values(app) == ["skip"]


def test_an_empty_store_offers_the_demo_items(tmp_path: Path, browser: Any) -> None:
    with serve(tmp_path) as app:
        page = browser.new_context().new_page()
        page.goto(f"{app.url}/annotate")
        page.click("[data-do=make]")
        page.wait_for_selector(".an[data-state=item]", timeout=60_000)
        assert app.store.label_counts().items > 50


def test_two_annotators_get_different_items(tmp_path: Path, browser: Any) -> None:
    with serve(tmp_path, people={"ann": "annotator", "ben": "annotator"}) as app:
        fill(app.store, ITEMS)
        pages = [log_in(browser, app, name) for name in ("ann", "ben")]
        assert pages[0].inner_text(".an-question") != pages[1].inner_text(".an-question")
        for page in pages:
            press(page, "1")
        assert values(app, "ann") == values(app, "ben") == ["sufficient"] and values(app) == []
        assert f"2 of {ITEMS} · you 1" in pages[1].inner_text(".an-progress")


def log_in(browser: Any, app: App, name: str, **options: Any) -> Any:
    context = browser.new_context(**options)
    answer = context.request.post(f"{app.url}/login", form={"username": name, "password": PASSWORD})
    assert answer.ok
    page = context.new_page()
    page.goto(f"{app.url}/annotate")
    page.wait_for_selector(".an[data-state=item]")
    page.wait_for_timeout(GUARD_MS)
    return page
