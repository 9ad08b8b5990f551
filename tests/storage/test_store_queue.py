"""The queue: the right item first, never the same one to two people, nothing seen twice."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from store_helpers import Clock, add_items, give, judge_item, record, request, verdict

from storage import Store, open_store
from storage.annotation_values import QueueFilter, VoteAnswer
from storage.tables import StateRow


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


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_no_item_goes_over_its_overlap_whoever_races_for_the_last_place(url: str, overlap: int) -> None:
    stores = [open_store(url), open_store(url)]
    items = add_items(stores[0], 8)
    only = QueueFilter(overlap=overlap)

    def work(name: int) -> list[int]:
        own = stores[name % 2]
        done = []
        while (item := own.next_item(f"annotator {name}", only=only)) is not None:
            give(own, item.id, annotator=f"annotator {name}")
            done.append(item.id)
        return done

    with ThreadPoolExecutor(10) as pool:
        done = list(pool.map(work, range(10)))
    assert all(len(set(mine)) == len(mine) for mine in done)
    assert Counter(item for mine in done for item in mine) == dict.fromkeys(items, overlap)
    for store in stores:
        store.close()


def test_places_are_taken_by_labels_and_live_claims_but_not_by_skips(store: Store, clock: Clock) -> None:
    [item] = add_items(store, 1)
    two = QueueFilter(overlap=2)
    give(store, item, "unsure", "ann")
    give(store, item, "skip", "bob")
    assert store.next_item("cyd", only=two).id == item
    assert store.next_item("dan", only=two) is None
    assert store.label_counts("dan", two).pending == 1, "cyd may yet let go of it"
    clock.forward(301)
    assert store.next_item("dan", only=two).id == item
    give(store, item, annotator="dan")
    assert store.next_item("cyd", only=two) is None and store.label_counts("cyd", two).pending == 0


def test_a_withdrawn_skip_keeps_the_item_only_if_a_place_is_left(store: Store, clock: Clock) -> None:
    one, two = add_items(store, 2)
    for item in (one, two):
        assert store.next_item("ann").id == item
        give(store, item, "skip")
    assert store.next_item("bob").id == one, "a skip takes no place"
    for label in store.last_labels("ann"):
        assert store.withdraw(label.id, "ann").value == "withdrawn"
    assert not store.take(one, "ann") and store.take(two, "ann")
    assert queue_of(store) == [two] and queue_of(store, annotator="cyd") == []
    clock.forward(301)
    assert store.take(one, "ann"), "bob's claim ran out"
    assert queue_of(store, annotator="bob") == [two], "and so has ann's claim of the other"


def test_taking_an_item_asks_for_a_place_of_its_kind(store: Store) -> None:
    plain, known = add_items(store, 2)
    store.add_calibration_item(known, "sufficient", "boss")
    for item in (plain, known):
        give(store, item, annotator="bob")
    assert [store.take(item, "ann") for item in (plain, known, 4711)] == [False, True, False]
    store.set_overlap(2, "boss")
    assert store.take(plain, "ann") and not store.take(plain, "cyd"), "ann has the second place"
    store.set_overlap(None, "boss")
    assert store.take(plain, "cyd")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_item_goes_over_its_overlap_whatever_people_undo(url: str, seed: int) -> None:
    """Everybody answers what the queue gave or what an undo left them, at once and in two apps."""
    stores = [open_store(url), open_store(url)]
    items = add_items(stores[0], 12)

    def work(name: int) -> None:
        chance, own, who = random.Random(100 * seed + name), stores[name % 2], f"annotator {name}"
        item = own.next_item(who)
        for _ in range(30):
            if item is None or chance.random() < 0.3:
                undone = own.undo(who)
                kept = undone is not None and own.take(undone.item_id, who)
                item = own.item(undone.item_id) if undone and kept else own.next_item(who)
                continue
            give(own, item.id, chance.choice(["sufficient", "insufficient", "unsure", "skip", "skip"]), who)
            item = own.next_item(who)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    taken = Counter(label.item_id for label in stores[0].all_current_labels() if label.value != "skip")
    assert taken and set(taken) <= set(items) and set(taken.values()) == {1}
    for store in stores:
        store.close()


def test_skipped_items_return_to_their_annotator_only_when_asked_for(store: Store) -> None:
    items = add_items(store, 3)
    for item in items:
        give(store, item, "skip")
    assert store.next_item("ann") is None
    assert queue_of(store, skipped=True) == items
    give(store, items[0], "skip")
    assert queue_of(store, skipped=True) == [*items[1:], items[0]], "skipped again goes to the end"
    give(store, items[1], "sufficient")
    assert queue_of(store, skipped=True) == [items[2], items[0]]


def test_filters_by_sighting_and_judge(store: Store) -> None:
    one = store.add_item(judge_item("one?"), "batch", method="trio", dataset="hotpot", round=1)
    store.add_item(judge_item("one?"), "batch", method="maps", dataset="musique", round=2)
    two = store.add_item(judge_item("two?"), "file", method="maps", dataset="hotpot", round=1)
    record(store, "three?", judged_by="judge-7")
    three = two + 1
    for wanted, found in (({"methods": {"maps"}}, [one, two]), ({"datasets": {"hotpot"}}, [one, two]), ({"rounds": {2}}, [one]),
                          ({"methods": {"trio"}, "datasets": {"musique"}}, []), ({"sources": {"run"}}, [three]),
                          ({"judges": {"judge-7"}}, [three]), ({"judges": {"other"}}, []), ({}, [one, two, three])):
        assert queue_of(store, **wanted) == found, wanted
        counts = store.label_counts("ann", QueueFilter(**wanted))
        assert counts.items == counts.pending == len(found)


def test_balance_brings_the_class_with_fewer_labels_first(store: Store) -> None:
    items = add_items(store, 6)
    for item, label in zip(items, ["sufficient", "insufficient"] * 3, strict=True):
        store.add_gold_label(item, label, "rule")
    assert queue_of(store, "balance") == items
    give(store, items[0], "sufficient", "bob")
    assert queue_of(store, "balance")[:3] == items[1::2]
    for item in items[1:4:2]:
        give(store, item, "insufficient", "bob")
    assert queue_of(store, "balance")[:2] == items[2::2]


def test_adjudicated_items_and_items_that_only_votes_dispute(store: Store) -> None:
    settled, disputed, plain = add_items(store, 3)
    store.adjudicate(settled, "sufficient", "eve", "form")
    store.add_gold_label(disputed, "sufficient", "rule")
    store.add_vote_label(disputed, "small", [VoteAnswer(text="x", n=2, right=False)], 0.7)
    assert queue_of(store, "disagreement", overlap=None) == [disputed, plain]


def test_kept_state_is_what_the_facts_give(store: Store) -> None:
    """Random facts, and the state worked out in Python from what the store tells about each item."""
    chance = random.Random(7)
    items, run_id = add_items(store, 5), store.create_run(request())
    for step in range(150):
        item, name = chance.choice(items), chance.choice(["ann", "bob", "cyd"])
        label = chance.choice(["sufficient", "insufficient"])
        act = chance.randrange(7)
        if act < 3:
            give(store, item, chance.choice([label, "unsure", "skip"]), name)
        elif act == 3:
            store.undo(name)
        elif act == 4:
            stored = store.item(item)
            assert stored
            store.append(run_id, verdict(step, stored.item, label=chance.choice([label, "unparsed"]),
                                         p_sufficient=chance.choice([None, chance.random()])))
        elif act == 5:
            store.add_vote_label(item, name, [VoteAnswer(text="x", n=step + 1, right=label == "sufficient")], 0.7)
        elif store.adjudication(item) is not None:
            store.withdraw_adjudication(item, "eve", f"form {step}")
        elif chance.random() < 0.4:
            store.adjudicate(item, label, "eve", f"form {step}")
        if store.gold_label(item) is None and chance.random() < 0.05:
            store.add_gold_label(item, label, "rule")
    for item in items:
        row = store.read(lambda session, item=item: session.get_one(StateRow, item))
        assert (row.distance, row.guess, row.agreed, row.labels, row.verdict, row.policy) == expected_state(store, item)


def expected_state(store: Store, item: int) -> tuple[Any, ...]:
    labels = Counter(label.value for label in store.current_labels(item))
    verdicts, gold, held = store.verdicts_for(item), store.gold_label(item), store.adjudication(item)
    measured = [abs(v.p_sufficient - v.threshold) for v in verdicts if v.p_sufficient is not None]
    parsed = [v.label for v in verdicts if v.label != "unparsed"]
    said = {*parsed, *(vote.label for vote in store.vote_labels(item)), *labels, *([gold.label] if gold else [])}
    yes, no = labels["sufficient"], labels["insufficient"]
    people = ("sufficient" if yes > no else "insufficient" if no > yes else "conflict" if yes else "unsure" if labels["unsure"]
              else "skip" if labels["skip"] else "")
    policy = "" if yes + no == 0 else "conflict" if yes == no else "single" if yes + no == 1 else "majority"
    resolved = store.resolved(item)
    assert (held.label if held else people) == (resolved.label if resolved else "")
    return (pytest.approx(measured[-1] if measured else 2.0), gold.label if gold else (parsed or [""])[-1],
            held is not None or not {"sufficient", "insufficient"} <= said, yes + no + labels["unsure"],
            held.label if held else people, "adjudicated" if held else policy)


def test_only_the_figures_that_were_asked_for_are_counted(store: Store) -> None:
    one, two, three = add_items(store, 3)
    give(store, one)
    give(store, two, "skip")
    everything, some = store.label_counts("ann"), store.label_counts("ann", figures=("items", "mine"))
    assert (everything.items, everything.done, everything.skipped, everything.pending, everything.human) == (
        3, 1, 1, 1, {"sufficient": 1, "skip": 1})
    assert (some.items, some.done, some.skipped, some.pending, some.human) == (3, 1, 1, 0, {})


def test_items_show_what_the_judge_saw_even_after_the_corpus_changed(store: Store) -> None:
    record(store)
    shown = store.next_item("ann")
    assert shown and shown.item.messages == judge_item().messages and shown.item.pool[0].hits[0].passage.text == "Ann wrote it."
