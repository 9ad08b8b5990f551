"""The event vocabulary reads back; what is unknown is refused; rounds are a view."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.core.helpers import method_of, run_method
from trio_core.events import event_from_json, event_to_json
from trio_core.trace import trace_of

NO = {"text": "Insufficient Information", "p_sufficient": 0.1}
YES = {"text": "Sufficient Information", "p_sufficient": 0.9}


async def test_every_event_of_a_run_reads_back() -> None:
    for event in await run_method(method_of("trio", {"judge": [NO, YES], "query": ["a b"], "answer": ["x"]})):
        assert event_from_json(event_to_json(event)) == event


@pytest.mark.parametrize("text", ['{"type":"party"}', '{"type":"round_started","round":1,"mood":"good"}', "{}", "nonsense"])
def test_what_is_unknown_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        event_from_json(text)


async def test_rounds_are_a_view_and_a_continued_run_drops_its_half_round() -> None:
    broken = {"judge": [NO], "query": [{"text": "Bea", "error": "EngineBroken"}]}
    first = [e for e in await run_method(method_of("trio", broken)) if e.type != "text_delta"]
    half = trace_of(first)
    assert [r.complete for r in half.rounds] == [True, False] and half.end is not None
    rest = await run_method(method_of("trio", {"judge": [YES], "query": ["Bea Cole"], "answer": ["Delft"]}), earlier=first)
    whole = trace_of(e for e in first + rest if e.type != "text_delta")
    assert [r.number for r in whole.rounds] == [1, 2] and all(r.complete for r in whole.rounds)
    assert whole.answer.answer == "Delft" and whole.resumed == 1
