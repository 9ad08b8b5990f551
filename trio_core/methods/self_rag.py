"""Self-RAG, short form: the model decides whether to search, answers from each passage, and grades itself (METHODS section 9).

One round: a branch for each passage. Scores come from the probabilities of the grading tokens, so the engine must show them.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, Knowledge, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Machine, PoolState, PresetSettings, answered, unseen
from trio_core.methods.raw import EngineLacks, continue_text, need_raw
from trio_core.parsing import Parsed, visible_text
from trio_core.pool import pool_text
from trio_core.values import Completion, Hit, PoolEntry, SubQuery, TokenReading

RETRIEVE, NO_RETRIEVE = "[Retrieval]", "[No Retrieval]"
RELEVANCE = ("[Relevant]", "[Irrelevant]")
SUPPORT = ("[Fully supported]", "[Partially supported]", "[No support / Contradictory]")
UTILITY = tuple(f"[Utility:{n}]" for n in range(1, 6))
UTILITY_WORTH = (-1.0, -0.5, 0.0, 0.5, 1.0)
_CONTROL = re.compile(
    r"\[/?(?:No )?Retrieval\]|\[Continue to Use Evidence\]|\[(?:Ir)?[Rr]elevant\]|\[[^\]]*upport[^\]]*\]|\[Utility:\d\]|</?paragraph>|</?s>"
)


class SelfRagSettings(PresetSettings):
    """Self-RAG's settings; defaults are the authors' of the short form."""

    presets: ClassVar = {
        "author": {"top_k": 10, "threshold": 0.2, "alternatives": 20},
        "flashrag": {"top_k": 5, "threshold": 0.2, "alternatives": 5},
        "small": {"top_k": 2, "threshold": 0.2, "alternatives": 20},
    }
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    top_k: int = Field(default=10, ge=1, le=50)
    """Each passage costs a call."""
    threshold: float = Field(default=0.2, ge=0, le=1)
    """P(retrieve) above which it searches."""
    alternatives: int = Field(default=20, ge=2, le=100)
    """Likeliest tokens that the server is asked for at each place; a grading token that is not among them counts as impossible."""
    relevance_weight: float = Field(default=1.0, ge=0, le=5)
    """Weight of "the passage is relevant" in a path's score."""
    support_weight: float = Field(default=1.0, ge=0, le=5)
    """Weight of "the passage supports the answer" in a path's score."""
    utility_weight: float = Field(default=1.0, ge=0, le=5)
    """Weight of "the answer is useful" in a path's score."""


class SelfRagState(PoolState):
    """Passages and the chosen output."""

    answer: str = ""
    note: str = ""


