"""Where labels went: into which snapshots and judges, and which still wait; heads and gates of judges."""

from __future__ import annotations

import pytest
from store_helpers import add_items, give

from storage import Store
from storage.values import SnapshotRequest
from trio_core.errors import StoreError


def test_a_label_is_followed_into_snapshots_and_judges(store: Store) -> None:
    items = add_items(store, 4)
    give(store, items[0], "sufficient")
    give(store, items[0], "sufficient", "bob")
    store.add_gold_label(items[1], "insufficient", "rule")
    first = store.create_snapshot(SnapshotRequest(held_out_fraction=0)).id
    store.add_judge_version("base", snapshot_id=first)
    store.add_judge_version("base", kind="threshold", parent="judge-1", threshold=0.3)
    assert store.loop_view().waiting == 1 and not store.where_went(items[0])[0].live
    store.promote("judge-2", "eve")
    give(store, items[2], "insufficient", "bob")
    [use] = store.where_went(items[0])
    assert (use.snapshot_id, use.split, use.label, use.source, use.live) == (first, "train", "sufficient", "human", True)
    assert use.annotators == ("ann", "bob")
    assert [(judge.name, judge.state) for judge in use.judges] == [("judge-1", "candidate")]
    view = store.loop_view()
    assert [loop.judge.name for loop in view.judges] == ["judge-2", "judge-1", "zero-shot"]
    assert (view.judges[1].rows, view.judges[1].annotators, view.judges[1].held_out) == ({"human": 1, "gold": 1}, {"ann": 1, "bob": 1}, 0)
    assert (view.judges[0].parent, view.judges[0].snapshot_id) == ("judge-1", None)
    assert (view.waiting, view.waiting_by) == (1, {"bob": 1})
    give(store, items[0], "insufficient")
    give(store, items[0], "insufficient", "bob")
    assert store.loop_view().waiting == 2, "a label that changed since has not been learned"
    assert store.where_went(items[3]) == []
    with pytest.raises(StoreError, match="does not exist"):
        store.where_went(99)


def test_heads_and_thresholds_name_the_judge_they_sit_on(store: Store) -> None:
    head = store.add_judge_version("base", kind="head", parent="zero-shot", head={"coefficients": [0.5, -1.0]}, gate={"passed": True})
    assert store.judge_version("judge-1") == head
    assert (head.kind, head.parent, head.head, head.gate) == ("head", "zero-shot", {"coefficients": [0.5, -1.0]}, {"passed": True})
    assert store.set_judge_gate("judge-1", {"passed": False}).gate == {"passed": False}
    for wrong in ({"kind": "head"}, {"kind": "head", "parent": "zero-shot"}, {"kind": "threshold"}, {"parent": "zero-shot"},
                  {"kind": "threshold", "parent": "zero-shot", "head": {}}):
        with pytest.raises(StoreError, match="need the name of the judge"):
            store.add_judge_version("base", **wrong)
    with pytest.raises(StoreError, match="'judge-9' does not exist"):
        store.add_judge_version("base", kind="threshold", parent="judge-9")
    store.promote("judge-1", "eve")
    with pytest.raises(StoreError, match="is live"):
        store.set_judge_gate("judge-1", {})
