"""What methods share that reason in steps and search by tags: the conversation so far, and what was found for it.

The authors continue one raw text; a chat engine gets each step as an assistant turn and each result as a user turn.
"""

from __future__ import annotations

from typing import Any

from trio_core.methods.base import Carried, State
from trio_core.methods.machine import unseen
from trio_core.methods.reading import Action, marked_answer, tagged_answer
from trio_core.methods.records import RoundRecord
from trio_core.parsing import Parsed
from trio_core.values import Message

NOT_YET = "Do not answer yet: a fact is still missing. Search for it."


class ChainState(State):
    """Steps and results as chat turns; passages apart from them."""

    turns: tuple[Message, ...] = ()
    history: tuple[RoundRecord, ...] = ()
    answer: str = ""
    note: str = ""
    insist: bool = False

    def prompted(self) -> tuple[Message, ...]:
        """The turns for the next call."""
        return (*self.turns, Message(role="user", content=NOT_YET)) if self.insist else self.turns

    def then(self, step: str, result: str = "", **changes: Any) -> ChainState:
        """The next round's state: a step and, where it searched, the result."""
        more = [Message(role="assistant", content=step)] if step.strip() else []
        more += [Message(role="user", content=result)] if result else []
        return self.model_copy(update={"round": self.round + 1, "turns": (*self.prompted(), *more), "insist": False, **changes})


def chain_text(state: ChainState, hide_passages: bool) -> Carried:
    """The conversation; the passages themselves where they stay hidden."""
    text = "\n".join(turn.content for turn in state.turns)
    return Carried(text, unseen(state.history) if hide_passages else ())


def final_answer(action: Action) -> Parsed[str]:
    """The answer of a step that does not search, with or without its tag."""
    if action.kind == "answer" and action.text:
        return Parsed(action.text)
    found = tagged_answer(action.step) or marked_answer(action.step)
    return Parsed(found, "repaired", "no answer tag") if found else Parsed("", "failed", "the model wrote no answer")
