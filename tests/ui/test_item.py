"""The Annotate page without a browser: renderers escape, and nothing of a verdict leaves before one's own answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from sqlalchemy import event

from storage import Store, open_store
from storage.annotation_values import VoteAnswer
from storage.values import LabelItem
from tests.ui.judging_helpers import EVIL, fill, judge_item, judged
from trio_core.errors import StoreError
from ui.annotating import QueueChoice, View, read_item, read_queue
from ui.pages.annotate_desk import Desk, told
from ui.render.item import comparison, item_body, p_bar
from ui.render.reveal import reveal


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


@pytest.fixture
def desk(store: Store) -> Desk:
    """Every item goes to everybody."""
    store.set_overlap(None, "boss")
    return Desk(store)


QUEUE = QueueChoice()


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
    payload = json.dumps(desk.open("ann", QUEUE).model_dump())
    for leak in ("judge-secret", "0.21", "21.4", "secret rule", "round 1", "judge disagreed", "gold:", "gold agrees"):
        assert leak not in payload
    assert desk.open("ann", QUEUE, item_id=1).reveal == ""


def test_after_the_answer_verdict_and_gold_are_shown(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.21)
    store.add_gold_label(1, "sufficient", "all links are there")
    after = give(desk, desk.open("ann", QUEUE))
    assert "judge disagreed (p 0.21)" in after.message and "gold agrees" in after.message
    assert "all links are there" in (after.reveal or "") and "zero-shot" in (after.reveal or "")
    again = desk.open("ann", QUEUE, item_id=1)
    assert again.value == "sufficient" and "This item" in (again.reveal or "")


def test_another_annotator_still_sees_nothing(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.21)
    give(desk, desk.open("ann", QUEUE))
    view = desk.open("ben", QUEUE)
    assert view.item_id == 1 and view.reveal == "" and view.value == "" and "0.21" not in json.dumps(view.model_dump())


def test_a_label_brings_the_next_item_and_is_blind_once(store: Store, desk: Desk) -> None:
    fill(store, 3)
    first = desk.open("ann", QUEUE)
    second = give(desk, first, "insufficient", note="why")
    assert second.item_id not in (None, first.item_id) and second.expected == 0 and second.note == ""
    give(desk, desk.open("ann", QUEUE, first.item_id), "sufficient")
    assert [(e.value, e.blind, e.milliseconds, e.note) for e in store.history(first.item_id or 0)] == [
        ("insufficient", True, 1500, "why"), ("sufficient", False, 1500, "")]


def test_an_item_opened_from_a_page_with_its_verdict_is_not_blind(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = desk.open("ann", QUEUE, 1, seen=True)
    give(desk, view, seen=view.seen)
    assert [e.blind for e in store.history(1)] == [False]


def test_the_same_form_twice_is_one_label(store: Store, desk: Desk) -> None:
    fill(store, 2)
    first = desk.open("ann", QUEUE)
    form = uuid.uuid4().hex
    give(desk, first, "sufficient", client_uuid=form)
    again = give(desk, first, "insufficient", client_uuid=form)
    assert "Sufficient" in again.message
    assert [e.value for e in store.history(first.item_id or 0)] == ["sufficient"]


def test_undo_withdraws_and_opens_the_item_again(store: Store, desk: Desk) -> None:
    fill(store, 2)
    first = desk.open("ann", QUEUE)
    give(desk, first, "insufficient", note="keep me")
    undone = desk.act("ann", {"kind": "undo"})
    assert undone.item_id == first.item_id and undone.note == "keep me" and undone.value == "" and undone.reveal == ""
    assert store.current_labels(first.item_id or 0) == []
    assert "Nothing to undo" in desk.act("ann", {"kind": "undo"}).message


def test_a_skip_undone_too_late_goes_on_with_the_next_item(store: Store, desk: Desk) -> None:
    fill(store, 2)
    store.set_overlap(1, "boss")
    first = desk.open("ann", QUEUE)
    second = give(desk, first, "skip")
    assert desk.open("ben", QUEUE).item_id == first.item_id
    undone = desk.act("ann", {"kind": "undo"})
    assert "Withdrawn" in undone.message and "Others have that item now" in undone.message
    assert (undone.item_id, undone.reviewing, undone.tone) == (second.item_id, False, "saved")
    assert [e.value for e in store.history(first.item_id or 0)] == ["skip", "withdrawn"]


def test_an_item_opened_by_hand_says_when_it_is_one_too_many(store: Store, desk: Desk) -> None:
    fill(store, 1)
    store.set_overlap(1, "boss")
    opened = desk.open("ann", QUEUE, 1)
    assert opened.message == "" and desk.open("ben", QUEUE).item_id is None, "it is ann's, as if the queue had given it"
    late = desk.open("ben", QUEUE, 1)
    assert "Others have this item, and it goes to one person" in late.message and late.item_id == 1
    assert "more than asked for" not in give(desk, opened).message
    assert desk.open("ann", QUEUE, 1).message == ""
    over = give(desk, late, who="ben")
    assert over.tone == "saved" and "one label more than asked for" in over.message


def test_an_act_is_two_transactions_of_few_statements(store: Store, desk: Desk) -> None:
    """What an act costs, without a clock: fifty people share one process."""
    items = [desk.open("ann", QUEUE) for _ in fill(store, 4)]
    view = give(desk, give(desk, items[0]))
    said: list[str] = []
    event.listen(store._engine, "before_cursor_execute", lambda conn, cursor, statement, *rest: said.append(statement))
    give(desk, view)
    assert sum(statement.startswith("BEGIN") for statement in said) == 2 and len(said) <= 28


def test_a_conflict_keeps_the_form_and_says_what_is_stored(store: Store, desk: Desk) -> None:
    fill(store, 1)
    old = desk.open("ann", QUEUE)
    give(desk, old, "sufficient")
    second = give(desk, old, "insufficient")
    assert not second.fresh and second.tone == "error" and second.value == "sufficient" and second.body is None
    assert "labelled in another window" in second.message
    retried = give(desk, old.model_copy(update={"expected": second.expected}), "insufficient")
    assert retried.tone == "saved" and [e.value for e in store.current_labels(1)] == ["insufficient"]


def test_a_note_that_is_too_long_changes_nothing(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = give(desk, desk.open("ann", QUEUE), note="x" * 10_001)
    assert not view.fresh and view.tone == "error" and "10,001 characters" in view.message and store.history(1) == []


def test_a_failing_store_is_told_and_escaped(store: Store, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 1)
    view = desk.open("ann", QUEUE)

    def fail(label: object) -> None:
        raise StoreError("disk full <b>")

    monkeypatch.setattr(store, "add_label", fail)
    after = give(desk, view)
    assert after.message == "Not saved: disk full &lt;b&gt;" and not after.fresh


@pytest.mark.parametrize("data", [{}, {"kind": "drop"}, {"kind": "label", "item_id": -1}, {"kind": "label", "value": "unparsed"},
                                  {"kind": "next", "queue": {"order": "x"}}, {"kind": "label", "reasons": ["because"]}, {"kind": "next", "queue": {"overlap": -1}}, {"kind": "open", "who": "ben"}, {"kind": "label", "item_id": 10**30}])
def test_made_up_requests_are_refused(desk: Desk, data: dict[str, Any]) -> None:
    assert "does not understand" in desk.act("ann", data).message


def test_an_unknown_item_is_named(store: Store, desk: Desk) -> None:
    fill(store, 1)
    view = desk.open("ann", QUEUE, 4711)
    assert "Item 4711 does not exist" in view.message and view.item_id == 1


def test_empty_states(store: Store, desk: Desk) -> None:
    assert "Make items from the demo questions" in (desk.open("ann", QUEUE).body or "")
    fill(store, 1)
    done = give(desk, desk.open("ann", QUEUE))
    assert "The queue is empty" in (done.body or "") and done.item_id is None


def test_empty_states_of_other_queues(store: Store, desk: Desk) -> None:
    for queue, words in ((QueueChoice(method="maps"), "No item fits"), (QueueChoice(show="skipped"), "Nothing skipped is left"),
                         (QueueChoice(show="calibration"), "There is no calibration round")):
        assert words in (desk.open("ann", queue).body or "")


def test_a_skip_tells_nothing_and_comes_back_blind(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.2137, judge="judge-secret")
    skipped = give(desk, desk.open("ann", QUEUE), "skip")
    again = desk.open("ann", QueueChoice(show="skipped"))
    assert again.item_id == 1 and again.value == "skip" and again.expected
    for view in (skipped, again):
        assert "judge-secret" not in view.model_dump_json() and "0.21" not in view.model_dump_json()
    give(desk, again)
    assert [(e.value, e.blind) for e in store.history(1)] == [("skip", True), ("sufficient", True)]


def test_others_are_shown_after_ones_own_answer_only(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.9)
    give(desk, desk.open("ben", QUEUE), "insufficient", who="ben", note="bens note", reasons=["other", "missing link"])
    before = desk.open("ann", QUEUE)
    assert "ben" not in before.model_dump_json(exclude={"filters"})
    after = give(desk, before)
    assert "ben disagreed" in after.message
    assert "missing link, other · “bens note”" in (after.reveal or "") and "disagrees" in (after.reveal or "")


def test_the_queue_gives_an_item_to_one_person_unless_asked_for_more(store: Store, desk: Desk) -> None:
    judged(store, judge_item(), 0.4)
    store.set_overlap(1, "boss")
    opened = give(desk, desk.open("ann", QUEUE))
    assert "one person, set by boss" in (desk.open("ann", QUEUE).filters or "") and opened.filters is None
    assert desk.open("ben", QUEUE).item_id is None
    said = desk.set_overlap("boss", 2, QUEUE)
    assert "two people now" in said.message and "two people an item" in (said.queue or "") and "data-rule" in (said.filters or "")
    assert desk.open("ben", QUEUE).item_id == 1 and "data-rule" not in (desk.open("ben", QUEUE).filters or "")


def test_the_data_set_is_a_choice_of_those_that_exist(store: Store, desk: Desk) -> None:
    for name in ("musique", "hotpot", EVIL, ""):
        store.add_item(judge_item(f"Of {name}?"), source="test", dataset=name)
    html = desk.open("ann", QueueChoice(dataset="gone")).filters or ""
    chosen = html.split('name="dataset"')[1].split("</select>")[0]
    values = [unescape(part.split('"')[0]) for part in chosen.split('<option value="')[1:]]
    assert values == ["", EVIL, "hotpot", "musique", "gone"] and "<img" not in html


def test_a_label_after_a_look_at_what_is_said_is_not_blind(store: Store, desk: Desk) -> None:
    first, second = fill(store, 2)
    store.note_shown([first], "boss")
    for who in ("boss", "ann"):
        for item in (first, second):
            give(desk, desk.open(who, QUEUE, item), who=who)
    assert [[label.blind for label in store.history(item)] for item in (first, second)] == [[False, True], [True, True]]


def test_filters_choose_the_items(store: Store, desk: Desk) -> None:
    judged(store, judge_item("Of TRIO?"), 0.4)
    other = store.add_item(judge_item("Of MAPS?"), "import", method="maps", dataset="hotpot", round=2)
    for queue in (QueueChoice(method="maps"), QueueChoice(dataset="hotpot"), QueueChoice(round=2)):
        view = desk.open("ann", queue)
        assert view.item_id == other and "0 of 1" in (view.progress or "")
    assert desk.open("ann", QueueChoice(judge="zero-shot")).item_id == 1


def test_any_of_the_last_answers_can_be_undone(store: Store, desk: Desk) -> None:
    fill(store, 3)
    first = desk.open("ann", QUEUE)
    give(desk, first, "insufficient", note="keep me", reasons=["other"])
    give(desk, desk.open("ann", QUEUE))
    oldest = desk.store.last_labels("ann")[-1]
    undone = desk.act("ann", {"kind": "undo", "label_id": oldest.id})
    assert (undone.item_id, undone.note, undone.reasons) == (first.item_id, "keep me", ("other",))
    assert [label.value for label in store.last_labels("ann")] == ["sufficient"]
    assert "not a label of" in desk.act("ben", {"kind": "undo", "label_id": oldest.id}).message


def test_a_calibration_round_tells_the_known_answer_and_the_accuracy(store: Store, desk: Desk) -> None:
    fill(store, 3)
    for item_id, label in ((1, "sufficient"), (2, "insufficient")):
        store.add_calibration_item(item_id, label, "boss", "because it is known")  # type: ignore[arg-type]
    assert desk.open("ann", QUEUE).item_id == 3, "the ordinary queue leaves them out"
    view = desk.open("ann", QueueChoice(show="calibration"))
    assert "calibration: 0 of 2" in (view.progress or "") and "because" not in view.model_dump_json()
    queue = {"show": "calibration"}
    after = give(desk, view, "sufficient", queue=queue)
    last = give(desk, after, "sufficient", queue=queue)
    assert {"right, as known" in v.message for v in (after, last)} == {True, False}
    assert "calibration: 2 of 2 · 1 right, accuracy 50%" in (last.progress or "") and "round is done" in (last.body or "")
    assert "because it is known" in (last.reveal or "")


def test_a_skip_counts_as_skipped_not_done(store: Store, desk: Desk) -> None:
    fill(store, 2)
    view = give(desk, desk.open("ann", QUEUE), "skip")
    assert "0 of 2 · you 0 · 1 skipped" in (view.progress or "")


def test_a_question_in_the_strip_is_escaped(store: Store, desk: Desk) -> None:
    judged(store, judge_item(EVIL), 0.4)
    view = give(desk, desk.open("ann", QUEUE), note=EVIL)
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


def test_reveal_escapes_judge_rule_and_people(store: Store, desk: Desk) -> None:
    judged(store, judge_item(EVIL), 0.4, judge=EVIL)
    store.add_gold_label(1, "sufficient", EVIL)
    give(desk, desk.open("ann", QUEUE))
    give(desk, desk.open(EVIL, QUEUE), "insufficient", who=EVIL, note=EVIL)
    store.add_vote_label(1, EVIL, [VoteAnswer(text=EVIL, n=2, right=True)], 1.0)
    store.adjudicate(1, "sufficient", EVIL, "form-0001", EVIL)
    store.add_calibration_item(1, "sufficient", EVIL, EVIL)
    item = stored_item(store, 1)
    everything = told(store, "ann", item, desk.mine("ann", item))
    for current in (True, False):
        html = reveal(everything, current)
        assert "<img" not in html and "<script" not in html and html.count("&lt;img") >= 7


@pytest.mark.parametrize(("query", "expected"), [
    ({}, QueueChoice()), ({"order": "oldest", "method": "maps", "round": "2", "overlap": "2", "show": "skipped"},
                          QueueChoice(order="oldest", method="maps", round=2, show="skipped")),
    ({"order": "<x>", "round": "٣", "show": "x", "judge": "j" * 200}, QueueChoice()), ({"judge": "judge-1"}, QueueChoice(judge="judge-1"))])
def test_the_address_is_read_with_care(query: dict[str, str], expected: QueueChoice) -> None:
    assert read_queue(query) == expected


def test_an_address_holds_the_queue() -> None:
    queue = QueueChoice(order="balance", dataset="a&b=c", round=3)
    assert read_queue(dict(parse_qsl(queue.query()))) == queue and QueueChoice().query() == ""


@pytest.mark.parametrize(("text", "item"), [("7", 7), ("", None), ("-1", None), ("٣", None), ("9" * 40, None), ("9" * 5000, None), ("0", None)])
def test_an_item_in_the_address(text: str, item: int | None) -> None:
    assert read_item(text) == item
