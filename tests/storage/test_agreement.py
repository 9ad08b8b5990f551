"""Kappa against scikit-learn, alpha against a published example and a brute-force oracle."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from store_helpers import add_items, give

from storage import Store
from storage.agreement import agreement, cohen, krippendorff
from storage.annotation_values import QueueFilter

values = st.sampled_from(["sufficient", "insufficient", "unsure"])


@given(st.lists(st.tuples(values, values), min_size=1, max_size=30))
def test_kappa_is_what_scikit_learn_says(pairs: list[tuple[str, str]]) -> None:
    kappa = cohen(Counter(pairs))
    if len({value for pair in pairs for value in pair}) == 1:
        assert kappa is None
    else:
        assert kappa == pytest.approx(cohen_kappa_score([a for a, _ in pairs], [b for _, b in pairs]), abs=1e-9)


def test_alpha_of_krippendorffs_example() -> None:
    """Four observers, twelve units, missing values; nominal alpha is .743 (Krippendorff 2011, part C)."""
    observers = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    rows = [observer.split() for observer in observers]
    alpha = krippendorff([value for value in unit if value != "."] for unit in zip(*rows, strict=True))
    assert (alpha.units, alpha.pairable) == (11, 40) and alpha.value == pytest.approx(0.743, abs=5e-4)


@given(st.lists(st.lists(values, max_size=5), max_size=12))
def test_alpha_is_one_minus_observed_over_expected_disagreement(units: list[list[str]]) -> None:
    alpha = krippendorff(units)
    paired = [unit for unit in units if len(unit) > 1]
    everything = [value for unit in paired for value in unit]
    assert (alpha.units, alpha.pairable) == (len(paired), len(everything))
    if len(set(everything)) < 2:
        assert alpha.value is None and alpha.reason
        return
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in paired) / len(everything)
    expected = sum(a != b for a, b in permutations(everything, 2)) / (len(everything) * (len(everything) - 1))
    assert alpha.value == pytest.approx(1 - observed / expected)


def test_undefined_figures_say_why() -> None:
    found = agreement({1: {"ann": "sufficient", "bob": "sufficient"}, 2: {"cyd": "insufficient"}})
    by_pair = {(pair.a, pair.b): pair for pair in found.pairs}
    assert list(by_pair) == list(combinations(("ann", "bob", "cyd"), 2))
    assert by_pair["ann", "bob"].kappa is None and "one value alone" in by_pair["ann", "bob"].reason
    assert by_pair["ann", "cyd"].n == 0 and "no item in common" in by_pair["ann", "cyd"].reason
    assert found.alpha.value is None and "'sufficient'" in found.alpha.reason
    assert "no item was labelled by two" in agreement({}).alpha.reason


def test_agreement_of_the_store_is_about_current_labels_of_a_filter(store: Store) -> None:
    items = add_items(store, 6)
    for item, (a, b) in zip(items, ["ss", "ii", "si", "ss", "us", "s-"], strict=True):
        for name, value in (("ann", a), ("bob", b)):
            if value != "-":
                give(store, item, "unsure", name)
                give(store, item, {"s": "sufficient", "i": "insufficient", "u": "unsure"}[value], name)
    give(store, items[5], "skip", "bob")
    found = store.agreement()
    [pair] = found.pairs
    assert (pair.n, pair.same, found.items) == (5, 3, 6)
    assert pair.table == {"insufficient": {"insufficient": 1}, "sufficient": {"insufficient": 1, "sufficient": 2},
                          "unsure": {"sufficient": 1}}
    assert pair.kappa == pytest.approx(cohen_kappa_score(["s", "i", "s", "s", "u"], ["s", "i", "i", "s", "s"]))
    assert store.agreement(QueueFilter(datasets=frozenset({"none"}))).items == 0


def test_progress_of_each_annotator(store: Store) -> None:
    items = add_items(store, 6)
    for n, item in enumerate(items):
        give(store, item, "unsure" if n == 5 else "sufficient", "ann", milliseconds=100 * (n + 1))
    for item, value in zip(items, ["sufficient", "insufficient", "skip"], strict=False):
        give(store, item, value, "bob")
    give(store, items[1], "insufficient", "cyd", milliseconds=700)
    store.adjudicate(items[3], "insufficient", "eve", "form")
    ann, bob, cyd = store.progress_by_annotator()
    assert (ann.labelled, ann.skipped, ann.unsure, ann.median_ms) == (6, 0, 1, 350)
    assert (ann.compared, ann.agreed, ann.agreement) == (3, 1, pytest.approx(1 / 3))
    assert (bob.labelled, bob.skipped, bob.median_ms, bob.compared, bob.agreed) == (2, 1, None, 2, 2)
    assert (cyd.annotator, cyd.median_ms, cyd.agreement) == ("cyd", 700, 1.0)
    give(store, items[0], "skip", "cyd")
    assert store.progress_by_annotator()[2].skipped == 1
