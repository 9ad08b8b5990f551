"""Tells a model's thinking from its answer, in finished texts and in streams."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.values import Completion

OPEN, CLOSE = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str, str]:
    """(answer, thinking). The last `</think>` parts them, even where a chat template has eaten the opening tag.

    Thinking that never closes was cut off: it is no answer, so the answer is empty.
    """
    thought, closed, answer = text.rpartition(CLOSE)
    if closed:
        return answer.lstrip(), thought.strip().removeprefix(OPEN).strip()
    if text.lstrip().startswith(OPEN):
        return "", text.lstrip().removeprefix(OPEN).strip()
    return text, ""


def cut_at_stop(done: Completion, stops: Sequence[str]) -> Completion:
    """The reply as the server would have ended it at the first stop string of the answer."""
    found = [at for stop in stops if (at := done.text.find(stop)) >= 0]
    return done.model_copy(update={"text": done.text[: min(found)], "finish_reason": "stop"}) if found else done


class ThinkingFilter:
    """Lets a stream's text through, without a `<think>` block at its beginning. Holds back only what may become one."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "undecided"

    def feed(self, delta: str) -> str:
        """The part of the text that may be shown now."""
        if self._state == "text":
            return delta
        self._held += delta
        start = self._held.lstrip()
        if self._state == "undecided" and not OPEN.startswith(start[: len(OPEN)]):
            return self._release(self._held)
        if self._state == "undecided" and start.startswith(OPEN):
            self._state = "thinking"
        if self._state == "thinking" and CLOSE in self._held:
            return self._release(self._held.partition(CLOSE)[2].lstrip())
        return ""

    def rest(self) -> str:
        """What is still held back at the end and is no thinking (for example a lone `<`)."""
        return self._held if self._state == "undecided" else ""

    def _release(self, text: str) -> str:
        self._state, self._held = "text", ""
        return text
