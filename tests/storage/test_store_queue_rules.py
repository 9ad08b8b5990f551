"""The overlap for everybody, who was shown what, and that a withdrawn label keeps its place."""

from __future__ import annotations

import pytest
from store_helpers import Clock, add_items, give, judge_item

from storage import Store
from storage.annotation_values import QueueFilter
from trio_core.errors import InputError


def test_one_person_an_item_until_somebody_says_otherwise(store: Store, clock: Clock) -> None:
    assert (store.queue_rule().overlap, store.queue_rule().created) == (1, None)
    for overlap in (3, None, 2):
        assert store.set_overlap(overlap, "boss") == store.queue_rule()
    assert (store.queue_rule().overlap, store.queue_rule().by, store.queue_rule().created) == (2, "boss", clock())


@pytest.mark.parametrize("overlap", [0, -1, 21])
def test_an_overlap_that_nobody_can_mean_is_refused(store: Store, overlap: int) -> None:
    with pytest.raises(InputError, match="choose 1 to 20, or everybody"):
        store.set_overlap(overlap, "boss")
    assert store.queue_rule().overlap == 1


def test_what_was_shown_is_noted_once_a_person(store: Store) -> None:
    one, two = add_items(store, 2)
    for _ in range(2):
        store.note_shown([one], "ann")
    store.note_shown([], "bob")
    assert [store.was_shown(item, who) for item in (one, two) for who in ("ann", "bob")] == [True, False, False, False]


def test_a_withdrawn_label_keeps_its_place_for_five_minutes(store: Store, clock: Clock) -> None:
    [item] = add_items(store, 1)
    give(store, item)
    store.undo("ann")
    assert store.next_item("bob") is None, "ann answers anew, and one person an item was asked for"
    clock.forward(301)
    assert store.next_item("bob").id == item


def test_data_sets_of_items(store: Store) -> None:
    for name in ("musique", "hotpot", "", "hotpot"):
        store.add_item(judge_item(f"{name}?"), "import", dataset=name)
    assert store.datasets() == ["hotpot", "musique"] and store.next_item("ann", only=QueueFilter(datasets=frozenset({"musique"}))) is not None
