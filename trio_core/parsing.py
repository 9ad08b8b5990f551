"""Model output to values: pure functions that never raise. Each says how it read the text (`ok`, `repaired`, `failed`).

Only the model's own turn is read: nothing here sees the prompt, so a verdict word inside a passage can't be taken for a
verdict. Reasoning is cut off first (`<think>…</think>`, also without its opening tag).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from trio_core.values import VerdictLabel

T = TypeVar("T")
ParseStatus = Literal["ok", "repaired", "failed"]


class Parsed(NamedTuple, Generic[T]):
    """A value read from text, how well that went, and what was mended."""

    value: T
    status: ParseStatus = "ok"
    note: str = ""


_FENCE = re.compile(r"^```[\w-]*\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):]|\d{1,2}\s+-)\s+")
_LEAD = re.compile(r"^(?:new |search |sub-?)?(?:query|question|keywords?)\s*\d*\s*[:=-]\s*", re.IGNORECASE)
_QUOTE_PAIRS = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("«", "»"), ("[", "]"), ("**", "**"))


def visible_text(text: str) -> Parsed[str]:
    """The text after any reasoning. An unclosed `<think>` leaves nothing (`failed`): the output was cut inside it."""
    if "</think>" in text:
        return Parsed(text.rsplit("</think>", 1)[1].strip(), "ok")
    if "<think>" in text:
        return Parsed("", "failed", "cut inside the reasoning, before any answer")
    return Parsed(text.strip())


def lines_of(text: str) -> list[str]:
    """Non-empty lines without code fences."""
    return [line.strip() for line in text.splitlines() if line.strip() and not _FENCE.match(line.strip())]


def unquote(text: str) -> str:
    """Removes matching quotes, brackets or bold marks around the whole text, however many layers."""
    text = text.strip()
    for left, right in _QUOTE_PAIRS:
        if len(text) >= len(left) + len(right) and text.startswith(left) and text.endswith(right):
            return unquote(text[len(left) : len(text) - len(right)])
    return text


def clean_query(line: str) -> str:
    """One line of a model as a search query: no bullet, label, quotes or surplus white space."""
    text = _LEAD.sub("", unquote(_BULLET.sub("", line)))
    return " ".join(unquote(text).split())


def same_query(a: str, b: str) -> bool:
    """True for two queries that differ only in case, punctuation or white space."""
    return query_key(a) == query_key(b)


def query_key(text: str) -> str:
    """What `same_query` compares."""
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


def parse_query(text: str, max_words: int = 16) -> Parsed[str]:
    """TRIO's query agent: the first query of the output; several or over-long ones are mended and noted."""
    found = parse_queries(text, max_words)
    if not found.value:
        return Parsed("", "failed", found.note or "no query in the output")
    notes = [found.note] if found.note else []
    if len(found.value) > 1:
        notes.append(f"{len(found.value)} queries written, the first taken")
    return Parsed(found.value[0], "repaired" if notes else found.status, "; ".join(notes))


def parse_queries(text: str, max_words: int = 16, limit: int = 10) -> Parsed[list[str]]:
    """A list of queries: lines, numbered or bulleted items, or a JSON list of strings."""
    shown = visible_text(text)
    items = _json_strings(shown.value) or [clean_query(line) for line in lines_of(shown.value)]
    queries: list[str] = []
    notes: list[str] = [shown.note] if shown.note else []
    for item in items:
        words = item.split()
        if not words or not re.search(r"\w", item):
            continue
        if len(words) > max_words:
            notes.append(f"cut from {len(words)} to {max_words} words")
            item = " ".join(words[:max_words])
        if not any(same_query(item, q) for q in queries):
            queries.append(item)
    if not queries:
        return Parsed([], "failed", "; ".join(notes) or "no query in the output")
    return Parsed(queries[:limit], "repaired" if notes else "ok", "; ".join(notes))


def _json_value(text: str) -> Any:
    body = "\n".join(lines_of(text))
    start = min((i for i in (body.find("["), body.find("{")) if i >= 0), default=-1)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(body[start:])[0]
    except json.JSONDecodeError:
        return None


def _json_strings(text: str) -> list[str]:
    value = _json_value(text)
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, (list, str))), None)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return []
    return [clean_query(item) for item in value if isinstance(item, str)]


_VERDICT = re.compile(r"(?<![\w-])(?:(not|no|lacks)\s+)?(in)?sufficient\s+information(?![\w-])", re.IGNORECASE)
_WORD = re.compile(r"^\W*(in)?sufficient\W*$", re.IGNORECASE)


def parse_verdict(text: str) -> Parsed[VerdictLabel]:
    """TRIO's judge: the last verdict in the text; `unparsed` where there is none, never a default label."""
    shown = visible_text(text).value
    matches = list(_VERDICT.finditer(shown))
    if matches:
        last = matches[-1]
        label: VerdictLabel = "insufficient" if last.group(1) or last.group(2) else "sufficient"
        clean = re.fullmatch(r"\W*" + re.escape(last.group(0)) + r"\W*", shown) is not None and not last.group(1)
        return Parsed(label, "ok" if clean else "repaired", "" if clean else "read from a longer output")
    for line in reversed(lines_of(shown)):
        word = _WORD.match(line)
        if word:
            return Parsed("insufficient" if word.group(1) else "sufficient", "repaired", "one word only")
        break
    return Parsed("unparsed", "failed", "no verdict in the output" if shown else "empty output")


class Plan(NamedTuple):
    """MAPS: directions with their sub-queries (empty where a step gives directions alone), or `enough`."""

    steps: list[tuple[str, str]]
    enough: bool = False


