"""From a question on a page to runs in the hub."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from trio_core.demo import DemoQuestion, find, questions
from trio_core.errors import InputError
from trio_core.hub import check_question
from trio_core.methods import method_type
from trio_core.runs import RunRequest
from ui.context import UiContext

EXAMPLES = 6


def begin(ctx: UiContext, question: str, settings: Mapping[str, Mapping[str, Any]], who: str) -> list[str]:
    """Starts one run a method (`settings`: method -> overrides); their ids. Nothing starts unless all can."""
    text = check_question(question if isinstance(question, str) else "", ctx.settings.runs.question_chars)
    if not settings:
        raise InputError("no method is chosen; choose one")
    for method, overrides in settings.items():
        method_type(method)
        ctx.workbench.method_settings(method, dict(overrides))
    known = find(text) if ctx.settings.retriever.corpus == "demo" else None
    group = secrets.token_hex(6) if len(settings) > 1 else ""
    return [
        ctx.workbench.start_run(RunRequest(
            question=text, method=method, settings=dict(overrides), gold=known.gold if known else None,
            dataset="demo" if known else "", question_id=known.id if known else "", owner=who, group=group,
        ))
        for method, overrides in settings.items()
    ]


def examples() -> list[DemoQuestion]:
    """Six demo questions, as different in kind as there are."""
    chosen: list[DemoQuestion] = []
    kinds: set[tuple[str, bool]] = set()
    for question in questions():
        if (question.type, question.answerable) not in kinds:
            kinds.add((question.type, question.answerable))
            chosen.append(question)
    rest = [q for q in questions() if q not in chosen]
    return (chosen + rest[:: max(1, len(rest) // EXAMPLES)])[:EXAMPLES]


def board_value(path: str, ids: Sequence[str]) -> dict[str, Any]:
    """The value of a board that shows these runs, with the address that shows them again."""
    key = "run" if not path else "runs"
    return {"runs": list(ids), "url": f"./{path}?{key}={','.join(ids)}" if ids else ""}
