"""Snapshots: frozen, split by question, counted; exports differ only where a label did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store_helpers import add_items, give, judge_item, record

from storage import Store
from storage.values import SnapshotRequest
from trio_core.errors import StoreError


def labelled(store: Store, n: int, rounds: int = 1) -> list[int]:
    """Items of n questions, labelled in turn."""
    items = add_items(store, n, rounds)
    for i, item in enumerate(items):
        give(store, item, "sufficient" if i % 2 else "insufficient")
    return items


def sides(store: Store, snapshot_id: int) -> dict[str, set[str]]:
    """Question -> sides on which it stands."""
    found: dict[str, set[str]] = {}
    for row in store.snapshot_rows(snapshot_id):
        found.setdefault(row.question_hash, set()).add(row.split)
    return found


def test_question_is_never_on_two_sides(store: Store) -> None:
    labelled(store, 20, rounds=3)
    snapshot = store.create_snapshot(SnapshotRequest())
    assert all(len(on) == 1 for on in sides(store, snapshot.id).values())
    assert (snapshot.manifest.questions, snapshot.rows("train"), snapshot.rows("held_out")) == (
        {"train": 12, "held_out": 8}, 36, 24)


def test_near_duplicates_are_on_one_side(store: Store) -> None:
    for i in range(30):
        question = f"word{i} two three four five six seven eight nine"
        give(store, store.add_item(judge_item(question), "test"), "sufficient")
    for i in range(6):
        give(store, store.add_item(judge_item(f"something else {i}{i} a{i} b{i}"), "test"), "insufficient")
    snapshot = store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
    near = {row.split for row in store.snapshot_rows(snapshot.id) if "nine" in row.item.question}
    assert len(near) == 1


def test_export_has_one_row_for_a_label_corrected_twice(store: Store) -> None:
    [item] = add_items(store, 1)
    for value in ("sufficient", "insufficient", "sufficient"):
        give(store, item, value)
    snapshot = store.create_snapshot(SnapshotRequest())
    [row] = store.export_rows(snapshot.id, "train")
    assert {name: row[name] for name in ("prompt", "completion", "item_id", "label", "source")} == {
        "prompt": [{"role": "user", "content": "Text 0 of round 0.\nword0a word0b word0c?"}],
        "completion": [{"role": "assistant", "content": "Sufficient Information"}],
        "item_id": item, "label": "sufficient", "source": "human"}
    assert len(store.history(item)) == 3


def test_export_after_a_correction_differs_in_that_row_alone(store: Store, tmp_path: Path) -> None:
    items = labelled(store, 20)
    before = store.create_snapshot(SnapshotRequest())
    give(store, items[4], "sufficient")
    after = store.create_snapshot(SnapshotRequest())
    lines = []
    for snapshot in (before, after):
        texts = [store.write_jsonl(snapshot.id, split, tmp_path / f"{snapshot.id}-{split}.jsonl").read_text().splitlines()
                 for split in ("train", "held_out")]
        lines.append(texts[0] + texts[1])
    changed = [json.loads(new) for old, new in zip(*lines, strict=True) if old != new]
    assert [(row["item_id"], row["label"]) for row in changed] == [(items[4], "sufficient")]
    assert before.manifest.content_hash != after.manifest.content_hash
    assert sides(store, before.id) == sides(store, after.id)


def test_snapshot_stays_as_it_was(store: Store, tmp_path: Path) -> None:
    items = labelled(store, 4)
    snapshot = store.create_snapshot(SnapshotRequest())
    rows = store.snapshot_rows(snapshot.id)
    for item in items:
        give(store, item, "unsure")
    assert store.snapshot_rows(snapshot.id) == rows and store.snapshot(snapshot.id) == snapshot == store.snapshots()[0]
    path = store.write_jsonl(snapshot.id, "train", tmp_path / "deep" / "train.jsonl")
    assert json.loads(path.with_suffix(".manifest.json").read_text())["manifest"]["content_hash"] == snapshot.manifest.content_hash
    assert sorted(p.name for p in path.parent.iterdir()) == ["train.jsonl", "train.manifest.json"]


def test_held_out_questions_stay_held_out(store: Store) -> None:
    labelled(store, 10)
    first = sides(store, store.create_snapshot(SnapshotRequest()).id)
    for i in range(30):
        give(store, store.add_item(judge_item(f"new{i}a new{i}b new{i}c"), "test"), "sufficient" if i % 3 else "insufficient")
    for seed in (1, 2, 3):
        snapshot = store.create_snapshot(SnapshotRequest(seed=seed, held_out_fraction=0.4))
        later = sides(store, snapshot.id)
        assert {question: later[question] for question in first} == first
        assert snapshot.manifest.questions == {"train": 24, "held_out": 16}


def test_near_duplicate_of_a_held_out_question_is_held_out(store: Store) -> None:
    for i in range(4):
        words = " ".join(f"q{i}word{j}" for j in range(9))
        give(store, store.add_item(judge_item(words), "test"), "sufficient" if i % 2 else "insufficient")
    first = store.create_snapshot(SnapshotRequest(held_out_fraction=0.5))
    held = store.snapshot_rows(first.id, "held_out")[0]
    store.undo("ann")
    give(store, held.item_id, "skip")
    near = store.add_item(judge_item(held.item.question + " more"), "test")
    give(store, near)
    second = store.create_snapshot(SnapshotRequest(held_out_fraction=0.01))
    assert near in {row.item_id for row in store.snapshot_rows(second.id, "held_out")}


def test_training_questions_move_only_when_nothing_is_held_out(store: Store) -> None:
    labelled(store, 10)
    assert store.create_snapshot(SnapshotRequest(held_out_fraction=0)).manifest.questions == {"train": 10, "held_out": 0}
    second = store.create_snapshot(SnapshotRequest(held_out_fraction=0.4)).manifest
    assert (second.questions, second.moved_from_train) == ({"train": 6, "held_out": 4}, 4)
    assert store.create_snapshot(SnapshotRequest(held_out_fraction=0.8)).manifest.questions == second.questions


def test_resolution_and_reasons_of_drops(store: Store) -> None:
    human, majority, conflict, unsure, skip, gold, none = add_items(store, 7)
    for item in (human, conflict, skip, gold):
        store.add_gold_label(item, "sufficient", "rule")
    give(store, human, "insufficient")
    for name, value in (("ann", "sufficient"), ("bob", "insufficient"), ("cyd", "sufficient")):
        give(store, majority, value, name)
    give(store, conflict, "sufficient")
    give(store, conflict, "insufficient", "bob")
    give(store, unsure, "unsure")
    give(store, skip, "skip")
    snapshot = store.create_snapshot(SnapshotRequest(held_out_fraction=0))
    rows = {row.item_id: (row.label, row.source, row.annotators) for row in store.snapshot_rows(snapshot.id)}
    assert rows == {human: ("insufficient", "human", ("ann",)), majority: ("sufficient", "human", ("ann", "cyd")),
                    gold: ("sufficient", "gold", ())}
    assert snapshot.manifest.dropped == {"conflict": 1, "skip": 1, "unlabelled": 1, "unsure": 1}
    assert snapshot.manifest.counts["train"] == {"insufficient": {"human": 1}, "sufficient": {"human": 1, "gold": 1}}
    only_gold = store.create_snapshot(SnapshotRequest(held_out_fraction=0, sources=frozenset({"gold"})))
    assert {row.item_id for row in store.snapshot_rows(only_gold.id)} == {human, conflict, skip, gold}


def test_balance_and_cap_touch_training_rows_only_and_keep_peoples_labels(store: Store) -> None:
    items = add_items(store, 30)
    for i, item in enumerate(items):
        store.add_gold_label(item, "sufficient" if i % 3 == 0 else "insufficient", "rule")
    give(store, items[1], "insufficient")
    base = store.create_snapshot(SnapshotRequest())
    even = store.create_snapshot(SnapshotRequest(balance=True))
    assert {label: sum(n.values()) for label, n in even.manifest.counts["train"].items()} == {"sufficient": 6, "insufficient": 6}
    assert even.manifest.counts["held_out"] == base.manifest.counts["held_out"]
    assert even.manifest.dropped == {"balance": 6}
    capped = store.create_snapshot(SnapshotRequest(balance=True, max_rows=5))
    assert capped.rows("train") == 4 and capped.manifest.dropped == {"balance": 6, "max_rows": 8}
    one = store.create_snapshot(SnapshotRequest(max_rows=1))
    if items[1] not in {row.item_id for row in store.snapshot_rows(one.id, "held_out")}:
        assert [row.source for row in store.snapshot_rows(one.id, "train")] == ["human"]


def test_snapshot_of_nothing_says_what_is_missing(store: Store) -> None:
    record(store)
    with pytest.raises(StoreError, match="1 unlabelled"):
        store.create_snapshot(SnapshotRequest())
    with pytest.raises(StoreError, match="snapshot 3 does not exist"):
        store.snapshot_rows(3)


def test_history_file_has_every_event(store: Store, tmp_path: Path) -> None:
    [item] = add_items(store, 1)
    give(store, item)
    store.undo("ann")
    lines = store.write_history(tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["value"] for line in lines] == ["sufficient", "withdrawn"]


def test_export_to_an_impossible_place_is_a_store_error(store: Store, tmp_path: Path) -> None:
    labelled(store, 2)
    snapshot = store.create_snapshot(SnapshotRequest())
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        store.write_jsonl(snapshot.id, "train", tmp_path / "file" / "x.jsonl")