class SelfRag(Machine[SelfRagState]):
    """Self-RAG's short form as a state machine: one round with a branch for each passage."""

    name: ClassVar[str] = "self_rag"
    title: ClassVar[str] = "Self-RAG"
    about: ClassVar[str] = "A model trained to grade itself: it answers from each passage by itself and keeps its best-graded answer."
    page: ClassVar[PageText] = PageText(
        needs="A server that continues a raw text and shows log-probabilities, best vLLM with selfrag/selfrag_llama2_7b or _13b. Other "
        "models know no grading tokens.",
        differs="The authors ask for all 32,016 log-probabilities, which servers refuse; here for 20 (more needs vLLM's --max-logprobs), "
        "and what is not among them counts as impossible, as in FlashRAG (which asks for 5). P(retrieve) is a probability, not its "
        "logarithm as in their script. Short form only, without their beam search.",
    )
    roles: ClassVar[tuple[str, ...]] = ("retrieve", "generate", "direct")
    settings_type: ClassVar[type[MethodSettings]] = SelfRagSettings
    state_type = SelfRagState
    settings: SelfRagSettings

    def max_calls(self) -> tuple[int, int]:
        """The decision and an output for each passage, or one without; one search."""
        return 1 + self.settings.top_k, 1

    def carried(self, state: SelfRagState) -> Carried:
        """The passages."""
        return Carried(pool_text(state.pool))

    async def round(self, state: SelfRagState) -> AsyncIterator[BaseEvent | State]:
        """Decision, search, a graded output for each passage, the choice."""
        await self._check_engine()
        yield RoundStarted(round=1)
        done = state.model_copy(update={"round": 1, "stop": "one_round"})
        decided = continue_text(
            self.tools, "retrieve", 1, self._text("retrieve", state) + "\n", self._wants_search, alternatives=self.settings.alternatives
        )
        async for event in decided:
            yield event
        if not decided.value:
            direct = continue_text(self.tools, "direct", 1, self._text("direct", state) + "\n" + NO_RETRIEVE, read_output)
            async for event in direct:
                yield event
            yield done.model_copy(update={"answer": direct.value, "note": direct.parsed.note, "stop": "no_rounds"})
            return
        found = self.find(1, (SubQuery(text=state.question, note="the question"),), self.settings.top_k)
        async for event in found:
            yield event
        done = done.model_copy(update={"pool": found.records})
        graded: list[tuple[float, str, str]] = []
        for n, hit in enumerate(found.records[0].hits, 1):
            branch = f"{n}. {hit.passage.title or hit.passage.id}"
            others = unseen([PoolEntry(query="", hits=tuple(h for h in found.records[0].hits if h is not hit))])
            written = continue_text(
                self.tools,
                "generate",
                1,
                self._text("generate", state, hit),
                read_output,
                hidden=others,
                branch=branch,
                alternatives=self.settings.alternatives,
            )
            async for event in written:
                yield event
            graded.append((self.grade(written.completion), branch, written.value))
        best = max((g for g in graded if g[2]), key=lambda g: g[0], default=None)
        for score, branch, text in graded:
            yield Knowledge(round=1, branch=branch, summary=text, score=score, chosen=best is not None and branch == best[1])
        yield done.model_copy(update={"answer": best[2] if best else "", "note": "no output in any branch"})

    async def _check_engine(self) -> None:
        await need_raw(self.tools, self.name)
        known = await self.tools.engine.probe()
        if not known.logprobs:
            raise EngineLacks(f"self_rag grades by token probabilities, and the server of model {known.model!r} shows none; use vLLM")

    def _text(self, role: str, state: SelfRagState, hit: Hit | None = None) -> str:
        values = {"question": state.question}
        if hit is not None:
            values["passage"] = "\n".join(part for part in (hit.passage.title, hit.passage.text) if part)
        return "".join(m.content for m in self.tools.prompts[role].render(**values))

    def _wants_search(self, completion: Completion) -> Parsed[bool]:
        """P(retrieve) of the two tokens at the first place against the threshold."""
        first = completion.tokens[0] if completion.tokens else None
        yes, no = (math.exp(lp) if (lp := _logprob(first, t)) is not None else 0.0 for t in (RETRIEVE, NO_RETRIEVE))
        if yes + no == 0:
            return Parsed(True, "failed", "neither decision token is likely; searches")
        return Parsed(yes / (yes + no) > self.settings.threshold, "ok", f"P(retrieve) = {yes / (yes + no):.2f}")

    def grade(self, completion: Completion) -> float:
        """exp(mean log-probability) + weighted relevance, support and utility, each group normalised to 1."""
        tokens, s = completion.tokens, self.settings
        mean = sum(t.logprob for t in tokens) / len(tokens) if tokens else -math.inf
        relevant = _shares(tokens[:1], RELEVANCE)[0]
        full, part, _ = _shares(_where(tokens, SUPPORT), SUPPORT)
        utility = sum(w * p for w, p in zip(UTILITY_WORTH, _shares(_where(tokens, UTILITY), UTILITY), strict=True))
        return math.exp(mean) + s.relevance_weight * relevant + s.support_weight * (full + 0.5 * part) + s.utility_weight * utility

    async def answer(self, state: SelfRagState) -> AsyncIterator[BaseEvent]:
        """The best-graded output; no call."""
        yield answered(Parsed(state.answer, "ok" if state.answer else "failed", state.note))


def read_output(completion: Completion) -> Parsed[str]:
    """The text without control tokens, a leading sign and line breaks."""
    shown = visible_text(completion.text)
    text = " ".join(_CONTROL.sub(" ", shown.value).split()).lstrip("#: ").strip()
    return Parsed(text) if text else Parsed("", "failed", shown.note or ("control tokens only" if shown.value else "empty output"))


def _logprob(token: TokenReading | None, text: str) -> float | None:
    """Log-probability of a token at a place; the written one counts too."""
    if token is None:
        return None
    found = {k.strip(): v for k, v in token.top.items()} | {token.text.strip(): token.logprob}
    return found.get(text)


def _where(tokens: Sequence[TokenReading], group: Sequence[str]) -> Sequence[TokenReading]:
    """The first place at which a token of the group was written, or nothing."""
    return next(([t] for t in tokens if t.text.strip() in group), [])


def _shares(place: Sequence[TokenReading], group: Sequence[str]) -> list[float]:
    """Probability of each token of the group at that place, normalised; zeros where the place shows none."""
    values = [math.exp(lp) if place and (lp := _logprob(place[0], t)) is not None else 0.0 for t in group]
    total = sum(values)
    return [v / total for v in values] if total else values