_ENOUGH = re.compile(r"^\W*(?:enough|no more|none needed|knowledge (?:is )?(?:enough|sufficient))\W*$", re.IGNORECASE)
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒|\|)\s*")


def parse_plan(text: str, limit: int, max_words: int = 16) -> Parsed[Plan]:
    """Lines `direction -> sub-query`; a line without an arrow serves as both. `ENOUGH` alone ends the search.

    Of a chain `a -> b -> c` only the first step is taken (`repaired`): what follows hangs on answers that the model guessed.
    """
    shown = visible_text(text)
    lines = lines_of(shown.value)
    if lines and _ENOUGH.match(_BULLET.sub("", lines[0])):
        return Parsed(Plan([], True), "ok" if len(lines) == 1 else "repaired", "" if len(lines) == 1 else "text after ENOUGH")
    steps, notes = [], [shown.note] if shown.note else []
    for item in _json_pairs(shown.value) or [_split_arrow(line) for line in lines]:
        direction, query, *chained = item
        words = query.split()
        if not re.search(r"\w", query) or _ENOUGH.match(query) or _NOTHING.match(query):
            continue
        if chained:
            notes.append("a chain of arrows; its first step taken")
        if len(words) > max_words:
            notes.append(f"cut from {len(words)} to {max_words} words")
            query = " ".join(words[:max_words])
        if not any(same_query(query, q) for _, q in steps):
            steps.append((direction, query))
    if not steps:
        return Parsed(Plan([]), "failed", "; ".join(notes) or "no direction in the output")
    if len(steps) > limit:
        notes.append(f"{len(steps)} directions written, {limit} taken")
    return Parsed(Plan(steps[:limit]), "repaired" if notes else "ok", "; ".join(notes))


def _split_arrow(line: str) -> tuple[str, ...]:
    """Direction, query, and what an arrow chains on."""
    parts = [clean_query(p) for p in _ARROW.split(_BULLET.sub("", line)) if p.strip()]
    if len(parts) < 2:
        return (parts[0], parts[0]) if parts else ("", "")
    return tuple(parts)


def _json_pairs(text: str) -> Sequence[tuple[str, ...]]:
    value = _json_value(text)
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), None)
    if not isinstance(value, list):
        return []
    pairs = []
    for item in value:
        if isinstance(item, str):
            pairs.append((clean_query(item), clean_query(item)))
        elif isinstance(item, dict):
            texts = [clean_query(v) for v in item.values() if isinstance(v, str)]
            if texts:
                pairs.append((texts[0], texts[-1]))
    return pairs


class Refined(NamedTuple):
    """MAPS: knowledge lines of the round and the new summary."""

    notes: list[str]
    summary: str


_SECTION = re.compile(r"^\W*(knowledge|facts|notes|summary|reasoning)\W*:?\W*(.*)$", re.IGNORECASE)
_NOTHING = re.compile(r"^\W*(none|nothing(?: new| useful| yet)?|n/?a|no new (?:facts|knowledge))\W*$", re.IGNORECASE)


def parse_refine(text: str, max_notes: int = 8) -> Parsed[Refined]:
    """`Knowledge:` bullets and a `Summary:` text. Without headings every line counts as knowledge (`repaired`)."""
    shown = visible_text(text)
    notes: list[str] = []
    summary: list[str] = []
    target, headed = notes, False
    for line in lines_of(shown.value):
        head = _SECTION.match(line)
        if head and (":" in line or not head.group(2)):
            headed = True
            target = summary if head.group(1).lower() in {"summary", "reasoning"} else notes
            line = head.group(2)
        line = _BULLET.sub("", line).strip().strip("*").strip()
        if line and not _NOTHING.match(line) and line not in target:
            target.append(line)
    if not notes and not summary:
        status: ParseStatus = "ok" if headed else "failed"
        return Parsed(Refined([], ""), status, "nothing new" if headed else shown.note or "empty output")
    note = "" if headed else "no headings; every line taken as knowledge"
    return Parsed(Refined(notes[:max_notes], " ".join(summary)), "ok" if headed else "repaired", note)


_ANSWER_TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_ANSWER_LEAD = re.compile(r"^\W*(?:the )?(?:final |short )?answer(?:\*\*)?\s*(?::|is\b:?)(?:\*\*)?\s*", re.IGNORECASE)


def _drop_full_stop(text: str) -> str:
    return text[:-1] if text.endswith(".") and not re.search(r"\b\w\.$", text) else text


def parse_answer(text: str, finish_reason: str = "stop") -> Parsed[str]:
    """A short answer: last closed `<answer>` tag, else the first line without its label, quotes and full stop."""
    shown = visible_text(text)
    if not shown.value:
        reason = "cut at the token limit before any answer" if finish_reason == "length" else "empty output"
        return Parsed("", "failed", shown.note or reason)
    tags = _ANSWER_TAG.findall(shown.value)
    if tags:
        return Parsed(" ".join(tags[-1].split()), "ok")
    if "<answer>" in shown.value.lower():
        return Parsed("", "failed", "answer tag never closed")
    lines = lines_of(shown.value)
    first = _ANSWER_LEAD.sub("", lines[0]) if lines else ""
    answer = unquote(_drop_full_stop(unquote(first or (lines[1] if len(lines) > 1 else ""))))
    if not answer:
        return Parsed("", "failed", "no answer in the output")
    if finish_reason == "length":
        return Parsed(answer, "repaired", "cut at the token limit")
    return Parsed(answer, "repaired" if len(lines) > 1 else "ok", "first line taken" if len(lines) > 1 else "")
