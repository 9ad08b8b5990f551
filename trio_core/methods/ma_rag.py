"""MA-RAG: a planner, and for each step of the plan a definer, an extractor for each passage and an answerer (METHODS section 16).

A round is a step of the plan. The answerer sees notes, never passages; the last call sees the steps' answers alone.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.errors import InputError
from trio_core.events import BaseEvent, Knowledge, RoundStarted, SubQueries
from trio_core.evidence import VoteLabel
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Machine, PresetSettings, answered, unseen
from trio_core.methods.reading import read_fields, short
from trio_core.methods.records import RoundRecord
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed, lines_of, parse_queries, visible_text
from trio_core.values import Completion, PoolEntry, SubQuery, Value


class MaRagSettings(PresetSettings):
    """MA-RAG's settings; defaults are the authors', but for the limit of steps, which is ours."""

    presets: ClassVar = {"author": {"top_k": 10, "max_steps": 6}, "small": {"top_k": 2, "max_steps": 2}}
    preset: Literal["author", "small"] = "author"
    """Fills the settings that you leave as they are."""
    top_k: int = Field(default=10, ge=1, le=30)
    """Each passage costs a call."""
    max_steps: int = Field(default=6, ge=1, le=12)
    """Steps of the plan at most."""


class StepDone(Value):
    """A step of the plan as a task, and its answer."""

    task: str
    answer: str


class MaRagState(State):
    """Plan and answers; passages are hidden once they are read."""

    plan: tuple[str, ...] = ()
    done: tuple[StepDone, ...] = ()
    history: tuple[RoundRecord, ...] = ()


class MaRag(Machine[MaRagState]):
    """MA-RAG as a state machine: a round for each step of the plan."""

    name: ClassVar[str] = "ma_rag"
    title: ClassVar[str] = "MA-RAG"
    about: ClassVar[str] = "Plans steps, turns each into a task, reads every passage by itself, and sums the answers up."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine; one call for each passage, so a server that batches helps.",
        differs="The authors ask OpenAI models for JSON by function calls at temperature 0.3 and skip a question whose reply does not fit; "
        "here plain labelled lines are asked for at temperature 0, JSON is read too, and a reply that fits neither is mended: no "
        "plan means one step, no task means the step itself. Steps are limited.",
    )
    roles: ClassVar[tuple[str, ...]] = ("plan", "define", "extract", "solve", "aggregate", "answer")
    settings_type: ClassVar[type[MethodSettings]] = MaRagSettings
    state_type = MaRagState
    limit = "max_steps"
    settings: MaRagSettings

    def max_calls(self) -> tuple[int, int]:
        """A plan; a task, the extracts and an answer for each step; the summary."""
        s = self.settings
        return 1 + s.max_steps * (2 + s.top_k) + 1, s.max_steps

    def carried(self, state: MaRagState) -> Carried:
        """Plan and answers; the passages are hidden."""
        return Carried("\n".join((*state.plan, _done(state))), unseen(state.history))

    def forked(self, state: MaRagState, verdict: VoteLabel) -> MaRagState:
        """Goes on only while the plan has further steps."""
        if verdict == "insufficient" and state.round >= len(state.plan):
            raise InputError(
                f"round {state.round} was the last step of the plan, so there is nothing to go on with; fork from an earlier round"
            )
        return super().forked(state, verdict)

    async def round(self, state: MaRagState) -> AsyncIterator[BaseEvent | State]:
        """The plan, in the first round; then a step."""
        number = state.round + 1
        yield RoundStarted(round=number)
        if not state.plan:
            planned = self.ask("plan", number, lambda c: parse_plan_steps(c, self.settings.max_steps), question=state.question)
            async for event in planned:
                yield event
            state = state.model_copy(update={"plan": tuple(planned.value) or (state.question,)})
        step = state.plan[number - 1]
        plan = "\n".join(f"{n}. {s}" for n, s in enumerate(state.plan, 1))
        defined = self.ask(
            "define",
            number,
            lambda c: parse_task(c, step),
            hidden=unseen(state.history),
            question=state.question,
            plan=plan,
            step=step,
            done=_done(state),
        )
        async for event in defined:
            yield event
        aggregate, task = defined.value
        solved: Parsed[tuple[str, bool]] = Parsed(("", False), "failed")
        async for item in self._aggregate(state, number, step, task) if aggregate else self._look_up(state, number, step, task):
            if isinstance(item, Parsed):
                solved = item
            elif isinstance(item, MaRagState):
                state = item
            else:
                yield item
        answer, success = solved.value
        stop = "step_failed" if not success else "plan_done" if number >= len(state.plan) else ""
        done = (*state.done, StepDone(task=task, answer=answer or "not found"))
        yield state.model_copy(update={"round": number, "done": done, "stop": stop})

    async def _look_up(
        self, state: MaRagState, number: int, step: str, task: str
    ) -> AsyncIterator[BaseEvent | Parsed[tuple[str, bool]] | MaRagState]:
        """Search, an extract for each passage, an answer from the extracts. The state keeps the passages."""
        query = SubQuery(text=task, direction=step if step != task else None)
        found = self.find(number, (query,), self.settings.top_k, state.history)
        async for event in found:
            yield event
        notes = []
        for hit in found.records[0].hits:
            pool = (PoolEntry(query=task, hits=(hit,)),)
            read = self.ask("extract", number, parse_note, pool=pool, branch=hit.passage.title or hit.passage.id, task=task)
            async for event in read:
                yield event
            if read.value:
                notes.append(read.value)
        listed = "\n".join(f"- {note}" for note in notes) or "- nothing relevant was found"
        solved = self.ask("solve", number, parse_solution, hidden=unseen(found.records), task=task, notes=listed)
        async for event in solved:
            yield event
        yield Knowledge(round=number, notes=tuple(notes), summary=f"{task} {solved.value[0]}".strip())
        yield state.model_copy(update={"history": (*state.history, *found.records)})
        yield solved.parsed

    async def _aggregate(self, state: MaRagState, number: int, step: str, task: str) -> AsyncIterator[BaseEvent | Parsed[tuple[str, bool]]]:
        """An answer from the task alone."""
        yield SubQueries(
            round=number, queries=(SubQuery(text=task, direction=step, repeated=True, note="answered from the steps before, no search"),)
        )
        solved = self.ask("aggregate", number, parse_solution, hidden=unseen(state.history), task=task)
        async for event in solved:
            yield event
        yield solved.parsed

    async def answer(self, state: MaRagState) -> AsyncIterator[BaseEvent]:
        """One call that sees the question and the steps' answers."""
        asked = self.ask("answer", state.round, answer_of, hidden=unseen(state.history), question=state.question, done=_done(state))
        async for event in asked:
            yield event
        yield answered(asked.parsed)


