"""Labels: append-only, once per form, undone by an event, and counted as what people said."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import pytest
from store_helpers import add_items, give, record

from storage import LabelConflict, Store
from storage.values import LabelCounts
from trio_core.errors import InputError, StoreError


def test_label_correct_correct_keeps_history_of_three(store: Store) -> None:
    [item] = add_items(store, 1)
    first = give(store, item, "sufficient", reason="misread", note="first")
    second = give(store, item, "insufficient", source="trace", blind=True, milliseconds=900)
    third = give(store, item, "sufficient")
    assert [label.supersedes for label in store.history(item)] == [None, first.id, second.id]
    assert store.current_labels(item) == [third] == store.all_current_labels()
    assert store.history(item) == [first, second, third]
    assert (second.source, second.blind, second.milliseconds, first.note) == ("trace", True, 900, "first")


def test_two_annotators_keep_their_own_labels(store: Store) -> None:
    [item] = add_items(store, 1)
    give(store, item, "sufficient", "ann")
    give(store, item, "insufficient", "bob")
    give(store, item, "unsure", "ann")
    assert [(label.annotator, label.value) for label in store.current_labels(item)] == [("bob", "insufficient"), ("ann", "unsure")]
    assert [label.annotator for label in store.history(item)] == ["ann", "bob", "ann"]


def test_same_form_twice_is_stored_once(store: Store) -> None:
    first_item, second_item = add_items(store, 2)
    first = give(store, first_item, client_uuid="form")
    assert give(store, first_item, client_uuid="form") == first
    assert len(store.history(first_item)) == 1
    with pytest.raises(StoreError, match="was used for item"):
        give(store, second_item, client_uuid="form")


def test_note_of_a_megabyte_is_refused_and_the_next_save_works(store: Store) -> None:
    [item] = add_items(store, 1)
    with pytest.raises(InputError, match="1,000,000 characters"):
        give(store, item, note="x" * 1_000_000)
    assert store.history(item) == []
    assert give(store, item, note="x" * 10_000).id in {label.id for label in store.history(item)}


@pytest.mark.parametrize("wrong", [{"annotator": ""}, {"annotator": "a" * 201}, {"client_uuid": ""}])
def test_labels_without_a_name_or_form_are_refused(store: Store, wrong: dict[str, str]) -> None:
    [item] = add_items(store, 1)
    with pytest.raises(InputError):
        give(store, item, **wrong)


def test_label_of_unknown_item_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="label item 7 does not exist"):
        give(store, 7)


def test_second_window_gets_a_conflict_with_the_current_label(store: Store) -> None:
    [item] = add_items(store, 1)
    first = give(store, item, "sufficient", expected=0)
    with pytest.raises(LabelConflict) as caught:
        give(store, item, "insufficient", expected=0)
    assert caught.value.current == first
    assert give(store, item, "insufficient", expected=first.id).supersedes == first.id
    store.undo("ann")
    assert give(store, item, "unsure", expected=0).value == "unsure"


def test_undo_withdraws_the_latest_and_then_the_one_before(store: Store) -> None:
    one, two = add_items(store, 2)
    give(store, one)
    give(store, two)
    give(store, two, annotator="bob")
    undone = store.undo("ann")
    assert undone and (undone.item_id, undone.value) == (two, "withdrawn")
    assert [label.annotator for label in store.current_labels(two)] == ["bob"]
    assert store.undo("ann").item_id == one
    assert store.undo("ann") is None
    assert [label.value for label in store.history(two)] == ["sufficient", "sufficient", "withdrawn"]


def test_last_labels_are_newest_first_with_their_questions(store: Store) -> None:
    items = add_items(store, 4)
    for item in items:
        give(store, item)
    assert [label.item_id for label in store.last_labels("ann", 3)] == items[:0:-1]
    assert store.last_labels("ann", 1)[0].question == "word3a word3b word3c?"
    assert store.last_labels("bob") == []


def test_machine_verdicts_are_no_progress(store: Store) -> None:
    for i in range(10):
        record(store, f"Question {i}?")
    assert store.label_counts("ann") == LabelCounts(items=10, machine={"insufficient": 10}, pending=10)
    give(store, 1, "skip")
    counts = store.label_counts("ann")
    assert (counts.done, counts.skipped, counts.pending, counts.human) == (0, 1, 9, {"skip": 1})


def test_majority_wins_and_a_tie_is_a_conflict(store: Store) -> None:
    cases = list(combinations_with_replacement(["sufficient", "insufficient", "unsure", "skip"], 3))
    expected: Counter[str] = Counter()
    for item, votes in zip(add_items(store, len(cases)), cases, strict=True):
        for annotator, value in zip("abc", votes, strict=True):
            give(store, item, value, annotator)
        yes, no = votes.count("sufficient"), votes.count("insufficient")
        undecided = "unsure" if "unsure" in votes else "skip"
        expected["sufficient" if yes > no else "insufficient" if no > yes else "conflict" if yes else undecided] += 1
    assert store.label_counts().human == expected


def test_gold_label_is_stored_once_and_never_changed(store: Store) -> None:
    [item] = add_items(store, 1)
    gold = store.add_gold_label(item, "sufficient", "all evidence passages are in the pool")
    assert store.add_gold_label(item, "sufficient", "said again") == gold == store.gold_label(item)
    with pytest.raises(StoreError, match="has the gold label"):
        store.add_gold_label(item, "insufficient", "other rule")
    assert store.label_counts().gold == {"sufficient": 1}


def test_item_from_the_same_place_is_added_once(store: Store) -> None:
    [item] = add_items(store, 1)
    assert add_items(store, 1) == [item]
    found = store.item(item)
    assert found and len(found.sources) == 1 and found.sources[0].run_id is None
    assert store.item(99) is None and store.item_by_hash("x") is None and store.gold_label(99) is None
