"""The rule behind profile `scripted` when no script file is given: deterministic, and it never runs out."""

from __future__ import annotations

import re

from trio_core.engines.scripted import Reply
from trio_core.values import LABEL_TEXT, ChatCall, TokenReading

_STOPWORDS = frozenset(re.findall(r"\w+", """
    a an and are did do does for from had has have how in is of on or that the this to was were what when where which who
    whom whose why will with
"""))

_ASPECTS = ("background", "people", "places")
_REASONED = "{title} bears on the question. So the answer is: {title}."
_SAID = {
    "generate": _REASONED, "generate_short": "{title}", "thought": _REASONED.partition(".")[0] + ".", "candidates": "(a) {title}, (b) unknown",
    "support": "The passages speak of {title}. DONE", "valid": "True", "rank": "1", "extract": "Final Information: {title} bears on the question.",
    "proponent": "The passages on {title} are enough.", "opponent": "A link is missing.\nQuery Expansion: {query}", "moderator": "Opponent",
    "answer_proponent": "{title}", "answer_opponent": "unknown", "define": "Type: look up\nTask: {query}", "solve": "Answer: {title}\nSuccess: yes",
    "respond": "{title}",
}
"""Replies of fixed form, with the first passage's title and a query put in."""


def rule(call: ChatCall) -> Reply:
    """A plausible reply for the roles of all methods; a short text for any other role."""
    text = "\n".join(message.content for message in call.messages)
    maker = {"query": _query, "judge": _judge, "answer": _answer, "plan": _plan, "directions": _directions, "sub_queries": _subqueries,
             "refine": _refine, "rewrite": _query, "decompose": _query, "disambiguate": _query, "reason": _step, "step": _step}.get(call.role)
    if maker:
        return maker(text)
    if call.role == "retrieve":
        return Reply(text="[Retrieval]", tokens=(TokenReading(text="[Retrieval]", logprob=-0.1),))
    said = _SAID.get(call.role, f"Scripted reply of role {call.role}.")
    return Reply(text=said.format(title=_first_title(text) or "unknown", query=_query(text).text), mean_logprob=-0.5)


def _query(text: str) -> Reply:
    # The pool's size goes into the query, so that a later round does not repeat an earlier one.
    return Reply(text=" ".join([*_keywords(_question(text))[:5], f"detail {_pool_size(text)}"]))


def _step(text: str) -> Reply:
    """A search first; an answer once there is a result."""
    if not re.search(r"<result>\w|<information>\s*(?:Query|Doc)|documents\|>\s*\(1\)", text):
        return Reply(text=f"A fact is missing. <search>{_query(text).text}</search>")
    found = re.search(r"<result>(.+?) bears", text)
    return Reply(text=f"That is enough. <answer>{found.group(1) if found else _first_title(text) or 'unknown'}</answer>")


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
