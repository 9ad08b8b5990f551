"""Properties of the split that hold for any questions."""

from __future__ import annotations

from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.questions import are_near, near_groups, normalise, question_hash
from storage.split import assign_sides

questions = st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=25)
calm = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
labels = st.sampled_from(["sufficient", "insufficient"])


@calm
@given(questions)
def test_groups_are_what_comparing_all_pairs_gives(asked: list[str]) -> None:
    texts = [normalise(question) for question in asked]
    found = near_groups(texts)
    linked = list(range(len(texts)))
    for _ in texts:
        for i, j in combinations(range(len(texts)), 2):
            if are_near(frozenset(texts[i].split()), frozenset(texts[j].split())):
                linked[i] = linked[j] = min(linked[i], linked[j])
    assert found == linked


@calm
@given(st.dictionaries(questions.map(lambda q: normalise(q[0])), st.lists(labels, min_size=1, max_size=3), min_size=1),
       st.dictionaries(questions.map(lambda q: normalise(q[0])), st.sampled_from(["train", "held_out"])),
       st.floats(0, 1), st.integers())
def test_no_near_duplicates_on_two_sides_and_held_out_stays(rows: dict, earlier: dict, fraction: float, seed: int) -> None:
    sides = assign_sides(rows, earlier, fraction, seed).of
    assert set(sides) == set(rows)
    assert all(sides[question] == "held_out" for question in sides if earlier.get(question) == "held_out")
    for a, b in combinations(sides, 2):
        if are_near(frozenset(a.split()), frozenset(b.split())):
            assert sides[a] == sides[b]


@calm
@given(st.integers(2, 60), st.integers(0, 60), st.floats(0.05, 0.95), st.integers())
def test_shares_are_near_the_fraction_for_each_label(yes: int, no: int, fraction: float, seed: int) -> None:
    rows = {f"y{i}": ["sufficient"] for i in range(yes)} | {f"n{i}": ["insufficient"] for i in range(no)}
    sides = assign_sides(rows, {}, fraction, seed).of
    for prefix, n in (("y", yes), ("n", no)):
        held = sum(side == "held_out" for question, side in sides.items() if question.startswith(prefix))
        assert abs(held - fraction * n) <= 1


@calm
@given(st.integers())
def test_same_seed_same_split(seed: int) -> None:
    rows = {f"q{i}": ["sufficient"] for i in range(20)}
    assert assign_sides(rows, {}, 0.4, seed) == assign_sides(dict(reversed(rows.items())), {}, 0.4, seed)


def test_case_punctuation_and_width_do_not_make_a_new_question() -> None:
    assert len({question_hash(q) for q in ("Who wrote “It”?", "who  wrote it", "ＷＨＯ wrote it!")}) == 1
    assert question_hash("???") != question_hash("!!!")
