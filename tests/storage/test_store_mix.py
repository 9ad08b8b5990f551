"""The mix of a snapshot: which sources, which kinds of human labels, how many of each, and how much they weigh."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import update
from store_helpers import Clock, add_items, give, record

from storage import Store
from storage.annotation_values import VoteAnswer
from storage.tables import DatasetRow
from storage.values import SnapshotRequest

ALL_TRAIN = {"held_out_fraction": 0.0}


def vote(store: Store, item: int, right: int, wrong: int, model: str = "small") -> None:
    store.add_vote_label(item, model, [VoteAnswer(text=text, n=n, right=ok) for text, n, ok in
                                       (("yes", right, True), ("no", wrong, False)) if n], 0.7)


def test_votes_are_a_source_of_their_own_and_mixed_ones_are_dropped(store: Store) -> None:
    right, wrong, mixed, disputed, human, gold = add_items(store, 6)
    vote(store, right, 4, 0)
    vote(store, right, 4, 0, "large")
    vote(store, wrong, 0, 4)
    vote(store, mixed, 2, 2)
    vote(store, disputed, 4, 0)
    vote(store, disputed, 0, 4, "large")
    vote(store, human, 4, 0)
    give(store, human, "insufficient")
    for item in (right, mixed, gold):
        store.add_gold_label(item, "insufficient", "rule")
    snapshot = store.create_snapshot(SnapshotRequest(sources={"human", "votes", "gold"}, **ALL_TRAIN))
    rows = {row.item_id: (row.label, row.source, row.answer_models) for row in store.snapshot_rows(snapshot.id)}
    assert rows == {right: ("sufficient", "votes", ("large", "small")), wrong: ("insufficient", "votes", ("small",)),
                    human: ("insufficient", "human", ()), gold: ("insufficient", "gold", ())}
    assert snapshot.manifest.dropped == {"mixed": 1, "vote_conflict": 1}
    assert snapshot.manifest.vote_models == {"large": 1, "small": 2}
    small = store.create_snapshot(SnapshotRequest(sources={"votes"}, vote_models={"small"}, **ALL_TRAIN))
    assert {row.item_id for row in store.snapshot_rows(small.id)} == {right, wrong, disputed, human}


def test_kinds_of_human_labels_are_told_by_the_verdict_before_them(store: Store, clock: Clock) -> None:
    for i in range(3):
        record(store, f"word{i}a word{i}b?", label="insufficient")
    [unjudged] = add_items(store, 1)
    clock.forward(1)
    give(store, 1, "sufficient")
    give(store, 2, "insufficient")
    give(store, unjudged, "sufficient")
    clock.forward(1)
    record(store, "word0a word0b?", label="sufficient")  # a better judge says later what ann said
    kinds = {row.item_id: row.kind for row in store.snapshot_rows(store.create_snapshot(SnapshotRequest(**ALL_TRAIN)).id)}
    assert kinds == {1: "correction", 2: "agreement", unjudged: "unjudged"}
    some = store.create_snapshot(SnapshotRequest(human_kinds={"correction"}, **ALL_TRAIN))
    assert [row.item_id for row in store.snapshot_rows(some.id)] == [1]
    assert some.manifest.kinds == {"train": {"correction": 1}}
    assert some.manifest.dropped == {"agreement": 1, "unjudged": 1, "unlabelled": 1}


def test_adjudicated_labels_are_human_labels_of_the_adjudicator(store: Store) -> None:
    one, two = add_items(store, 2)
    give(store, one, "sufficient", "ann")
    give(store, one, "insufficient", "bob")
    store.adjudicate(one, "insufficient", "eve", "form")
    store.adjudicate(two, "unsure", "eve", "form 2")
    snapshot = store.create_snapshot(SnapshotRequest(**ALL_TRAIN))
    [row] = store.snapshot_rows(snapshot.id)
    assert (row.label, row.annotators, snapshot.manifest.dropped) == ("insufficient", ("eve",), {"unsure": 1})


def test_caps_and_kinds_leave_the_held_out_side_alone(store: Store) -> None:
    items = add_items(store, 20)
    for i, item in enumerate(items):
        store.add_gold_label(item, "sufficient" if i % 2 else "insufficient", "rule")
    for item in items[:5]:
        give(store, item, "sufficient")
    base = store.create_snapshot(SnapshotRequest())
    capped = store.create_snapshot(SnapshotRequest(caps={"gold": 2, "human": 1}, human_kinds={"unjudged"}))
    assert capped.manifest.counts["held_out"] == base.manifest.counts["held_out"]
    by_source = {source: sum(by.get(source, 0) for by in capped.manifest.counts["train"].values()) for source in ("human", "gold")}
    assert by_source["gold"] == 2 and by_source["human"] <= 1
    assert capped.manifest.dropped["cap_gold"] + 2 == sum(by.get("gold", 0) for by in base.manifest.counts["train"].values())


def test_weights_of_sources_and_classes(store: Store) -> None:
    items = add_items(store, 10)
    for i, item in enumerate(items):
        store.add_gold_label(item, "sufficient" if i < 2 else "insufficient", "rule")
    give(store, items[2], "insufficient")
    snapshot = store.create_snapshot(SnapshotRequest(weights={"human": 3.0}, class_weights=True, **ALL_TRAIN))
    rows = store.snapshot_rows(snapshot.id)
    mass = {label: sum(row.weight for row in rows if row.label == label) for label in ("sufficient", "insufficient")}
    assert mass["sufficient"] == pytest.approx(mass["insufficient"]) == pytest.approx((2 + 3 + 7) / 2)
    by_item = {row.item_id: row.weight for row in rows}
    assert by_item[items[2]] == pytest.approx(3 * by_item[items[3]])
    plain = store.create_snapshot(SnapshotRequest())
    assert {row.weight for row in store.snapshot_rows(plain.id)} == {1.0}


def test_snapshots_of_older_versions_still_load(store: Store) -> None:
    give(store, add_items(store, 1)[0])
    store.add_guideline("Read all of it.", "eve")
    snapshot = store.create_snapshot(SnapshotRequest(**ALL_TRAIN))
    assert snapshot.manifest.guideline == 1
    old = {"request": json.dumps({"held_out_fraction": 0.4, "seed": 13, "max_rows": None, "sources": ["human", "gold"], "balance": True}),
           "manifest": json.dumps({"counts": {"train": {"sufficient": {"human": 1}}, "held_out": {}}, "questions": {"train": 1},
                                   "dropped": {}, "moved_from_train": 0, "annotators": ["ann"], "content_hash": "x"})}
    store.write(lambda session: session.execute(update(DatasetRow).values(**old)))
    loaded = store.snapshot(snapshot.id)
    assert loaded.request.balance and loaded.request.human_kinds == {"correction", "agreement", "unjudged"}
    assert loaded.manifest.kinds == {} and store.snapshot_rows(snapshot.id)[0].weight == 1.0
