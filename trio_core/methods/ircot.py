"""IRCoT: one sentence of reasoning, then a search with that sentence, over and over (METHODS section 7).

As the authors run it, a separate reader answers from the collected passages; as FlashRAG runs it, the answer is what follows
"answer is" in the joined sentences, else all of them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import (
    Machine,
    PoolState,
    PresetSettings,
    answered,
    sub_queries,
    under_question,
    unseen,
    unseen_texts,
)
from trio_core.methods.reading import CUT, first_sentence, marked_answer, thought_answer
from trio_core.methods.records import RoundRecord
from trio_core.parsing import Parsed, query_key, visible_text
from trio_core.pool import pool_text
from trio_core.values import Completion, PoolEntry

_QUESTION_WORDS = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_INFERENCE = re.compile(r"^\W*(?:so|thus|therefore|hence)\b|\d\s*[-+*/]\s*\d+\s*=", re.IGNORECASE)


class IrcotSettings(PresetSettings):
    """IRCoT's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {
            "max_thoughts": 10,
            "top_k": 6,
            "max_passages": 15,
            "reader": True,
            "factual_queries": True,
            "sentences": "whole",
            "order": "found",
        },
        "flashrag": {
            "max_thoughts": 2,
            "top_k": 5,
            "max_passages": 30,
            "reader": False,
            "factual_queries": False,
            "sentences": "to the first full stop",
            "order": "best last",
        },
        "small": {
            "max_thoughts": 3,
            "top_k": 3,
            "max_passages": 9,
            "reader": True,
            "factual_queries": True,
            "sentences": "whole",
            "order": "found",
        },
    }
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    max_thoughts: int = Field(default=10, ge=1, le=30)
    """Reasoning steps at most."""
    top_k: int = Field(default=6, ge=1, le=100)
    """Passages a search."""
    max_passages: int = Field(default=15, ge=1, le=200)
    """Further passages are not collected."""
    reader: bool = True
    """A call of its own answers from the passages, without seeing the sentences."""
    factual_queries: bool = True
    """Sentences of pure inference are no queries, and question words are left out of a query."""
    sentences: Literal["whole", "to the first full stop"] = "whole"
    """FlashRAG cuts at the first full stop, also inside "Dr. No"."""
    order: Literal["found", "best last"] = "found"
    """Order of the passages in the prompt."""


class IrcotState(PoolState):
    """Passages and sentences so far; all of it is visible."""

    thoughts: tuple[str, ...] = ()
    insist: bool = False


class Ircot(Machine[IrcotState]):
    """IRCoT as a state machine."""

    name: ClassVar[str] = "ircot"
    title: ClassVar[str] = "IRCoT"
    about: ClassVar[str] = "Reasons one sentence at a time and searches with each sentence; a reader answers at the end."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine.",
        differs="The authors show 15 to 20 worked examples; here one instruction asks for the next sentence. They leave near-duplicate "
        "passages out by fuzzy matching; here passages of the same id or text. A sentence that repeats an earlier one ends the run."
        ' Preset flashrag has no reader, so that without "answer is" all sentences are the answer, and does not search after the '
        "last sentence.",
    )
    roles: ClassVar[tuple[str, ...]] = ("thought", "answer")
    settings_type: ClassVar[type[MethodSettings]] = IrcotSettings
    state_type = IrcotState
    limit = "max_thoughts"
    settings: IrcotSettings

    def max_calls(self) -> tuple[int, int]:
        """One sentence and one search a round, and the reader."""
        n = self.settings.max_thoughts
        return n + self.settings.reader, n

    def carried(self, state: IrcotState) -> Carried:
        """Passages and sentences."""
        return Carried(pool_text(state.pool) + "\n" + "\n".join(state.thoughts))

    async def round(self, state: IrcotState) -> AsyncIterator[BaseEvent | State]:
        """A search (where there is something new to search for) and a sentence."""
        number = state.round + 1
        yield RoundStarted(round=number)
        text = self._query(state)
        queries = sub_queries([text], [r.query for r in state.pool], "" if state.round else "the question") if text else ()
        found = self.find(number, queries, self.settings.top_k, state.pool)
        async for event in found:
            yield event
        pool = (*state.pool, *self._new(state.pool, found.records))
        asked = self.ask(
            "thought",
            number,
            self._thought,
            pool=self._ordered(state.question, pool),
            question=state.question,
            thoughts=" ".join(state.thoughts) or "nothing yet",
            hint=" Do not answer yet: a fact is still missing." if state.insist else "",
        )
        async for event in asked:
            yield event
        thought = asked.value
        stop = "no_output"
        if thought:
            repeated = query_key(thought) in {query_key(t) for t in state.thoughts}
            stop = "answered" if marked_answer(thought) is not None else "repeat" if repeated else ""
        thoughts = (*state.thoughts, thought) if thought and stop != "repeat" else state.thoughts
        yield state.model_copy(update={"round": number, "pool": pool, "thoughts": thoughts, "stop": stop, "insist": False})

    def _thought(self, completion: Completion) -> Parsed[str]:
        shown = visible_text(completion.text)
        sentence = first_sentence(shown.value, plain=self.settings.sentences != "whole")
        if not re.search(r"\w", sentence):
            return Parsed("", "failed", shown.note or "no sentence in the output")
        if completion.finish_reason == "length" and sentence == " ".join(shown.value.split()):
            return Parsed(sentence, "repaired", CUT)
        more = len(shown.value.split()) > len(sentence.split())
        return Parsed(sentence, "repaired" if more else "ok", "the first sentence taken" if more else "")

    def _query(self, state: IrcotState) -> str:
        """The question, later the newest sentence that states a fact. Empty = nothing to search for."""
        if not state.thoughts:
            return state.question
        if not self.settings.factual_queries:
            return state.thoughts[-1]
        text = next((t for t in reversed(state.thoughts) if not _INFERENCE.search(t)), state.question)
        kept = " ".join(_QUESTION_WORDS.sub(" ", text).split())
        return kept if re.search(r"\w", kept) else ""

    def _new(self, pool: Sequence[RoundRecord], found: Sequence[RoundRecord]) -> list[RoundRecord]:
        """What was found without passages of a known id or text, up to the limit."""
        known = {key for r in pool for h in r.hits for key in (h.passage.id, query_key(h.passage.text))}
        room = self.settings.max_passages - sum(len(r.hits) for r in pool)
        records = []
        for record in found:
            fresh = tuple(h for h in record.hits if not {h.passage.id, query_key(h.passage.text)} & known)[: max(room, 0)]
            records.append(record.model_copy(update={"hits": fresh}))
        return records

    def _ordered(self, question: str, pool: Sequence[RoundRecord]) -> Sequence[PoolEntry]:
        """All passages under the question: the reader may not see the sentences that they were searched with."""
        entries = under_question(question, pool)
        if self.settings.order == "found":
            return entries
        hits = sorted(entries[0].hits, key=lambda h: (h.score or 0.0, -h.rank))
        return [PoolEntry(query=question, hits=tuple(hits))]

    async def answer(self, state: IrcotState) -> AsyncIterator[BaseEvent]:
        """The reader's call, or what the sentences say."""
        if not self.settings.reader:
            text = " ".join(state.thoughts)
            yield answered(thought_answer(Completion(text=text)) if text else Parsed("", "failed", "no sentence was written"))
            return
        hidden = unseen([], unseen_texts("sentences of reasoning", state.thoughts))
        pool = self._ordered(state.question, state.pool)
        asked = self.ask("answer", state.round, thought_answer, pool=pool, hidden=hidden, question=state.question)
        async for event in asked:
            yield event
        yield answered(asked.parsed)
