"""The live view: runs as blocks of HTML, of which a browser only ever gets those that it does not have yet.

Transport: the board's script asks a server function of its `gr.HTML` with the hashes of the blocks that it shows; the answer holds what
differs, and waits (up to `HOLD_S`) until something does. Against a generator that streams the component's value this needs no
place in Gradio's queue for the length of a run, survives a restart of the server and a sleeping laptop, sends every round once, and
cannot lose an update when two of them are merged. `make_board` makes the component; assets/trioscope.js patches its blocks.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from trio_core.runs import RunInfo
from ui.context import UiContext
from ui.render.base import Block
from ui.runview import Views

HOLD_S = 2.0
PAUSE_S = 0.125
"""At most 8 updates a second."""
MAX_RUNS = 8
RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Wish(NamedTuple):
    """What a browser shows: runs by column, and the hashes of its blocks."""

    runs: tuple[str, ...]
    known: dict[str, str]
    me: str = ""
    """The reader's pass: whose own labels are shown (`People.pass_of`)."""


def run_ids(value: object) -> tuple[str, ...]:
    """Ids of runs as a page sent them. Raises InputError."""
    given = value if isinstance(value, list) else []
    ids = tuple(dict.fromkeys(i for i in given if isinstance(i, str) and RUN_ID.fullmatch(i)))
    if len(ids) != len(given):
        raise InputError("the address holds something that is no run id; open a run from Runs")
    if len(ids) > MAX_RUNS:
        raise InputError(f"{len(ids)} runs are too many to compare side by side; at most {MAX_RUNS}")
    return ids


def stored_runs(ctx: UiContext, address: str) -> list[RunInfo]:
    """The runs that an address names, as far as they are in the store."""
    try:
        ids = run_ids([i for i in address.split(",") if i])
    except InputError:
        return []  # the board says what is wrong with the address
    return [info for i in ids if (info := ctx.store.run(i)) is not None]


def read_wish(data: object) -> Wish:
    """Checks what a board's script sent. Raises InputError."""
    body = data if isinstance(data, dict) else {}
    known = body.get("known")
    hashes = known if isinstance(known, dict) else {}
    return Wish(run_ids(body.get("runs")), {str(k): str(v) for k, v in hashes.items()}, str(body.get("me") or ""))


def digest(block: Block) -> str:
    """The hash that tells whether a browser has this block."""
    return hashlib.blake2b(f"{block.row},{block.col},{block.into}\n{block.html}".encode(), digest_size=8).hexdigest()


class Feed:
    """Answers the boards of all pages."""

    def __init__(self, ctx: UiContext) -> None:
        self.views = Views(ctx)
        self.people = ctx.people

    async def poll(self, data: Any) -> dict[str, Any]:
        """Blocks that differ from what the browser has; waits until there are some, the runs have ended, or `HOLD_S` is over."""
        try:
            wish = read_wish(data)
            until = time.monotonic() + HOLD_S
            while True:
                answer = await asyncio.to_thread(self.answer, wish)
                if answer["blocks"] or answer["done"] or answer["gone"] or time.monotonic() > until:
                    return answer
                await asyncio.sleep(PAUSE_S)
        except TrioscopeError as error:
            return {"error": str(error)}

    def answer(self, wish: Wish) -> dict[str, Any]:
        """What is new for a browser, at once."""
        views = [self.views.update(i, fresh=not wish.known) for i in wish.runs]
        blocks = list(self._blocks(wish.runs, self.people.of_pass(wish.me)))
        hashes = {b.key: digest(b) for b in blocks}
        return {
            "keys": list(hashes),
            "blocks": [b._asdict() | {"hash": hashes[b.key]} for b in blocks if wish.known.get(b.key) != hashes[b.key]],
            "gone": any(key not in hashes for key in wish.known),
            "done": all(v.ended for v in views),
            "now": time.time(),
            "notes": self.views.notes(wish.runs),
        }

    def _blocks(self, ids: Sequence[str], who: str | None) -> Iterator[Block]:
        yield from self.views.row_labels(ids)
        for column, run_id in enumerate(ids, 1):
            yield from self.views[run_id].blocks(column, who)


def make_board(feed: Feed, boot: str) -> gr.HTML:
    """The component: its value is `{"runs": [ids], "url": address of this view}`.

    A function, no subclass: Gradio makes such a component anew in every session, from the arguments of `gr.HTML`.
    """

    async def poll(data: Any) -> dict[str, Any]:
        return await feed.poll(data)

    # The names of our events stand in the script as strings: Gradio makes `board.fix(...)` and so on from that.
    return gr.HTML(
        value={"runs": [], "url": ""}, html_template='<div class="board" aria-live="off"></div>', elem_id="ts-board",
        js_on_load=f"{boot} // 'fix' 'undo' 'resume' 'fork'", server_functions=[poll], apply_default_css=False,
    )
