"""Several people in real browsers: accounts, blind first, filters, guidelines, adjudication, evidence, forks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.helpers import no_sideways_scroll, wait_end
from tests.e2e.judging_app import PASSWORD, App, serve
from tests.ui.judging_helpers import fill, judge_item
from trio_core.runs import RunRequest
from trio_core.values import Gold

GUARD_MS = 300
READY = ".an[data-state=item]:not([data-busy]), .an[data-state=reviewing]:not([data-busy])"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with serve(tmp_path, people={"boss": "admin", "ann": "annotator", "ben": "annotator"}) as running:
        yield running


@pytest.fixture
def enter(app: App, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """A function that logs a person in and opens a page."""
    def log_in(name: str, path: str, **options: object) -> Page:
        page = new_page(**options)
        assert page.request.post(f"{app.url}/login", form={"username": name, "password": PASSWORD}).ok
        page.goto(f"{app.url}/{path}")
        return page

    return log_in


def key(page: Page, name: str) -> None:
    """Presses a key once the desk takes it."""
    page.wait_for_selector(READY)
    page.wait_for_timeout(GUARD_MS)
    page.keyboard.press(name)


def test_two_people_label_one_item_blind_and_an_admin_decides(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 1)
    app.store.set_overlap(2, "boss")
    ann, ben = enter("ann", "annotate"), enter("ben", "annotate")
    key(ann, "4")
    key(ann, "n")
    ann.keyboard.type("anns note")
    ann.keyboard.press("Escape")
    key(ann, "1")
    expect(ann.locator(".an-message")).to_contain_text("saved")
    assert "anns note" not in ben.content() and "ann" not in ben.inner_text(".an")
    key(ben, "2")
    expect(ben.locator(".an-message")).to_contain_text("ann disagreed")
    ben.keyboard.press("v")
    expect(ben.locator(".an-reveal")).to_contain_text("missing link · “anns note”")
    boss = enter("boss", "annotate")
    boss.get_by_role("link", name="Agreement").click()
    expect(boss.locator(".ag-conflict")).to_contain_text("anns note")
    boss.get_by_label("Note on the decision").fill("a link is missing")
    boss.locator(".ag-conflict").get_by_role("button", name="Insufficient").click()
    expect(boss.locator(".ag-message")).to_have_text("Decided: Insufficient.")
    held = app.store.adjudication(1)
    assert held is not None and (held.label, held.by, held.note) == ("insufficient", "boss", "a link is missing")
    expect(boss.locator(".ag-main")).to_contain_text("Nobody disagrees")
    ben.goto(f"{app.url}/agreement?item=1")
    expect(ben.locator(".ag-history")).to_contain_text("boss")
    expect(ben.locator("[data-do=decide]")).to_have_count(0)


def test_an_item_is_hidden_from_who_has_not_answered_it(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 2)
    page = enter("ann", "agreement?item=1")
    expect(page.locator(".ag-message")).to_contain_text("answer this item first")
    assert "zero-shot" not in page.inner_text("#agreement")


def test_reasons_by_key_and_undo_from_the_strip(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 4)
    page = enter("ann", "annotate")
    for number, press in enumerate("122", 1):
        key(page, "5")
        key(page, "9")
        key(page, press)
        expect(page.locator(".an-last li")).to_have_count(number)
        expect(page.locator(".an-chip[aria-pressed=true]")).to_have_count(0)
    assert {label.reason for label in app.store.last_labels("ann")} == {"wrong entity, other"}
    question = page.locator(".an-last li").last.locator(".an-again").inner_text()
    page.locator(".an-last li").last.get_by_role("button", name=re.compile("^Undo")).click()
    expect(page.locator(".an-question")).to_have_text(question)
    expect(page.locator(".an-chip[aria-pressed=true]")).to_have_count(2)
    expect(page.locator(".an-last li")).to_have_count(2)
    assert len(app.store.last_labels("ann")) == 2
    expect(page.locator(".an-session")).to_contain_text("This session: 2 labels")


def test_filters_are_kept_in_the_address(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 2)
    app.store.add_item(judge_item("Of MAPS?"), "import", method="maps", dataset="hotpot", round=2)
    page = enter("ann", "annotate")
    page.wait_for_selector(READY)
    page.locator(".an-queue > summary").click()
    page.get_by_label("Method").select_option("maps")
    expect(page.locator(".an-question")).to_have_text("Of MAPS?")
    expect(page.locator(".an-figures")).to_contain_text("0 of 1")
    page.locator("select[name=round]").select_option("7")
    expect(page.locator(".an-item")).to_contain_text("No item fits these filters")
    page.locator("select[name=round]").select_option("-1")
    expect(page.locator(".an-question")).to_have_text("Of MAPS?")
    page.get_by_label("Data set").select_option("hotpot")
    expect(page).to_have_url(re.compile("method=maps&dataset=hotpot"))
    page.reload()
    expect(page.locator(".an-question")).to_have_text("Of MAPS?")
    expect(page.locator(".an-queue-words")).to_contain_text("hotpot")
    key(page, "0")
    expect(page.locator(".an-message")).to_contain_text("Skipped")
    page.locator(".an-queue > summary").click()
    page.get_by_label("Show").select_option("skipped")
    expect(page.locator(".an-question")).to_have_text("Of MAPS?")


def test_guidelines_stand_beside_the_item_and_an_admin_edits_them(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 3)
    boss, ann = enter("boss", "annotate"), enter("ann", "annotate")
    key(boss, "g")
    expect(boss.locator(".an-guide")).to_contain_text("version 0")
    key(boss, "1")
    expect(boss.locator(".an-message")).to_contain_text("saved")
    expect(boss.locator(".an-guide")).to_be_visible()
    boss.locator(".an-edit summary").click()
    boss.locator(".an-edit textarea").fill("# Our rules\n\n- **one** <img src=x onerror=alert(1)>")
    boss.get_by_role("button", name="Save as a new version").click()
    expect(boss.locator(".an-guide")).to_contain_text("version 1 · boss")
    ann.reload()
    key(ann, "g")
    expect(ann.locator(".an-guide h2").nth(1)).to_have_text("Our rules")
    assert ann.locator(".an-guide img, .an-edit").count() == 0
    ann.keyboard.press("Escape")
    expect(ann.locator(".an-guide")).not_to_be_visible()


def test_a_calibration_round(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 2)
    boss = enter("boss", "agreement?item=1")
    boss.get_by_label("Explanation of the known answer").fill("both links stand there")
    boss.locator("[data-do=known][data-label=sufficient]").click()
    expect(boss.locator(".ag-message")).to_contain_text("calibration round now")
    ann = enter("ann", "annotate?show=calibration")
    key(ann, "2")
    expect(ann.locator(".an-message")).to_contain_text("wrong: known answer Sufficient")
    expect(ann.locator(".an-figures")).to_contain_text("accuracy 0%")
    boss.goto(f"{app.url}/agreement")
    expect(boss.locator(".ag-main")).to_contain_text("0% of 1")


def test_evidence_and_fork_of_an_answered_item(app: App, enter: Callable[..., Page]) -> None:
    gold = Gold(answers=("Budapest",))
    run = app.workbench.start_run(RunRequest(question="In which city was the director of the film Casablanca born?", method="trio", gold=gold))
    app.workbench.wait_run(run, 60)
    page = enter("boss", "annotate?order=oldest")
    key(page, "2")
    expect(page.locator(".an-message")).to_contain_text("saved")
    page.keyboard.press("v")
    page.locator(".an-reveal [data-do=evidence]").click()
    expect(page.locator(".an-samples")).to_contain_text("of 4 right")
    page.locator("[data-do=keep]").click()
    expect(page.locator(".an-message")).to_contain_text("Vote label of")
    assert sum(n for by_label in app.store.vote_counts().values() for n in by_label.values()) == 1
    page.locator(".an-reveal").get_by_role("button", name="go on").first.click()
    wait_end(page, 2)
    assert run in page.url
    expect(page.locator(".forked").first).to_contain_text("boss")


def test_a_fork_from_the_verdict_where_it_stands(app: App, enter: Callable[..., Page]) -> None:
    run = app.workbench.start_run(RunRequest(question="Who directed Casablanca?", method="trio"))
    app.workbench.wait_run(run, 60)
    page = enter("ann", f"?run={run}")
    wait_end(page)
    page.keyboard.press("f")
    page.locator(".fix[open]").get_by_role("button", name="stop here, answer").click()
    wait_end(page, 2)
    expect(page.locator(".sum .forked")).to_contain_text("ann says sufficient")


def test_the_agreement_page_fits_a_phone(app: App, enter: Callable[..., Page]) -> None:
    fill(app.store, 2)
    page = enter("boss", "agreement?item=1", viewport={"width": 390, "height": 844}, color_scheme="dark")
    expect(page.locator(".ag-history")).to_be_visible()
    assert no_sideways_scroll(page)
    page.goto(f"{app.url}/agreement")
    expect(page.locator(".ag-main")).to_contain_text("Nobody disagrees")
    assert no_sideways_scroll(page)
