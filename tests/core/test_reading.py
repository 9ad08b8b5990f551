"""Readers that several methods share: odd output in, a value or an honest failure out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_core.methods.reading import (
    first_sentence,
    marked_answer,
    read_action,
    read_fields,
    tagged_answer,
    thought_answer,
    yes_no,
)
from trio_core.values import Completion


def done(text: str, finish: str = "stop") -> Completion:
    return Completion(text=text, finish_reason=finish)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Bea Cole made it. So the answer is: Delft.", "Delft"),
        ("the answer is Delft", "Delft"),
        ('The answer to the question is "U.S."', "U.S."),
        ("The answer is A. No: the answer is **B**.", "B"),
        ("Answer is\nDelft", "Delft"),
        ("The answer is", ""),
        ("She was born in Delft.", None),
        ("", None),
    ],
)
def test_what_follows_the_marker(text: str, answer: str | None) -> None:
    assert marked_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("So the answer is Delft.", "Delft", "ok"),
        ("Delft, in Holland.", "Delft, in Holland", "repaired"),
        ("", "", "failed"),
        ("<think>the answer is X", "", "failed"),
        ("<think>x</think>The answer is: Delft", "Delft", "ok"),
        ("The answer is", "", "failed"),
    ],
)
def test_a_reasoned_answer(text: str, value: str, status: str) -> None:
    assert thought_answer(done(text))[:2] == (value, status)


@pytest.mark.parametrize(
    ("text", "whole", "plain"),
    [
        ("Dr. No is a film. It is old.", "Dr. No is a film.", "Dr."),
        ("It rose 3.5 points. Then fell.", "It rose 3.5 points.", "It rose 3."),
        ("He met J. Smith in the U.S. Army. Next.", "He met J. Smith in the U.S. Army.", "He met J."),
        ("1. First fact\nsecond", "First fact", "First fact"),
        ("", "", ""),
        ("No stop", "No stop", "No stop"),
        ("```\nIn code.\n```", "In code.", "In code."),
        ("He won in vitamin C.", "He won in vitamin C.", "He won in vitamin C."),
    ],
)
def test_the_first_sentence(text: str, whole: str, plain: str) -> None:
    assert (first_sentence(text), first_sentence(text, plain=True)) == (whole, plain)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("True", True),
        ("**False**", False),
        ("No, it is not.", False),
        ("maybe", None),
        ("", None),
        ("It is not true", False),
        ("Norway", None),
        ("<think>True</think> False", False),
        ("Hm\nyes.", True),
    ],
)
def test_true_or_false(text: str, value: bool | None) -> None:
    assert yes_no(text) is value


@pytest.mark.parametrize(
    "text",
    [
        "Answer: Delft\nSuccess: yes",
        '{"answer": "Delft", "success": "yes"}',
        '```json\n{"Answer": "Delft", "success": "yes", "more": 1}\n```',
        "**Answer:** Delft\n- success: yes",
        "<think>Answer: X</think>answer: Delft\nsuccess: yes",
    ],
)
def test_fields(text: str) -> None:
    assert read_fields(text, ("answer", "success")) == {"answer": "Delft", "success": "yes"}


def test_fields_that_are_not_there() -> None:
    assert read_fields("nothing of it", ("answer",)) == {} and read_fields('{"answer": [1', ("answer",)) == {}
    assert read_fields("answer: a\nb", ("answer",)) == {"answer": "a b"}


@pytest.mark.parametrize(
    ("text", "finish", "kind", "found", "status"),
    [
        ("I need it. <search>capital of France</search>", "stop", "search", "capital of France", "ok"),
        ("<search>capital of France", "stop", "search", "capital of France", "ok"),
        ("<search>capital of Fr", "length", "none", "", "failed"),
        ("<|begin_search_query|>x y<|end_search_query|> and so on", "stop", "search", "x y", "repaired"),
        ("<search> </search>", "stop", "none", "", "failed"),
        ("so \\boxed{\\text{Delft}}.", "stop", "answer", "Delft", "ok"),
        ("<answer>A</answer> no <answer>B</answer>", "stop", "answer", "B", "ok"),
        ("<answer>A", "stop", "none", "", "failed"),
        ("", "stop", "none", "", "failed"),
        ("just text", "stop", "none", "", "failed"),
        ("<think><search>no</search></think><answer>Delft</answer>", "stop", "answer", "Delft", "ok"),
        ("<think><search>half", "length", "none", "", "failed"),
    ],
)
def test_search_and_answer_tags(text: str, finish: str, kind: str, found: str, status: str) -> None:
    parsed = read_action(done(text, finish))
    assert (parsed.value.kind, parsed.value.text, parsed.status) == (kind, found, status)


def test_a_step_ends_with_its_search() -> None:
    assert read_action(done("First. <search> a  b </search> made up result")).value.step == "First. <search>a b</search>"
    assert tagged_answer("\\boxed{a{b}c}") == "a{b}c"


@given(st.text())
def test_no_text_makes_a_reader_fail(text: str) -> None:
    for finish in ("stop", "length"):
        read_action(done(text, finish))
        thought_answer(done(text, finish))
    first_sentence(text)
    first_sentence(text, plain=True)
    yes_no(text)
    read_fields(text, ("answer", "success"))
