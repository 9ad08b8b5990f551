"""The Annotate page without a browser: renderers escape, and nothing of a verdict leaves before one's own answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage import Store, open_store
from storage.values import LabelItem
from tests.ui.judging_helpers import EVIL, fill, judge_item, judged
from trio_core.errors import StoreError
from ui.pages.annotate import address
from ui.pages.annotate_desk import Desk, View
from ui.render.item import comparison, item_body, p_bar, reveal


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


def give(desk: Desk, view: View, value: str = "sufficient", who: str = "ann", **more: Any) -> View:
    act = {"kind": "label", "item_id": view.item_id, "value": value, "client_uuid": uuid.uuid4().hex, "milliseconds": 1500,
           "expected": view.expected, **more}
    return desk.act(who, act)


def stored_item(store: Store, item_id: int) -> LabelItem:
    item = store.item(item_id)
    assert item is not None
    return item


def test_the_item_is_shown_in_full_and_escaped(store: Store) -> None:
    item_id = store.add_item(judge_item(EVIL, text="word " * 400 + EVIL, title=EVIL, query=EVIL + "?"), source="test")
    html = item_body(stored_item(store, item_id))
    assert "<img" not in html and "<script" not in html
    assert html.count("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;") >= 4
    assert html.count("word ") >= 400
    assert "Exact prompt <span>2 messages" in html


def test_an_item_without_passages_says_so(store: Store) -> None:
    bare = judge_item().model_copy(update={"pool": ()})
    assert "The judge saw no passage" in item_body(stored_item(store, store.add_item(bare, source="test")))


def test_the_query_that_is_the_question_is_named_so(store: Store) -> None:
    assert "the question itself" in item_body(stored_item(store, store.add_item(judge_item(), source="test")))


def test_nothing_of_the_verdict_is_in_the_payload_before_the_answer(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.2137, judge="judge-secret")
    store.add_gold_label(1, "sufficient", "secret rule")
    payload = json.dumps(desk.open("ann", "uncertain").model_dump())
    for leak in ("judge-secret", "0.21", "21.4", "secret rule", "round 1", "disagree", "gold:", "gold agrees"):
        assert leak not in payload
    assert desk.open("ann", "uncertain", item_id=1).reveal == ""


def test_after_the_answer_verdict_and_gold_are_shown(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.21)
    store.add_gold_label(1, "sufficient", "all links are there")
    after = give(desk, desk.open("ann", "uncertain"))
    assert "judge disagreed (p 0.21)" in after.message and "gold agrees" in after.message
    assert "all links are there" in (after.reveal or "") and "zero-shot" in (after.reveal or "")
    again = desk.open("ann", "uncertain", item_id=1)
    assert again.value == "sufficient" and "This item" in (again.reveal or "")


def test_another_annotator_still_sees_nothing(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.21)
    give(desk, desk.open("ann", "uncertain"))
    view = desk.open("ben", "uncertain")
    assert view.item_id == 1 and view.reveal == "" and view.value == "" and "0.21" not in json.dumps(view.model_dump())


def test_a_label_brings_the_next_item_and_is_blind_once(store: Store, desk: Desk) -> None:
    fill(store, 3)
    first = desk.open("ann", "uncertain")
    second = give(desk, first, "insufficient", note="why")
    assert second.item_id not in (None, first.item_id) and second.expected == 0 and second.note == ""
    give(desk, desk.open("ann", "uncertain", first.item_id), "sufficient")
    assert [(e.value, e.blind, e.milliseconds, e.note) for e in store.history(first.item_id or 0)] == [
        ("insufficient", True, 1500, "why"), ("sufficient", False, 1500, "")]


def test_an_item_opened_from_a_page_with_its_verdict_is_not_blind(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = desk.open("ann", "uncertain", 1, seen=True)
    give(desk, view, seen=view.seen)
    assert [e.blind for e in store.history(1)] == [False]


def test_the_same_form_twice_is_one_label(store: Store, desk: Desk) -> None:
    fill(store, 2)
    first = desk.open("ann", "uncertain")
    form = uuid.uuid4().hex
    give(desk, first, "sufficient", client_uuid=form)
    again = give(desk, first, "insufficient", client_uuid=form)
    assert "Sufficient" in again.message
    assert [e.value for e in store.history(first.item_id or 0)] == ["sufficient"]


def test_undo_withdraws_and_opens_the_item_again(store: Store, desk: Desk) -> None:
    fill(store, 2)
    first = desk.open("ann", "uncertain")
    give(desk, first, "insufficient", note="keep me")
    undone = desk.act("ann", {"kind": "undo"})
    assert undone.item_id == first.item_id and undone.note == "keep me" and undone.value == "" and undone.reveal == ""
    assert store.current_labels(first.item_id or 0) == []
    assert "Nothing to undo" in desk.act("ann", {"kind": "undo"}).message


def test_a_conflict_keeps_the_form_and_says_what_is_stored(store: Store, desk: Desk) -> None:
    fill(store, 1)
    old = desk.open("ann", "uncertain")
    give(desk, old, "sufficient")
    second = give(desk, old, "insufficient")
    assert not second.fresh and second.tone == "error" and second.value == "sufficient" and second.body is None
    assert "labelled in another window" in second.message
    retried = give(desk, old.model_copy(update={"expected": second.expected}), "insufficient")
    assert retried.tone == "saved" and [e.value for e in store.current_labels(1)] == ["insufficient"]


def test_a_note_that_is_too_long_changes_nothing(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = give(desk, desk.open("ann", "uncertain"), note="x" * 10_001)
    assert not view.fresh and view.tone == "error" and "10,001 characters" in view.message and store.history(1) == []


def test_a_failing_store_is_told_and_escaped(store: Store, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 1)
    view = desk.open("ann", "uncertain")

    def fail(label: object) -> None:
        raise StoreError("disk full <b>")

    monkeypatch.setattr(store, "add_label", fail)
    after = give(desk, view)
    assert after.message == "Not saved: disk full &lt;b&gt;" and not after.fresh


@pytest.mark.parametrize("data", [{}, {"kind": "drop"}, {"kind": "label", "item_id": -1}, {"kind": "label", "value": "unparsed"},
                                  {"kind": "next", "order": "x"}, {"kind": "open", "who": "ben"}, {"kind": "label", "item_id": 10**30}])
def test_made_up_requests_are_refused(desk: Desk, data: dict[str, Any]) -> None:
    assert "does not understand" in desk.act("ann", data).message


def test_an_unknown_item_is_named(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = desk.open("ann", "uncertain", 4711)
    assert "Item 4711 does not exist" in view.message and view.item_id == 1


def test_empty_states(store: Store, desk: Desk) -> None:
    assert "Make items from the demo questions" in (desk.open("ann", "uncertain").body or "")
    fill(store, 1)
    done = give(desk, desk.open("ann", "uncertain"))
    assert "The queue is empty" in (done.body or "") and done.item_id is None


def test_a_skip_counts_as_skipped_not_done(store: Store, desk: Desk) -> None:
    fill(store, 2)
    view = give(desk, desk.open("ann", "uncertain"), "skip")
    assert "0 of 2 · you 0 · 1 skipped" in (view.progress or "")


def test_a_question_in_the_strip_is_escaped(store: Store, desk: Desk) -> None:
    judged(store, judge_item(EVIL), 0.4)
    view = give(desk, desk.open("ann", "uncertain"), note=EVIL)
    assert "<img" not in json.dumps(view.model_dump())


@pytest.mark.parametrize(("value", "p", "words"), [
    ("sufficient", 0.83, "judge agrees (p 0.83)"), ("insufficient", 0.83, "judge disagreed (p 0.83)"),
    ("unsure", 0.21, "judge: Insufficient, p 0.21")])
def test_words_of_the_comparison(store: Store, value: str, p: float, words: str) -> None:
    assert comparison(value, store.verdicts_for(judged(store, judge_item(), p))) == words


def test_the_newest_verdict_is_compared(store: Store) -> None:
    judged(store, judge_item(), 0.2)
    item_id = judged(store, judge_item(), 0.9, judge="judge-1")
    assert comparison("sufficient", store.verdicts_for(item_id)) == "judge agrees (p 0.90)"


def test_no_verdict_is_no_agreement(store: Store) -> None:
    assert comparison("sufficient", []) == "no judge has seen this item"


def test_a_bar_stays_within_its_track() -> None:
    assert "width:100.0%" in p_bar(1.4, 0.5, "sufficient") and p_bar(None, 0.5, "sufficient") == '<span class="an-p">no probability</span>'


def test_reveal_escapes_judge_and_rule(store: Store, desk: Desk) -> None:
    judged(store, judge_item(EVIL), 0.4, judge=EVIL)
    store.add_gold_label(1, "sufficient", EVIL)
    give(desk, desk.open("ann", "uncertain"))
    html = reveal(store.current_labels(1)[0], store.verdicts_for(1), store.gold_label(1), stored_item(store, 1).sources, current=False)
    assert "<img" not in html and "&lt;img" in html


@pytest.mark.parametrize(("query", "expected"), [
    ({}, ("uncertain", None)), ({"item": "7", "order": "oldest"}, ("oldest", 7)), ({"item": "-1"}, ("uncertain", None)),
    ({"item": "٣"}, ("uncertain", None)), ({"item": "9" * 40, "order": "<x>"}, ("uncertain", None))])
def test_the_address_is_read_with_care(query: dict[str, str], expected: tuple[str, int | None]) -> None:
    assert address(query) == expected
