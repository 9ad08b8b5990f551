"""Each analysis on runs whose figures are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.helpers import R, facts
from trio_core.analysis.gain import gain, last_with_new
from trio_core.analysis.groups import by_label, cautions
from trio_core.analysis.hidden import hidden_from, states
from trio_core.analysis.judging import judge_quality
from trio_core.analysis.repeats import kinds, repeats
from trio_core.analysis.similarity import to_gold, to_question
from trio_core.analysis.stopping import stopping
from trio_core.analysis.switches import switched
from trio_core.analysis.vectors import Vectors, gold_texts, trajectory

Q = "Who made it?"
TWO = (R(("maker of it",), ("a b",), "insufficient"), R(("birthplace",), ("b c",), "sufficient"))


class Axes:
    """An encoder whose vectors are known: a text is the axis of its first letter."""

    name = "axes"

    def encode_queries(self, queries: list[str], batch_size: int = 64) -> np.ndarray:
        return np.array([np.eye(200)[ord(q[0]) % 200] for q in queries])

    encode_passages = encode_queries


def test_stopping_counts_rounds_that_searched() -> None:
    plan_only = facts(
        (
            *TWO,
            R(
                ("again",),
            ),
        ),
        "r1",
    )
    (one,) = stopping([plan_only, facts(TWO[:1], "r2"), facts(TWO, "r3")])
    assert {n: (round(f.value or 0, 3), f.runs) for n, f in one.after.items()} == {1: (0.333, ("r2",)), 2: (0.667, ("r1", "r3"))}
    assert one.mean.value == pytest.approx(5 / 3) and stopping([]) == ()


def test_settings_that_differ_part_the_runs_of_a_method() -> None:
    runs = [facts(TWO, "a", max_extensions=1, top_k=5), facts(TWO, "b", max_extensions=3, top_k=5), facts(TWO, "c", method="maps")]
    assert list(by_label(runs)) == ["maps", "trio (max_extensions 1)", "trio (max_extensions 3)"]
    assert list(by_label(runs, leave_out=("max_extensions",))) == ["maps", "trio"]
    other = runs[0].model_copy(update={"corpus": "wiki"})
    assert "2 corpora (demo, wiki)" in cautions([*runs, other])[0] and cautions(runs) == ()


def test_switches_compare_values_of_one_setting() -> None:
    runs = [
        facts(TWO, f"{value}{n}", question_id=f"q{n}", em=em, fixed_rounds=value)
        for value, ems in ((None, (1.0, 1.0)), (1, (0.0, 1.0)), (3, (0.0, 0.0)))
        for n, em in enumerate(ems)
    ]
    (row,) = switched(runs, "fixed_rounds")
    assert {k: f.value for k, f in row.columns.items()} == {"flexible": 1.0, "1": 0.5, "3": 0.0} and row.same_questions
    assert row.columns["1"].runs == ("10", "11")
    more = facts(TWO, "x", question_id="q9", fixed_rounds=1)
    assert not switched([*runs, more], "fixed_rounds")[0].same_questions
    assert switched(runs[:2], "fixed_rounds") == () and switched(runs, "noise") == ()
    noisy = [facts(TWO, f"n{v}", question_id="q", noise=v) for v in (0, 1, 3)]
    assert list(switched(noisy, "noise")[0].columns) == ["none", "1", "3"]


def test_similarity_is_the_mean_over_pairs_then_over_runs() -> None:
    rounds = (R(("gold", "zebra"), ("g1", "x")), R(("gold",), ("g2",)))
    runs = [facts(rounds, "r1", gold="g1 g2"), facts(rounds[:1], "r2", gold="g1")]
    vectors, texts = Vectors(Axes()), {"r1": {"g1": "gold", "g2": "yes"}, "r2": {"g1": "gold"}}
    (curve,) = to_gold(runs, vectors, texts)
    assert [(p.value, p.n) for p in curve.points] == [(pytest.approx((0.25 + 0.5) / 2), 2), (pytest.approx(0.5), 1)]
    assert to_gold(runs, vectors, {}) == ()
    (near,) = to_question([facts((R((Q,), ("a",)), R(("other",), ("b",))), "r")], vectors)
    assert [p.value for p in near.points] == [1.0, 0.0]


def test_gold_texts_come_from_runs_of_the_same_corpus() -> None:
    found = facts((R(("x",), ("g1",)),), "r1", gold="g1 g2")
    other = facts((R(("x",), ("a",)),), "r2", gold="g1")
    elsewhere = other.model_copy(update={"id": "r3", "corpus": "wiki"})
    assert gold_texts([found, other, elsewhere], {("demo", "g2"): "two"}) == {
        "r1": {"g1": '"Tg1"\ntext of g1', "g2": "two"},
        "r2": {"g1": '"Tg1"\ntext of g1'},
        "r3": {},
    }


def test_a_trajectory_begins_with_the_first_query_that_is_not_the_question() -> None:
    run = facts((R((Q,), ("a",)), R(("alpha", "beta"), ("a", "b")), R(("gamma",), ("c",))), "r")
    path = trajectory(run, Vectors(Axes()))
    eye = np.eye(200)
    assert np.allclose(path, [eye[ord("W")], (eye[ord("a")] + eye[ord("b")]) / 2, eye[ord("g")]])


def test_hidden_and_visible_tokens() -> None:
    (view,) = hidden_from([facts(TWO, "r", method="maps", hidden=40)])
    assert (view.role, view.calls, view.visible.value, view.hidden.value) == ("query", 2, 150.0, 40.0)
    assert view.parts["passages"].value == 40.0 and view.parts["passages"].runs == ("r",)
    (state,) = states([facts(TWO, "r", hidden=40)])
    assert [p.value for p in state.carried.points] == [10.0, 20.0] and [p.value for p in state.hidden.points] == [40.0, 40.0]


def test_repeats_and_near_repeats() -> None:
    rounds = (
        R(("maker of the old clock tower",), ("a",)),
        R(("Maker of the old clock tower!",), ("a",)),
        R(("maker of old clock tower Delft", "something else"), ("b", "c")),
    )
    run = facts(rounds, "r")
    assert kinds(run) == [(1, "new"), (2, "same"), (3, "near"), (3, "new")]
    (group,) = repeats([run, facts(TWO, "s")])
    assert group.runs_with.runs == ("r",) and group.runs_with.value == 0.5
    assert (group.rounds[2].near.n, group.rounds[2].queries, group.rounds[1].same.value) == (1, 2, 0.5)


def test_marginal_evidence() -> None:
    rounds = (R(("one",), ("a g1",)), R(("two",), ("a b",)), R(("three",), ("a b",)))
    run = facts(rounds, "r", gold="g1 g2")
    assert (last_with_new(run), last_with_new(run, gold=True)) == (2, 1)
    (group,) = gain([run])
    assert [p.value for p in group.new.points] == [2.0, 1.0, 0.0] and [p.value for p in group.new_gold.points] == [1.0, 0.0, 0.0]
    assert list(group.last_new) == [2] and group.idle.value == 1.0 and group.idle_gold.value == 2.0
    assert list(gain([facts((R(("one",), ("a",)),), "s", gold="g9")])[0].last_gold) == [0]


@pytest.mark.parametrize(
    ("verdicts", "outcome", "cases"),
    [
        (("insufficient", "sufficient", ""), "right", {"go_on_right": 1, "stop_right": 1}),
        (("sufficient", "", ""), "too_early", {"too_early": 1}),
        (("insufficient", "insufficient", "sufficient"), "too_late", {"go_on_right": 1, "too_late": 1, "stop_right": 1}),
        (("insufficient", "insufficient", "insufficient"), "too_late", {"go_on_right": 1, "too_late": 2}),
        (("insufficient", "unparsed", "sufficient"), "too_late", {"go_on_right": 1, "unparsed": 1, "stop_right": 1}),
        (("insufficient", "", ""), "never_complete", {"go_on_right": 1}),
    ],
)
def test_judge_against_evidence(verdicts: tuple[str, ...], outcome: str, cases: dict[str, int]) -> None:
    found = ("g1", "g2", "x")
    run = facts([R((f"query {n}",), (found[n],), v) for n, v in enumerate(verdicts)], "r", gold="g1 g2", em=0.0)
    (quality,) = judge_quality([run])
    assert {o.outcome: o.wrong.n for o in quality.outcomes if o.all.n} == {outcome: 1} and not any(o.right.n for o in quality.outcomes)
    counted: dict[str, int] = {}
    for part in quality.rounds:
        for case, figure in part.cases.items():
            counted[case] = counted.get(case, 0) + figure.n
    assert {k: n for k, n in counted.items() if n} == cases


def test_a_shadow_judge_is_kept_apart_and_no_gold_is_no_verdict() -> None:
    deciding, shadow = facts(TWO, "a", gold="a b"), facts(TWO, "b", gold="a b", deciding=False)
    assert [(q.deciding, q.verdicts, q.agreement) for q in judge_quality([deciding, shadow])] == [(True, 2, 0.5), (False, 2, 0.5)]
    assert judge_quality([facts(TWO, "c")]) == ()
