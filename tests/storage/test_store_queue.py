"""The queue: the right item first, never the same one to two people, nothing seen twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from store_helpers import Clock, add_items, give, judge_item, record, request, verdict

from storage import Store
from storage.annotation_values import QueueFilter


def queue_of(store: Store, order: str = "oldest", annotator: str = "ann", **only: Any) -> list[int]:
    """All items in the order in which they are offered."""
    seen: list[int] = []
    while (item := store.next_item(annotator, order, frozenset(seen), QueueFilter(**only))) is not None:
        seen.append(item.id)
    return seen


def test_uncertain_items_come_first_and_those_without_probability_last(store: Store) -> None:
    [plain] = add_items(store, 1)
    for question, p in (("far?", 0.95), ("near?", 0.45), ("middle?", 0.3)):
        record(store, question, p_sufficient=p)
    far, near, middle = range(plain + 1, plain + 4)
    assert queue_of(store, "uncertain") == [near, middle, far, plain]


def test_uncertainty_is_measured_from_the_judges_own_threshold(store: Store) -> None:
    record(store, "a?", p_sufficient=0.55, threshold=0.5)
    record(store, "b?", p_sufficient=0.8, threshold=0.81)
    assert queue_of(store, "uncertain") == [2, 1]


def test_oldest_first(store: Store, clock: Clock) -> None:
    items = []
    for i in range(3):
        clock.forward(1)
        items += add_items(store, i + 1)[i:]
    assert queue_of(store, "oldest") == items


def test_disagreement_counts_judges_people_and_gold(store: Store) -> None:
    agreed, by_gold, by_person, by_judge = add_items(store, 4)
    store.add_gold_label(by_gold, "sufficient", "rule")
    run_id = store.create_run(request())
    for i, (item, label) in enumerate([(agreed, "insufficient"), (by_gold, "insufficient"), (by_person, "insufficient"),
                                       (by_judge, "insufficient"), (by_judge, "sufficient")]):
        stored = store.item(item)
        assert stored
        store.append(run_id, verdict(i, stored.item, label=label))
    give(store, by_person, "sufficient", "bob")
    assert queue_of(store, "disagreement", overlap=2) == [by_gold, by_person, by_judge, agreed]


def test_labelled_and_skipped_items_do_not_return_but_withdrawn_ones_do(store: Store) -> None:
    one, two, three = add_items(store, 3)
    give(store, one)
    give(store, two, "skip")
    assert queue_of(store, "oldest") == [three]
    store.undo("ann")
    assert queue_of(store, "oldest") == [two, three]
    assert queue_of(store, "oldest", "bob") == []  # one is labelled, two and three are claimed by ann
    assert queue_of(store, "oldest", "bob", overlap=2) == queue_of(store, "oldest", "bob", overlap=None) == [one, two, three]


def test_claims_run_out_and_end_with_the_label(store: Store, clock: Clock) -> None:
    [item] = add_items(store, 1)
    assert store.next_item("ann").id == item
    assert store.next_item("ann").id == item, "a reload shows the same item"
    assert store.next_item("bob") is None
    clock.forward(301)
    assert store.next_item("bob").id == item
    assert store.next_item("ann") is None
    give(store, item, "skip", annotator="bob")
    assert store.next_item("ann").id == item


def test_many_annotators_at_once_get_different_items(store: Store) -> None:
    items = add_items(store, 12)
    with ThreadPoolExecutor(12) as pool:
        given = list(pool.map(lambda i: store.next_item(f"annotator {i}"), range(12)))
    assert sorted(item.id for item in given if item) == items


def test_items_show_what_the_judge_saw_even_after_the_corpus_changed(store: Store) -> None:
    record(store)
    shown = store.next_item("ann")
    assert shown and shown.item.messages == judge_item().messages and shown.item.pool[0].hits[0].passage.text == "Ann wrote it."
