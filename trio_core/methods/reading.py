"""Reading what several methods have their models write: a closing "answer is", one sentence, fields, a search or answer tag.

Pure functions that never raise; each says how it read the text. Only the model's own turn is read, after its reasoning.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple

from trio_core.parsing import Parsed, lines_of, parse_answer, unquote, visible_text
from trio_core.values import Completion

CUT = "cut at the token limit"
_MARKER = re.compile(r"\banswer(?:\s+to\s+[^:.\n]{1,80})?\s+is\b\s*:?\s*", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|gen|sen|rev|jr|sr|no|vs|etc|inc|ltd|co|ca|approx|e\.g|i\.e|u\.s|u\.k)|\b[A-Z])\.$", re.IGNORECASE
)


def marked_answer(text: str) -> str | None:
    """What follows the last "answer is" up to the end of its line, without quotes and full stop; None without the marker."""
    found = list(_MARKER.finditer(text))
    return short(text[found[-1].end() :].partition("\n")[0]) if found else None


def short(text: str) -> str:
    """A text as an answer: no quotes, bold marks or full stop around it."""
    flat = unquote(" ".join(text.split()))
    ends = flat.endswith(".") and not re.search(r"\b\w\.$", flat)
    return unquote(flat[:-1] if ends else flat)


def thought_answer(completion: Completion) -> Parsed[str]:
    """A reasoned answer: what follows "answer is", else the whole text (`repaired`)."""
    shown = visible_text(completion.text)
    if not shown.value:
        return Parsed("", "failed", shown.note or (f"{CUT} before any answer" if completion.finish_reason == "length" else "empty output"))
    marked = marked_answer(shown.value)
    if marked:
        return Parsed(marked)
    whole = short(re.sub(r"^\W*answer\W*:\s*", "", shown.value, flags=re.IGNORECASE)) if marked is None else ""
    return Parsed(whole, "repaired", 'no "answer is"; the whole text taken') if whole else Parsed("", "failed", 'nothing after "answer is"')


def first_sentence(text: str, *, plain: bool = False) -> str:
    """The first sentence in one line. `plain` cuts at the first full stop or line end, also inside "Dr. No" or "3.5"."""
    text = next(iter(lines_of(text)), "")
    text = re.sub(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+", "", text).strip().strip('"“”')
    if plain:
        head, stop, _ = text.partition(".")
        return (head + stop).strip()
    for end in re.finditer(r"[.!?][\"”')]*(?=\s+\S|$)", text):
        if not _ABBREVIATION.search(text[: end.start() + 1]) or end.end() == len(text):
            return text[: end.end()].strip()
    return text


def yes_no(text: str) -> bool | None:
    """The last of true/yes or false/no in the first line that has one; None where there is none."""
    for line in lines_of(visible_text(text).value):
        found = re.findall(r"(?<![\w-])(true|yes|false|no|not (?:true|supported|valid))(?![\w-])", line.lower())
        if found:
            return found[-1] in ("true", "yes")
    return None


def read_fields(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """Named fields of a JSON object or of `Name: value` lines (a value may run over lines); absent ones are left out."""
    shown = visible_text(text).value
    fields = _json_fields(shown)
    if fields or shown.startswith("{"):
        return {name: fields[name] for name in names if name in fields}
    head = re.compile(rf"^\W*({'|'.join(map(re.escape, names))})\W*:\W*?(?=\S|$)(.*)$", re.IGNORECASE)
    found: dict[str, list[str]] = {}
    current = ""
    for line in lines_of(shown):
        match = head.match(line)
        if match:
            current, line = match.group(1).lower(), match.group(2)
        if current:
            found.setdefault(current, []).append(line.strip())
    return {name: value for name, lines in found.items() if (value := " ".join(lines).strip("* "))}


def _json_fields(text: str) -> dict[str, str]:
    start = text.find("{")
    if start < 0:
        return {}
    try:
        value = json.JSONDecoder().raw_decode(text[start:])[0]
    except json.JSONDecodeError:
        return {}
    return (
        {str(k).lower(): v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in value.items()}
        if isinstance(value, dict)
        else {}
    )


class Action(NamedTuple):
    """What a step of a model that searches by tags asks for."""

    kind: Literal["search", "answer", "none"]
    text: str = ""
    """The query or the answer."""
    step: str = ""
    """The step as it stays in the conversation: up to the end of its search tag."""


_SEARCH = re.compile(r"<search>|<\|begin_(?:of|search)_query\|>", re.IGNORECASE)
_END = re.compile(r"</search>|<\|end_(?:of|search)_query\|>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_UNWRAP = re.compile(r"\\(?:text|textbf|mathrm)\s*\{([^{}]*)\}")
STOPS = ("</search>", "<|end_search_query|>")
"""Where a step ends that searches."""


def read_action(completion: Completion) -> Parsed[Action]:
    """The first search of the step, or the answer where that comes first.

    A closing tag that the server's stop string took away is put back; one that is missing because the text was cut at
    the token limit is a failure (a half query is no query).
    """
    shown = visible_text(completion.text)
    text, cut = shown.value, completion.finish_reason == "length"
    opened = _SEARCH.search(text)
    answer = tagged_answer(text[: opened.start()] if opened else text)
    if answer is not None:
        return Parsed(Action("answer", answer, text))
    if opened is None:
        return Parsed(
            Action("none", "", text), "failed", shown.note or (CUT if cut else "neither search nor answer" if text else "empty output")
        )
    closed = _END.search(text, opened.end())
    if closed is None and cut:
        return Parsed(Action("none", "", text[: opened.start()].rstrip()), "failed", f"search {CUT}")
    body = text[opened.end() : closed.start() if closed else None]
    query = unquote(" ".join(body.split()))
    step = f"{text[: opened.start()]}<search>{query}</search>"
    if not re.search(r"\w", query):
        return Parsed(Action("none", "", text[: opened.start()].rstrip()), "failed", "the search is empty")
    rest = text[closed.end() :].strip() if closed else ""
    return Parsed(Action("search", query, step), "repaired" if rest else "ok", "text after the search left out" if rest else "")


def tagged_answer(text: str) -> str | None:
    r"""The last closed `<answer>` or `\boxed{}`; None without either."""
    if "<answer>" in text.lower() and "</answer>" in text.lower():
        return short(parse_answer(text).value)
    boxed = _BOXED.findall(text)
    return short(_UNWRAP.sub(r"\1", boxed[-1])) if boxed else None
