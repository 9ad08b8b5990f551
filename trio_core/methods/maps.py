"""MAPS: several complementary directions a round, and only distilled knowledge carried on (review of the MAPS paper).

Each round sees the question, the knowledge of earlier rounds and a short summary; earlier sub-queries, passages and reasoning
are hidden. It names N directions, writes one sub-query for each, searches them in parallel, merges the passages by id and
distils them. The direction step may say that the knowledge is enough.

The review names neither N nor prompts nor who decides to stop; our choices are DESIGN.md section 9. Switches for the
paper's ablations: `list_directions` (false = queries without naming directions), `parallel` (false = one direction a
round), `disentangle` (false = the full history stays visible).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from trio_core.events import Answered, BaseEvent, Directions, Hidden, Knowledge, RoundStarted, SubQueries
from trio_core.evidence import VoteLabel
from trio_core.methods.base import (
    Carried,
    MethodSettings,
    PageText,
    Reply,
    SearchSettings,
    State,
    Tools,
    ask,
    first_seen,
    fork_state,
    prompt_budget,
    retrieved,
    search,
)
from trio_core.methods.judging import judge, judge_messages
from trio_core.methods.records import RoundRecord, latest, merge
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed, Plan, Refined, parse_plan, parse_queries, parse_refine, query_key
from trio_core.pool import fit_pool, pool_text
from trio_core.values import Completion, JudgeItem, SubQuery


class MapsSettings(SearchSettings):
    """MAPS's settings. The round limit and top-k are the paper's; the number of directions is ours (1-5)."""

    directions: int = Field(default=3, ge=1, le=5)
    """Directions, and so sub-queries, a round."""
    top_k: int = Field(default=5, ge=1, le=100)
    """Passages a search."""
    max_rounds: int = Field(default=10, ge=1, le=30)
    """Rounds at most."""
    fused: bool = True
    """One call writes directions and sub-queries; false = one call each."""
    list_directions: bool = True
    """Ablation: false = sub-queries are written without naming directions first."""
    parallel: bool = True
    """Ablation: false = one direction a round."""
    disentangle: bool = True
    """Ablation: false = earlier sub-queries and distilled texts stay visible."""
    plan_may_stop: bool = True
    """The plan step may say that the knowledge is enough (from round 2 on). Without it a repeated plan or the round limit ends the search."""
    shadow_judge: bool = True
    """TRIO's judge reads each round's pool too; it decides nothing, and yields label items."""
    max_query_words: int = Field(default=16, ge=2, le=64)
    """Longer queries are cut and noted."""
    shadow_passages: int = Field(default=20, ge=1, le=200)
    """The shadow judge reads at most so many passages (TRIO's cap), the latest."""


class MapsState(State):
    """What MAPS carries on (`knowledge`, `summary`) and, apart from it, the hidden history."""

    knowledge: tuple[str, ...] = ()
    summary: str = ""
    history: tuple[RoundRecord, ...] = ()
    insist: bool = False
    """The next round may not say "enough": a person said that it is not."""


class Maps:
    """MAPS as a state machine."""

    name: ClassVar[str] = "maps"
    title: ClassVar[str] = "MAPS"
    about: ClassVar[str] = "Complementary directions searched in parallel; only distilled knowledge goes on to the next round."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine.",
        differs="No authors' code and no paper text could be had, only a review of it: the number of directions, the prompts, the merging of "
        "passages and the stop (the plan may say \"enough\") are ours.",
    )
    roles: ClassVar[tuple[str, ...]] = ("plan", "directions", "sub_queries", "refine", "judge", "answer")
    settings_type: ClassVar[type[MethodSettings]] = MapsSettings

    def __init__(self, settings: MapsSettings, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, question: str) -> MapsState:
        """No knowledge, no history."""
        return MapsState(question=question)

    def load(self, data: Mapping[str, Any]) -> MapsState:
        """Reads a stored state."""
        return MapsState.model_validate(data)

    def max_calls(self) -> tuple[int, int]:
        """(LLM calls, retrievals) at most."""
        s = self.settings
        per_round = (1 if s.fused or not s.list_directions else 2) + 1 + (1 if s.shadow_judge else 0)
        return s.max_rounds * per_round + 1, s.max_rounds * self._width()

    def _width(self) -> int:
        return self.settings.directions if self.settings.parallel else 1

    def finished(self, state: MapsState) -> str | None:
        """`enough`, no usable or only repeated queries, or the round limit."""
        if state.stop:
            return state.stop
        return "round_limit" if state.round >= self.settings.max_rounds else None

    def forked(self, state: MapsState, verdict: VoteLabel) -> MapsState:
        """Answer from this knowledge, or search on (and then the next plan may not say "enough")."""
        last = state.model_copy(update={"stop": "round_limit"}) if state.round >= self.settings.max_rounds else state
        on = fork_state(last, verdict, f"max_rounds = {self.settings.max_rounds}")
        return on.model_copy(update={"insist": verdict == "insufficient"})

    def carried(self, state: MapsState) -> Carried:
        """Knowledge and summary; with disentanglement everything else is hidden from the next round."""
        text = self._knowledge(state) + "\n" + state.summary
        if not self.settings.disentangle:
            return Carried(text + self._history(state))
        return Carried(text, self._hidden(state))

    def _hidden(self, state: MapsState) -> tuple[Hidden, ...]:
        """What later calls do not see. Token figures are estimates (4 characters a token): nothing is sent for them."""
        if not self.settings.disentangle or not state.history:
            return ()
        queries = sum(len(r.query) for r in state.history) // 4
        texts = [h.passage.text for r in state.history for h in r.hits]
        return (
            Hidden(what="sub-queries", count=len(state.history), tokens=queries),
            Hidden(what="passages", count=len(texts), tokens=sum(map(len, texts)) // 4),
        )

    def _knowledge(self, state: MapsState) -> str:
        return "\n".join(f"- {note}" for note in state.knowledge) or "- nothing yet"

    def _history(self, state: MapsState) -> str:
        if self.settings.disentangle or not state.history:
            return ""
        return "\nEarlier searches and what they found:\n" + pool_text(state.history, "reference") + "\n"

    def _values(self, state: MapsState) -> dict[str, str]:
        return {
            "question": state.question, "knowledge": self._knowledge(state), "summary": state.summary or "nothing yet",
            "history": self._history(state),
        }

    async def round(self, state: MapsState) -> AsyncIterator[BaseEvent | State]:
        """Plan, search in parallel, let the shadow judge look, distil."""
        number = state.round + 1
        yield RoundStarted(round=number)
        plan = Plan([])
        async for item in self._plan(state, number):
            if isinstance(item, Plan):
                plan = item
            else:
                yield item
        directions = tuple(d for d, _ in plan.steps) if self.settings.list_directions else ()
        yield Directions(round=number, directions=directions, enough=plan.enough)
        queries = self._sub_queries(state, plan)
        yield SubQueries(round=number, queries=queries)
        fresh = [(i, q) for i, q in enumerate(queries) if not q.repeated]
        if plan.enough or not fresh:
            stop = "enough" if plan.enough else "repeat" if queries else "no_query"
            yield state.model_copy(update={"round": number, "stop": stop, "insist": False})
            return
        results, seconds = await search(self.tools, [q.text for _, q in fresh], self.settings.top_k)
        seen = first_seen((r.round, r) for r in state.history)
        for n, ((index, query), result) in enumerate(zip(fresh, results, strict=True)):
            # The batch is one search; its time stands at the first query so that sums stay right.
            yield retrieved(number, index, query.text, result, self.settings.top_k, seconds if n == 0 else 0.0, seen)
        found = merge(number, [(q.text, r.hits) for (_, q), r in zip(fresh, results, strict=True)])
        if self.settings.shadow_judge:
            async for event in self._shadow(state, number, found):
                yield event
        async for item in self._refine(state, number, found):
            yield item

    def _sub_queries(self, state: MapsState, plan: Plan) -> tuple[SubQuery, ...]:
        used = {query_key(record.query) for record in state.history}
        return tuple(
            SubQuery(
                text=query, direction=direction if self.settings.list_directions else None,
                repeated=query_key(query) in used, note="repeats an earlier query" if query_key(query) in used else "",
            )
            for direction, query in plan.steps
        )

    async def _plan(self, state: MapsState, number: int) -> AsyncIterator[BaseEvent | Plan]:
        """Directions and sub-queries, by one call or two; the Plan last. `enough` counts from round 2 on."""
        may_stop = self.settings.plan_may_stop and number > 1 and not state.insist
        enough = "If the knowledge already answers the question, reply only ENOUGH. Otherwise: " if may_stop else ""
        values = self._values(state) | {"n": str(self._width()), "enough": enough}
        if self.settings.fused and self.settings.list_directions:
            async for item in self._plan_call("plan", number, values, state):
                yield item
            return
        listed = ""
        if self.settings.list_directions:
            plan = Plan([])
            async for item in self._plan_call("directions", number, values, state):
                if isinstance(item, Plan):
                    plan = item
                else:
                    yield item
            if plan.enough or not plan.steps:
                yield plan
                return
            listed = "Directions:\n" + "\n".join(f"- {d}" for d, _ in plan.steps)
        names = [line[2:] for line in listed.splitlines()[1:]]
        values = {k: v for k, v in values.items() if k != "enough"} | {"directions": listed}
        async for item in self._query_call(number, values, state):
            if isinstance(item, list):
                yield Plan([(names[i] if i < len(names) else q, q) for i, q in enumerate(item)])
            else:
                yield item

    async def _plan_call(self, role: str, number: int, values: dict[str, str], state: MapsState) -> AsyncIterator[BaseEvent | Plan]:
        def parse(completion: Completion) -> Parsed[Plan]:
            parsed = parse_plan(completion.text, self._width(), self.settings.max_query_words)
            if parsed.value.enough and (number == 1 or state.insist):
                return Parsed(Plan([]), "failed", "said ENOUGH before any search" if number == 1 else "said ENOUGH, which was not asked")
            return parsed

        messages = self.tools.prompts[role].render(**values)
        async for item in ask(self.tools, role, number, messages, parse, hidden=self._hidden(state)):
            yield item.parsed.value if isinstance(item, Reply) else item

    async def _query_call(self, number: int, values: dict[str, str], state: MapsState) -> AsyncIterator[BaseEvent | list[str]]:
        def parse(completion: Completion) -> Parsed[list[str]]:
            return parse_queries(completion.text, self.settings.max_query_words, self._width())

        messages = self.tools.prompts["sub_queries"].render(**values)
        async for item in ask(self.tools, "sub_queries", number, messages, parse, hidden=self._hidden(state)):
            yield item.parsed.value if isinstance(item, Reply) else item

    async def _shadow(self, state: MapsState, number: int, found: tuple[RoundRecord, ...]) -> AsyncIterator[BaseEvent]:
        pool = latest((*state.history, *found), self.settings.shadow_passages)
        empty = judge_messages(self.tools, state.question, "")
        budget = await prompt_budget(self.tools, "judge", empty)
        fitted = await fit_pool(pool, budget, self.tools.engine.count_tokens)
        item = JudgeItem(question=state.question, pool=pool, messages=judge_messages(self.tools, state.question, fitted.text))
        async for event in judge(self.tools, number, item, deciding=False, dropped=fitted.dropped):
            yield event

    async def _refine(self, state: MapsState, number: int, found: tuple[RoundRecord, ...]) -> AsyncIterator[BaseEvent | State]:
        values = self._values(state)
        budget = await prompt_budget(self.tools, "refine", self.tools.prompts["refine"].render(pool="", **values))
        fitted = await fit_pool(found, budget, self.tools.engine.count_tokens)
        messages = self.tools.prompts["refine"].render(pool=fitted.text, **values)
        refined = Refined([], "")
        async for item in ask(
            self.tools, "refine", number, messages, lambda c: parse_refine(c.text), hidden=self._hidden(state), dropped=fitted.dropped
        ):
            if isinstance(item, Reply):
                refined = item.parsed.value
            else:
                yield item
        queries = [r.query for r in (*state.history, *found)]
        overlap = tuple(q for q in queries if len(q.split()) > 1 and query_key(q) in query_key(refined.summary))
        new = tuple(n for n in refined.notes if n not in state.knowledge)
        yield Knowledge(round=number, notes=new, summary=refined.summary, overlap=overlap)
        yield state.model_copy(update={
            "round": number, "knowledge": (*state.knowledge, *new), "summary": refined.summary or state.summary,
            "history": (*state.history, *found), "insist": False,
        })

    async def answer(self, state: MapsState) -> AsyncIterator[BaseEvent]:
        """Answers from knowledge and summary alone (or from the full history without disentanglement)."""
        messages = self.tools.prompts["answer"].render(**self._values(state))
        parsed: Parsed[str] = Parsed("", "failed", "no call made")
        async for item in ask(self.tools, "answer", state.round, messages, answer_of, hidden=self._hidden(state)):
            if isinstance(item, Reply):
                parsed = item.parsed
            else:
                yield item
        yield Answered(answer=parsed.value, note=parsed.note if parsed.status == "failed" else "")
