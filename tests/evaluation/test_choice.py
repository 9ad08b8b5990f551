"""Which choice an answer names."""

from __future__ import annotations

import pytest

from trio_core.evaluation.choice import choice_accuracy, chosen

FOUR = ("acid", "acid rain", "10 eV", "A large dog")
YES = ("yes", "no", "maybe")


@pytest.mark.parametrize(("answer", "index"), [
    ("B", 1), ("(B)", 1), ("B.", 1), ("(C) 10 eV", 2), ("D) A large dog", 3), ("**B**", 1), ("The correct answer is (C).", 2), ("Answer: C", 2),
    ("First I thought the answer is A, but the answer is B", 1), ("It must be (B), clearly", 1), ("Both (A) and (B)", None), ("acid rain", 1),
    ("It is acid rain, of course", 1), ("it is acid", 0), ("10 eV", 2), ("a large dog", 3), ("A large dog", 3), ("E", None), ("", None), ("water", None),
    ("acid rain or 10 eV", None),
])
def test_letters_and_texts(answer: str, index: int | None) -> None:
    assert chosen(answer, FOUR) == index


@pytest.mark.parametrize(("answer", "index"), [("Yes", 0), ("no.", 1), ("Maybe", 2), ("Yes, it does.", 0), ("yes and no", None), ("Norway knows", None), ("I know nothing", None)])
def test_yes_no_maybe(answer: str, index: int | None) -> None:
    assert chosen(answer, YES) == index


def test_accuracy() -> None:
    assert choice_accuracy("(B)", FOUR, ("acid rain",)) == 1 and choice_accuracy("A", FOUR, ("acid rain",)) == 0 and choice_accuracy("", FOUR, ("acid",)) == 0
    assert choice_accuracy("B", ("same", "same"), ("same",)) == 1
