"""Which rows are used: nothing is cut, nothing vanishes unnamed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.training.conftest import row, rows
from training.rows import (
    balanced_sample,
    class_weights,
    data_hash,
    kept_out,
    oversampled,
    read_rows,
    select,
    stratified_sample,
    write_rows,
)
from training.values import JobSettings


def test_long_rows_are_left_out_and_named() -> None:
    given = [*rows(6), *rows(4, "held_out", first=10)]
    tokens = {r.item_id: 2000 if r.item_id in (0, 1) else 100 for r in given}
    selection = select(given, tokens, JobSettings(max_tokens=1400))
    assert [r.item_id for r in selection.train] == [2, 3, 4, 5]
    assert [(d.item_id, d.label, d.tokens) for d in selection.dropped] == [(0, "insufficient", 2000), (1, "sufficient", 2000)]
    assert "1400" in selection.dropped[0].reason and selection.problems == []


def test_a_class_that_is_all_too_long_is_refused_by_name() -> None:
    # B7.01: with TRL's defaults every long `insufficient` row would vanish without a word.
    given = [*rows(8), *rows(4, "held_out", first=10)]
    tokens = {r.item_id: 1500 if r.label == "insufficient" and r.split == "train" else 100 for r in given}
    (problem,) = select(given, tokens, JobSettings(max_tokens=1400)).problems
    assert "all 4 training rows labelled insufficient" in problem and "0 (1500 tokens), 2 (1500 tokens)" in problem


def test_a_snapshot_without_a_class_is_refused() -> None:
    given = [row(n, "sufficient") for n in range(4)] + rows(4, "held_out", first=10)
    (problem,) = select(given, {r.item_id: 1 for r in given}, JobSettings()).problems
    assert "no training row labelled insufficient" in problem


def test_the_cap_balances_keeps_human_labels_and_follows_the_seed() -> None:
    given = [row(n, "sufficient") for n in range(4)] + [row(n, "insufficient") for n in range(4, 20)]
    given[19] = row(19, "insufficient", source="human")
    chosen = balanced_sample(given, 8, seed=1)
    assert Counter(r.label for r in chosen) == {"sufficient": 4, "insufficient": 4}
    assert 19 in {r.item_id for r in chosen}
    assert chosen == balanced_sample(list(reversed(given)), 8, seed=1)[::-1]
    assert chosen != balanced_sample(given, 8, seed=2)


def test_a_sample_of_held_out_rows_keeps_the_shares() -> None:
    given = [row(n, "sufficient" if n < 5 else "insufficient") for n in range(20)]
    assert Counter(r.label for r in stratified_sample(given, 8, 1)) == {"sufficient": 2, "insufficient": 6}


def test_rows_survive_their_file_and_the_hash_sees_labels(tmp_path) -> None:
    write_rows(tmp_path / "r.jsonl", rows(3))
    assert read_rows(tmp_path / "r.jsonl") == rows(3)
    assert data_hash(rows(3)) != data_hash([row(0, "sufficient"), *rows(3)[1:]])


@pytest.mark.parametrize(("label", "text"), [("sufficient", "Sufficient Information"), ("insufficient", "Insufficient Information")])
def test_a_row_trains_on_the_label_text_alone(label: str, text: str) -> None:
    conversation = row(1, label).conversation()
    assert conversation["completion"] == [{"role": "assistant", "content": text}]
    assert [m["role"] for m in conversation["prompt"]] == ["system", "user"]


def test_whole_questions_are_kept_out_for_the_threshold() -> None:
    found = [row(10 * q + part, "sufficient" if part else "insufficient").model_copy(update={"question": f"q{q}"})
             for q in range(8) for part in (0, 1)]
    kept = kept_out(found, 0.25, 13)
    assert len(kept) == 4 and len({r.question for r in kept}) == 2 and kept_out(found, 0.0, 13) == []


def test_the_rarer_label_is_repeated_evenly_or_weighs_more() -> None:
    found = [row(n, "sufficient" if n < 3 else "insufficient") for n in range(10)]
    again = Counter(r.item_id for r in oversampled(found, 13))
    assert sorted(again.values()) == [1] * 7 + [2, 2, 3] and sum(again[n] for n in range(3)) == 7
    weights = class_weights(found)
    assert weights == {"sufficient": pytest.approx(10 / 6), "insufficient": pytest.approx(10 / 14)}
    assert oversampled(found[3:], 13) == found[3:]
