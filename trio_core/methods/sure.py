"""SuRe: two candidate answers, the best case for each, and a comparison of the two cases (METHODS section 6).

One search and one round with a branch for each candidate. Only the candidate and support calls see the passages.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from itertools import combinations
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, Knowledge, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Machine, PoolState, PresetSettings, answered, unseen
from trio_core.methods.reading import short, yes_no
from trio_core.parsing import Parsed, lines_of, query_key, visible_text
from trio_core.pool import pool_text
from trio_core.values import Completion, SubQuery


class SureSettings(PresetSettings):
    """SuRe's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {"top_k": 10, "max_candidates": 2, "show_choices": True, "scoring": "ranks"},
        "flashrag": {"top_k": 5, "max_candidates": 4, "show_choices": False, "scoring": "wins"},
        "small": {"top_k": 3, "max_candidates": 2, "show_choices": True, "scoring": "ranks"},
    }
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    top_k: int = Field(default=10, ge=1, le=100)
    """Passages a search."""
    max_candidates: int = Field(default=2, ge=2, le=5)
    """Candidate answers at most."""
    show_choices: bool = True
    """The call that argues for a candidate sees all candidates."""
    scoring: Literal["ranks", "wins"] = "ranks"
    """ranks: both orders must agree, and one valid candidate among others gets half a point; wins: validity plus wins."""


class SureState(PoolState):
    """Passages and the chosen candidate."""

    answer: str = ""
    note: str = ""


class Sure(Machine[SureState]):
    """SuRe as a state machine: one round with branches."""

    name: ClassVar[str] = "sure"
    title: ClassVar[str] = "SuRe"
    about: ClassVar[str] = "Argues for each of two candidate answers from the passages, then lets the better case win."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine; four kinds of calls, each short.",
        differs="The authors put all into one system message; here passages come first in the user message. A reply that is no list of "
        "candidates is split at lines or commas; one candidate alone is the answer without further calls. FlashRAG takes any number"
        " of candidates, here at most max_candidates; its 32-token limit on the summaries is not taken over.",
    )
    roles: ClassVar[tuple[str, ...]] = ("candidates", "support", "valid", "rank")
    settings_type: ClassVar[type[MethodSettings]] = SureSettings
    state_type = SureState
    settings: SureSettings

    def max_calls(self) -> tuple[int, int]:
        """Candidates, then for each a case and its check, and both orders of each pair; one search."""
        n = self.settings.max_candidates
        return 1 + 2 * n + n * (n - 1), 1

    def carried(self, state: SureState) -> Carried:
        """The passages."""
        return Carried(pool_text(state.pool))

    async def round(self, state: SureState) -> AsyncIterator[BaseEvent | State]:
        """The search, the candidates, a branch for each, the choice."""
        yield RoundStarted(round=1)
        found = self.find(1, (SubQuery(text=state.question, note="the question"),), self.settings.top_k)
        async for event in found:
            yield event
        state = state.model_copy(update={"round": 1, "stop": "one_round", "pool": found.records})
        named = self.ask("candidates", 1, self._candidates, pool=state.pool, question=state.question)
        async for event in named:
            yield event
        candidates = named.value
        if len(candidates) < 2:
            yield state.model_copy(update={"answer": candidates[0] if candidates else "", "note": named.parsed.note})
            return
        case = _Case(candidates)
        async for event in self._argue(state, case):
            yield event
        async for event in self._compare(state, case):
            yield event
        scores = case.scores(self.settings.scoring)
        best = max(range(len(scores)), key=lambda i: (scores[i], -i))
        for i, score in enumerate(scores):
            said = {True: "holds up", False: "does not hold up", None: "check unreadable"}[case.valid[i]]
            yield Knowledge(round=1, branch=case.label(i), summary=case.supports[i], notes=(said,), score=score, chosen=i == best)
        yield state.model_copy(update={"answer": candidates[best]})

    def _candidates(self, completion: Completion) -> Parsed[list[str]]:
        return parse_candidates(completion.text, self.settings.max_candidates)

    async def _argue(self, state: SureState, case: _Case) -> AsyncIterator[BaseEvent]:
        """A case for each candidate, and whether it holds up without the passages."""
        listed = "\n".join(case.label(i) for i in range(len(case.names)))
        for i, name in enumerate(case.names):
            choices = f"Candidates:\n{listed}\n\n" if self.settings.show_choices else ""
            argued = self.ask(
                "support", 1, _support, pool=state.pool, branch=case.label(i), question=state.question, choices=choices, candidate=name
            )
            async for event in argued:
                yield event
            case.supports.append(argued.value)
        for i, name in enumerate(case.names):
            if not case.supports[i]:
                case.valid.append(False)
                continue
            checked = self.ask(
                "valid",
                1,
                _valid,
                branch=case.label(i),
                hidden=unseen(state.pool),
                question=state.question,
                summary=case.supports[i],
                candidate=name,
            )
            async for event in checked:
                yield event
            case.valid.append(checked.value)

    async def _compare(self, state: SureState, case: _Case) -> AsyncIterator[BaseEvent]:
        """Each pair of cases in both orders; a case that was not written is not compared."""
        for pair in combinations(range(len(case.names)), 2):
            if not all(case.supports[i] for i in pair):
                continue
            for first, second in (pair, pair[::-1]):
                ranked = self.ask(
                    "rank",
                    1,
                    _which,
                    hidden=unseen(state.pool),
                    branch=f"{case.label(first)} against {case.label(second)}",
                    question=state.question,
                    first=case.supports[first],
                    second=case.supports[second],
                )
                async for event in ranked:
                    yield event
                case.votes.append((first, second, ranked.value))

    async def answer(self, state: SureState) -> AsyncIterator[BaseEvent]:
        """The chosen candidate; no call."""
        yield answered(Parsed(state.answer, "ok" if state.answer else "failed", state.note))


