"""What a board can do to runs and verdicts: stop, continue, correct, undo, fork. Every handler asks who does it."""

from __future__ import annotations

import re
from typing import Any

import gradio as gr

from storage import LabelConflict
from storage.values import LabelInput
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.live import Feed, run_ids

CLIENT_UUID = re.compile(r"[A-Za-z0-9-]{8,64}")


class Actions:
    """The handlers of one board."""

    def __init__(self, ctx: UiContext, feed: Feed) -> None:
        self._ctx, self._feed = ctx, feed

    def wire(self, board: gr.HTML, stop: gr.Button) -> None:
        """Connects the board's events. Their result is the board's value with a new mark, upon which it asks for news."""
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        stop.click(self.stop, [board], [board], api_name="stop", show_progress="hidden")
        board.fix(self.fix, [board], [board], **quiet)
        board.undo(self.undo, [board], [board], **quiet)
        board.resume(self.resume, [board], [board], **quiet)
        board.fork(self.fork, [board], [board], **quiet)

    def stop(self, value: Any) -> dict[str, Any]:
        """Stops the runs of a board that have not ended."""
        for run_id in run_ids(_runs(value)):
            self._ctx.workbench.stop_run(run_id)
        return _again(value)

    def resume(self, value: Any, event: gr.EventData) -> dict[str, Any]:
        """Continues a run that was interrupted, stopped or failed."""
        try:
            (run_id,) = run_ids([_field(event, "run")])
            self._ctx.workbench.resume_run(run_id)
            self._feed.views.reopened(run_id)
        except TrioscopeError as error:
            gr.Warning(str(error), title="Not continued")
        return _again(value)

    def fork(self, value: Any, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Continues a run from a round with a person's verdict, as a run of its own, and opens both side by side."""
        try:
            return _again(value) | {"goto": forked(self._ctx, event, self._ctx.who(request))}
        except TrioscopeError as error:
            gr.Warning(str(error), title="Not forked")
        return _again(value)

    def fix(self, value: Any, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Stores a correction of a verdict."""
        try:
            run_id, number = self._target(event)
            view = self._feed.views.update(run_id)
            verdict = view.round(number).verdict
            assert verdict is not None
            item = self._ctx.store.item_by_hash(verdict.item.content_hash)
            if item is None:
                raise InputError("this verdict has no label item in the store; nothing was saved")
            self._ctx.store.add_label(_label(event, item.id, self._ctx.who(request)))
            view.refresh_fix(number)
        except (TrioscopeError, LabelConflict) as error:
            gr.Warning(str(error), title="Not saved")
        return _again(value)

    def undo(self, value: Any, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Withdraws the label of this person on this round's item."""
        try:
            run_id, number = self._target(event)
            view = self._feed.views.update(run_id)
            verdict = view.round(number).verdict
            assert verdict is not None
            self._withdraw(verdict.item.content_hash, self._ctx.who(request))
            view.refresh_fix(number)
        except TrioscopeError as error:
            gr.Warning(str(error), title="Not undone")
        return _again(value)

    def _withdraw(self, content_hash: str, who: str) -> None:
        item = self._ctx.store.item_by_hash(content_hash)
        mine = [label for label in self._ctx.store.current_labels(item.id) if label.annotator == who] if item else []
        if not mine:
            raise InputError(f"{who!r} has no label on this item that could be undone")
        self._ctx.store.withdraw(mine[0].id, who)

    def _target(self, event: gr.EventData) -> tuple[str, int]:
        (run_id,) = run_ids([_field(event, "run")])
        number = _field(event, "round")
        if not isinstance(number, int) or not 0 < number < 10_000:
            raise InputError(f"round {number!r} is no round of a run")
        return run_id, number


def forked(ctx: UiContext, event: gr.EventData, who: str) -> str:
    """Forks the run that a component names, after `round` with the verdict `value`; the address that shows both. Raises InputError."""
    (run_id,) = run_ids([_field(event, "run")])
    number, verdict, note = _field(event, "round"), _field(event, "value"), _field(event, "note")
    if not isinstance(number, int) or not 0 < number < 10_000 or verdict not in ("sufficient", "insufficient"):
        raise InputError("a fork needs a round and a verdict, sufficient or insufficient")
    text = note[:2000] if isinstance(note, str) else ""
    return f"./compare?runs={run_id},{ctx.workbench.fork_run(run_id, number, verdict, by=who, note=text)}"


def _label(event: gr.EventData, item_id: int, who: str) -> LabelInput:
    given, uuid, note = _field(event, "value"), _field(event, "uuid"), _field(event, "note")
    if given not in ("sufficient", "insufficient", "unsure"):
        raise InputError(f"{given!r} is no label; choose sufficient, insufficient or unsure")
    if not isinstance(uuid, str) or not CLIENT_UUID.fullmatch(uuid):
        raise InputError("the form has no usable id; reload the page")
    text = note if isinstance(note, str) else ""
    took = _field(event, "ms")
    milliseconds = int(took) if isinstance(took, (int, float)) and 0 <= took < 1e9 else 0
    return LabelInput(
        item_id=item_id, annotator=who, value=given, client_uuid=uuid, note=text, blind=False, milliseconds=milliseconds, source="trace",
    )


def _field(event: gr.EventData, name: str) -> Any:
    data = event._data
    return data.get(name) if isinstance(data, dict) else None


def _runs(value: Any) -> list[Any]:
    runs = value.get("runs") if isinstance(value, dict) else None
    return runs if isinstance(runs, list) else []


def _again(value: Any) -> dict[str, Any]:
    """The same view with another mark: the browser asks for news at once."""
    ids = list(run_ids(_runs(value)))
    url = value.get("url") if isinstance(value, dict) else ""
    mark = value.get("mark", 0) if isinstance(value, dict) else 0
    return {"runs": ids, "url": url if isinstance(url, str) else "", "mark": mark + 1 if isinstance(mark, int) else 1}
