"""Adjudications win, votes follow the unanimity rule, guidelines have versions, known answers give an accuracy."""

from __future__ import annotations

import pytest
from store_helpers import Clock, add_items, give

from storage import Store
from storage.annotation_values import QueueFilter, VoteAnswer
from trio_core.errors import InputError, StoreError


def test_adjudicated_label_wins_until_it_is_withdrawn(store: Store) -> None:
    [item] = add_items(store, 1)
    assert store.resolved(item) is None
    for name, value in (("ann", "sufficient"), ("bob", "sufficient"), ("cyd", "insufficient")):
        give(store, item, value, name)
    assert (store.resolved(item).label, store.resolved(item).policy) == ("sufficient", "majority")
    first = store.adjudicate(item, "insufficient", "eve", "form", note="page 2 says so")
    assert store.adjudicate(item, "insufficient", "eve", "form") == first == store.adjudication(item)
    assert (store.resolved(item).label, store.resolved(item).policy) == ("insufficient", "adjudicated")
    assert store.label_counts().human == {"insufficient": 1} and store.label_counts().policies == {"adjudicated": 1}
    store.adjudicate(item, "unsure", "eve", "second form")
    assert store.resolved(item).label == "unsure"
    store.withdraw_adjudication(item, "eve", "third form")
    assert store.adjudication(item) is None and store.resolved(item).policy == "majority"
    assert [a.label for a in store.adjudications(item)] == ["insufficient", "unsure", "withdrawn"]
    with pytest.raises(StoreError, match="no adjudicated label"):
        store.withdraw_adjudication(item, "eve", "fourth form")
    assert store.withdraw_adjudication(item, "eve", "third form").label == "withdrawn"


def test_adjudication_of_an_item_without_labels_counts(store: Store) -> None:
    [item] = add_items(store, 1)
    store.adjudicate(item, "sufficient", "eve", "form")
    assert store.label_counts().human == {"sufficient": 1} and store.next_item("ann") is None
    with pytest.raises(InputError, match="needs a name"):
        store.adjudicate(item, "sufficient", "", "form 2")
    with pytest.raises(StoreError, match="item 9 does not exist"):
        store.adjudicate(9, "sufficient", "eve", "form 3")


def test_disagreement_queue_has_ties_first_and_pages(store: Store) -> None:
    majority, agreed, tie, settled, unsure = add_items(store, 5)
    for item, values in ((majority, "ssi"), (agreed, "ss"), (tie, "si"), (settled, "si"), (unsure, "su")):
        for name, value in zip(("ann", "bob", "cyd"), values, strict=False):
            give(store, item, {"s": "sufficient", "i": "insufficient", "u": "unsure"}[value], name)
    store.adjudicate(settled, "sufficient", "eve", "form")
    found, total = store.conflicts()
    assert ([c.item_id for c in found], total) == ([tie, majority], 2)
    assert found[0].labels == {"ann": "sufficient", "bob": "insufficient"} and "word2a" in found[0].question
    assert [c.item_id for c in store.conflicts(limit=1, offset=1)[0]] == [majority]


def test_any_own_label_can_be_withdrawn_once(store: Store) -> None:
    one, two = add_items(store, 2)
    first, second = give(store, one), give(store, two)
    gone = store.withdraw(first.id, "ann")
    assert (gone.item_id, gone.value, gone.supersedes) == (one, "withdrawn", first.id)
    assert store.withdraw(first.id, "ann") == gone == store.withdraw(gone.id, "ann")
    assert store.current_labels(one) == [] and store.current_labels(two) == [second]
    with pytest.raises(StoreError, match="not a label of 'bob'"):
        store.withdraw(second.id, "bob")
    give(store, two, "unsure")
    with pytest.raises(StoreError, match="was changed to 'unsure'"):
        store.withdraw(second.id, "ann")


@pytest.mark.parametrize(("right", "wrong", "label"), [(4, 0, "sufficient"), (0, 4, "insufficient"), (3, 1, "mixed")])
def test_votes_follow_the_unanimity_rule(store: Store, right: int, wrong: int, label: str) -> None:
    [item] = add_items(store, 1)
    answers = [VoteAnswer(text=text, n=n, right=ok) for text, n, ok in (("Ann", right, True), ("Bob", wrong, False)) if n]
    vote = store.add_vote_label(item, "small", answers, 0.7)
    assert (vote.label, vote.n_samples, vote.n_right, vote.answers) == (label, 4, right, tuple(answers))
    assert store.vote_labels(item) == [vote] and store.vote_counts() == {"small": {label: 1}}


def test_more_votes_replace_fewer_and_models_stand_side_by_side(store: Store, clock: Clock) -> None:
    [item] = add_items(store, 1)
    many = store.add_vote_label(item, "small", [VoteAnswer(text="Ann", n=16, right=True)], 0.7)
    assert store.add_vote_label(item, "small", [VoteAnswer(text="Bob", n=4, right=False)], 0.7) == many
    again = store.add_vote_label(item, "small", [VoteAnswer(text="Bob", n=16, right=False)], 0.7)
    clock.forward(1)
    other = store.add_vote_label(item, "large", [VoteAnswer(text="Ann", n=1, right=True)], 0.0)
    assert store.vote_labels(item) == [other, again]
    with pytest.raises(InputError, match="at least one answer"):
        store.add_vote_label(item, "small", [], 0.7)


def test_guidelines_have_versions_and_editors_do_not_overwrite_each_other(store: Store) -> None:
    assert store.guidelines() == []
    first = store.add_guideline("Read all of it.", "eve", based_on=0)
    assert store.add_guideline("Read all of it.", "eve") == first
    second = store.add_guideline("Read it twice.", "bob", based_on=1)
    assert [g.version for g in store.guidelines()] == [2, 1] and store.guidelines()[0] == second
    with pytest.raises(StoreError, match="changed to version 2 while you edited version 1"):
        store.add_guideline("Skim it.", "eve", based_on=1)
    with pytest.raises(InputError, match="need some text"):
        store.add_guideline("  ", "eve")


def test_calibration_items_come_only_when_asked_for_and_give_an_accuracy(store: Store) -> None:
    ordinary, one, two, three = add_items(store, 4)
    for item in (one, two, three):
        store.add_calibration_item(item, "sufficient", "eve", "it names her")
    rounds = QueueFilter(calibration=True)
    assert store.next_item("ann").id == ordinary and store.label_counts("ann").pending == 1
    for name in ("ann", "bob"):
        for value in ("sufficient", "unsure", "skip"):
            item = store.next_item(name, "oldest", only=rounds)
            give(store, item.id, value, name)
        assert store.next_item(name, only=rounds) is None
    [score] = store.calibration_scores("ann")
    assert (score.items, score.answered, score.right, score.accuracy) == (3, 2, 1, 0.5)
    assert score.confusion == {"sufficient": {"sufficient": 1, "unsure": 1}}
    assert [s.annotator for s in store.calibration_scores()] == ["ann", "bob"]
    store.add_calibration_item(two, "insufficient", "eve")
    assert [(c.item_id, c.label) for c in store.calibration_items()] == [(one, "sufficient"), (two, "insufficient"), (three, "sufficient")]
    store.remove_calibration_item(three)
    assert store.calibration_items(three) == []
    with pytest.raises(StoreError, match="no known answer"):
        store.remove_calibration_item(three)