class _Case:
    """Candidates with what was said for and about them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.supports: list[str] = []
        self.valid: list[bool | None] = []
        self.votes: list[tuple[int, int, int | None]] = []
        """(shown first, shown second, which of the two won: 0, 1 or None)."""

    def label(self, i: int) -> str:
        """`(a) Delft`."""
        return f"({'abcde'[i]}) {self.names[i]}"

    def scores(self, rule: str) -> list[float]:
        """By the authors' rule (`ranks`) or FlashRAG's (`wins`)."""
        n = len(self.names)
        valid = [1.0 if v else 0.0 for v in self.valid]
        if rule == "wins":
            return [valid[i] + sum(self._share(i, vote) for vote in self.votes) for i in range(n)]
        ranks = [0.0] * n
        for pair in combinations(range(n), 2):
            winners = [(a, b)[which] if which is not None else None for a, b, which in self.votes if {a, b} == set(pair)]
            agreed = winners[0] if len(winners) == 2 and winners[0] == winners[1] else None
            for i in pair:
                ranks[i] += (0.5 if agreed is None else float(i == agreed)) / (n - 1)
        return [0.5 * r + 0.5 * v for r, v in zip(ranks, valid, strict=True)] if sum(valid) == 1 else ranks

    @staticmethod
    def _share(i: int, vote: tuple[int, int, int | None]) -> float:
        first, second, which = vote
        if i not in (first, second):
            return 0.0
        return 0.5 if which is None else float((first, second)[which] == i)


_LETTERED = re.compile(r"\(([a-z])\)\s*(.*?)(?=[\s,;]*\([a-z]\)|$)", re.IGNORECASE | re.MULTILINE)


def parse_candidates(text: str, limit: int) -> Parsed[list[str]]:
    """`(a) x, (b) y`; else lines, else parts between commas (`repaired`). Each candidate once."""
    shown = visible_text(text)
    items = [m[1] for m in _LETTERED.findall(shown.value)]
    note = "" if items else "no letters; split at lines or commas"
    if not items:
        lines = lines_of(shown.value)
        items = lines if len(lines) > 1 else shown.value.split(",")
    names: list[str] = []
    for item in items:
        name = short(re.sub(r"^(?:[-*•]|\(?\w[.)])\s+", "", item.strip())).strip(",; ")
        if re.search(r"\w", name) and query_key(name) not in map(query_key, names):
            names.append(name)
    if not names:
        return Parsed([], "failed", shown.note or "no candidate in the output")
    notes = [n for n in (note, f"{len(names)} candidates, {limit} taken" if len(names) > limit else "") if n]
    return Parsed(names[:limit], "repaired" if notes else "ok", "; ".join(notes))


def _support(completion: Completion) -> Parsed[str]:
    shown = visible_text(completion.text)
    text = " ".join(re.split(r"\[?\bDONE\b\]?", shown.value)[0].split())
    return Parsed(text) if text else Parsed("", "failed", shown.note or "empty output")


def _valid(completion: Completion) -> Parsed[bool | None]:
    value = yes_no(completion.text)
    return Parsed(value) if value is not None else Parsed(None, "failed", "neither True nor False")


def _which(completion: Completion) -> Parsed[int | None]:
    """0 or 1 for the passage that was named last; None for a tie or no name."""
    found = re.findall(r"\b(?:(1|one|first)|(2|two|second)|(both|neither|tie|equal\w*))\b", visible_text(completion.text).value.lower())
    if not found:
        return Parsed(None, "failed", "names neither passage")
    return Parsed(None, "repaired", "a tie") if found[-1][2] else Parsed(0 if found[-1][0] else 1)
