"""Methods whose trained models continue one raw text: chat templates rendered here, the text so far, the refusal.

Search-R1 and R1-Searcher share a loop: think, search by tags, read what was found, answer. They differ in tags and limits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import ClassVar, Literal, TypeVar

from trio_core.errors import SettingsError
from trio_core.events import BaseEvent, Hidden, RoundStarted
from trio_core.methods.base import Carried, Reply, State, Tools, ask
from trio_core.methods.machine import Asked, Machine, answered, sub_queries
from trio_core.methods.reading import Action, read_action
from trio_core.methods.records import RoundRecord
from trio_core.parsing import Parsed
from trio_core.pool import passage_block
from trio_core.values import Completion, Hit, Message

T = TypeVar("T")
Template = Literal["chatml", "llama3", "none"]
TEMPLATES: dict[str, str] = {
    "chatml": "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n",
    "llama3": "<|start_header_id|>user<|end_header_id|>\n\n{user}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "none": "{user}",
}
"""How a user turn becomes text, by family of models (Qwen, Llama 3); the server adds the text's first token itself."""

AGAIN = "\nA fact is still missing, so I search once more.\n"
"""Put behind an answer that a person does not accept."""


class EngineLacks(SettingsError):
    """The method needs what this engine cannot do."""


async def need_raw(tools: Tools, method: str) -> None:
    """Raises EngineLacks where the engine continues no raw text."""
    known = await tools.engine.probe()
    if not known.raw:
        raise EngineLacks(
            f"{method} needs a server that continues a raw text (/v1/completions), and the one of model {known.model!r} does not; "
            "use the embedded engine, or vLLM serving one of the method's own checkpoints"
        )


def continue_text(
    tools: Tools,
    role: str,
    number: int,
    text: str,
    parse: Callable[[Completion], Parsed[T]],
    *,
    stop: tuple[str, ...] = (),
    hidden: tuple[Hidden, ...] = (),
    branch: str | None = None,
    alternatives: int = 0,
) -> Asked[T]:
    """One raw call; the event holds the text as one message."""

    async def items() -> AsyncIterator[BaseEvent | Reply]:
        messages = (Message(role="user", content=text),)
        async for item in ask(
            tools, role, number, messages, parse, hidden=hidden, branch=branch, stop=stop, raw=True, alternatives=alternatives
        ):
            yield item

    return Asked(items())


class TextState(State):
    """What the model wrote and was given, as one text."""

    text: str = ""
    history: tuple[RoundRecord, ...] = ()
    answer: str = ""
    note: str = ""
    insist: bool = False


class RawSearch(Machine[TextState]):
    """The loop of models that were trained to search by tags. A round is a step of the model."""

    state_type = TextState
    limit = "max_turns"
    close: ClassVar[str]
    """Ends a search."""
    information: ClassVar[tuple[str, str]]
    """Stand around what was found."""
    correction: ClassVar[str] = ""
    """Given after a step that neither searches nor answers; empty = such a step ends the run."""

    def rounds(self) -> int:
        """The searching turns and one that only answers."""
        return int(self.settings.max_turns) + 1

    def max_calls(self) -> tuple[int, int]:
        """A step a turn; each but the last may search once."""
        return self.rounds(), self.rounds() - 1

    def carried(self, state: TextState) -> Carried:
        """The whole text; nothing is hidden."""
        return Carried(state.text)

    def opening(self, question: str) -> str:
        """The prompt as raw text."""
        prompt = self.tools.prompts["step"]
        user = "\n\n".join(m.content for m in prompt.render(question=question))
        return TEMPLATES[self.settings.template].replace("{user}", user)

    def shown(self, hits: Sequence[Hit]) -> list[str]:
        """The passages as the model was trained to read them."""
        return [passage_block(n, h.passage.title, h.passage.text) for n, h in enumerate(hits, 1)]

    def query(self, text: str) -> str:
        """The search as it is sent."""
        return text

    async def round(self, state: TextState) -> AsyncIterator[BaseEvent | State]:
        """One step of the model and, where it searches, the result."""
        number = state.round + 1
        if number == 1:
            await need_raw(self.tools, self.name)
        yield RoundStarted(round=number)
        if state.insist:
            state = state.model_copy(update={"text": state.text + AGAIN, "insist": False})
        step = continue_text(
            self.tools, "step", number, self.opening(state.question) + state.text, self._read, stop=(self.close, "</answer>")
        )
        async for event in step:
            yield event
        action, state = step.value, state.model_copy(update={"round": number, "text": state.text + step.value.step})
        if action.kind == "answer":
            yield state.model_copy(
                update={"answer": action.text, "stop": "answered" if action.text else "no_output", "note": "the answer is empty"}
            )
            return
        if number == self.rounds():
            yield state.model_copy(update={"note": "the last turn held no answer"})
            return
        if action.kind == "none":
            stop = "" if self.correction else "no_output"
            yield state.model_copy(update={"text": state.text + self.correction, "stop": stop, "note": step.parsed.note})
            return
        queries = sub_queries([self.query(action.text)])
        found = self.find(number, queries, self.settings.top_k, state.history)
        async for event in found:
            yield event
        before, after = self.information
        result = f"{before}{await self._fitting(self.shown(found.records[0].hits))}{after}"
        yield state.model_copy(update={"text": state.text + result, "history": (*state.history, *found.records)})

    def _read(self, completion: Completion) -> Parsed[Action]:
        """The action; the step keeps the thinking, and gets back the closing tag that the stop string took."""
        raw = completion.text
        if completion.finish_reason != "length" and "<answer>" in raw and "</answer>" not in raw:
            raw += "</answer>"
        bare = completion.model_copy(update={"text": raw.replace("<think>", " ").replace("</think>", " ")})
        parsed = read_action(bare)
        if parsed.value.kind != "search":
            return parsed._replace(value=parsed.value._replace(step=raw))
        head, tag, _ = raw.partition(self.close)
        return parsed._replace(value=parsed.value._replace(step=head + (tag or self.close)))

    async def _fitting(self, blocks: list[str]) -> str:
        """The passages up to the limit of a result; the first always."""
        kept: list[str] = []
        room = int(self.settings.observation_tokens)
        for block in blocks:
            room -= await self.tools.engine.count_tokens(block)
            if kept and room < 0:
                break
            kept.append(block)
        return "\n".join(kept)

    async def answer(self, state: TextState) -> AsyncIterator[BaseEvent]:
        """What the model's own turns answered; no call."""
        yield answered(Parsed(state.answer, "ok" if state.answer else "failed", state.note or "the turns ended before an answer"))
