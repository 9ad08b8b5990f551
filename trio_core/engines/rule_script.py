"""The rule behind profile `scripted` when no script file is given: deterministic, and it never runs out."""

from __future__ import annotations

import re

from trio_core.engines.scripted import Reply
from trio_core.values import LABEL_TEXT, ChatCall

_STOPWORDS = frozenset(re.findall(r"\w+", """
    a an and are did do does for from had has have how in is of on or that the this to was were what when where which who
    whom whose why will with
"""))

_ASPECTS = ("background", "people", "places")


def rule(call: ChatCall) -> Reply:
    """A plausible reply for the roles of TRIO and MAPS; a short text for any other role."""
    text = "\n".join(message.content for message in call.messages)
    maker = {"query": _query, "judge": _judge, "answer": _answer, "plan": _plan, "directions": _directions,
             "sub_queries": _subqueries, "refine": _refine}.get(call.role)
    return maker(text) if maker else Reply(text=f"Scripted reply of role {call.role}.")


def _query(text: str) -> Reply:
    # The pool's size goes into the query, so that a later round does not repeat an earlier one.
    return Reply(text=" ".join([*_keywords(_question(text))[:5], f"detail {_pool_size(text)}"]))


def _judge(text: str) -> Reply:
    enough = _pool_size(text) >= 2
    return Reply(text=LABEL_TEXT["sufficient" if enough else "insufficient"], p_sufficient=0.83 if enough else 0.22)


def _answer(text: str) -> Reply:
    return Reply(text=_first_title(text) or "unknown")


def _plan(text: str) -> Reply:
    if re.search(r"\benough\b", text, re.I) and _known(text) >= 2:
        return Reply(text="ENOUGH")
    queries = _subqueries(text).text.splitlines()
    return Reply(text="\n".join(f"{aspect} -> {query}" for aspect, query in zip(_ASPECTS, queries, strict=True)))


def _directions(text: str) -> Reply:
    return Reply(text="\n".join(_ASPECTS))


def _subqueries(text: str) -> Reply:
    # What is known so far goes into the queries, so that a later round does not repeat an earlier one.
    words = " ".join(_keywords(_question(text))[:4]) or "topic"
    return Reply(text="\n".join(f"{words} {aspect} {_known(text) or ''}".strip() for aspect in _ASPECTS))


def _refine(text: str) -> Reply:
    title = _first_title(text) or "the passages"
    return Reply(text=f"Knowledge:\n- {title} is described in the passages.\nSummary: {title} bears on the question.")


def _question(text: str) -> str:
    """The last line that starts with `Question:`, else the last line with a question mark, else the last line."""
    named = re.findall(r"(?im)^\W*question\W*:\s*(.+)$", text)
    asked = [line for line in text.splitlines() if line.strip().endswith("?")]
    lines = text.strip().splitlines() or [""]
    return (named or asked or lines)[-1]


def _keywords(question: str) -> list[str]:
    return [word for word in re.findall(r"\w+", question) if word.lower() not in _STOPWORDS]


def _pool_size(text: str) -> int:
    """Number of queries in the pool, read from headings `Query n`."""
    return max((int(n) for n in re.findall(r"(?im)^\W*query\s+(\d{1,3})\b", text)), default=0)


def _known(text: str) -> int:
    """Facts in the knowledge so far: bullets before the instruction."""
    return len(re.findall(r"(?m)^- ", re.split(r"(?m)^Instruction:", text)[0]))


def _first_title(text: str) -> str:
    found = re.search(r"(?i)title\W*:\s*\"?([^\n\")]+)", text)
    return found.group(1).strip() if found else ""