def _done(state: MaRagState) -> str:
    return "\n".join(f"{n}. {s.task} Answer: {s.answer}" for n, s in enumerate(state.done, 1)) or "nothing yet"


def parse_plan_steps(completion: Completion, limit: int) -> Parsed[list[str]]:
    """A numbered list, plain lines, or JSON with a list of strings; the analysis before it is no step."""
    shown = visible_text(completion.text).value
    kept = "\n".join(line for line in lines_of(shown) if not re.match(r"^\W*(?:analysis|plan|steps?)\W*:", line, re.IGNORECASE))
    if "{" in shown:
        fields = read_fields(shown, ("steps", "step", "plan"))
        kept = next(iter(fields.values()), kept)
    found = parse_queries(kept, max_words=60, limit=99)
    if not found.value:
        return Parsed([], "failed", visible_text(completion.text).note or "no plan; the question is the only step")
    cut = len(found.value) > limit
    return Parsed(
        found.value[:limit], "repaired" if cut else found.status, f"{len(found.value)} steps, {limit} taken" if cut else found.note
    )


def parse_task(completion: Completion, step: str) -> Parsed[tuple[bool, str]]:
    """(whether it only aggregates, task) from `Type:` and `Task:`; without a task the first line, else the plan's step."""
    fields = read_fields(completion.text, ("type", "task"))
    aggregate = "aggregat" in re.split(r"\W+or\W+", fields.get("type", "").lower())[0]  # the first, where a model copies the choice
    if fields.get("task"):
        return Parsed((aggregate, fields["task"]))
    first = next(iter(lines_of(visible_text(completion.text).value)), "")
    if re.search(r"\w", first) and not fields and not first.startswith("{"):
        return Parsed((False, first), "repaired", "no Task; the first line taken")
    return Parsed((aggregate, step), "failed", "no task; the plan's step taken")


def parse_note(completion: Completion) -> Parsed[str]:
    """An extract in one line; empty where the passage holds nothing."""
    shown = visible_text(completion.text)
    text = " ".join(shown.value.split())
    if not text:
        return Parsed("", "failed", shown.note or "empty output")
    return Parsed("" if re.match(r"^\W*(?:none|nothing|no relevant|not relevant|irrelevant)\b", text, re.IGNORECASE) else text)


def parse_solution(completion: Completion) -> Parsed[tuple[str, bool]]:
    """(answer, success) from `Answer:` and `Success:`; without them the first line is the answer."""
    fields = read_fields(completion.text, ("analysis", "answer", "success", "rating"))
    if fields.get("answer"):
        return Parsed((short(fields["answer"]), not fields.get("success", "yes").lower().startswith(("no", "false"))))
    plain = answer_of(completion)
    if fields or not plain.value or plain.value.startswith("{"):
        return Parsed(("", False), "failed", "no answer in the output" if plain.value else plain.note)
    return Parsed((plain.value, True), "repaired", "no Answer; the first line taken")
