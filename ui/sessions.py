"""Opening a page must not cost what Gradio makes of it.

For each new session Gradio (6.31, `SessionState`) works out the configuration of every component of every page anew, 0.2 s of the
loop that serves everybody, so that a deep link could bring the session back. We have no deep links, and a component's configuration
is the same for all: it is worked out once, and each session gets a copy.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import gradio as gr
from gradio.blocks import BlocksConfig


def share_configurations(demo: gr.Blocks) -> None:
    """Call it after `launch`. A component that a session changes is an object of its own and still worked out anew."""
    demo.default_config = _Shared(demo.default_config)


class _Shared(BlocksConfig):
    """The components and events of `whole`; its copies, one a session, know the same configurations."""

    def __init__(self, whole: BlocksConfig) -> None:
        self.__dict__.update(vars(whole))
        self._known: dict[int, tuple[Any, dict[str, Any]]] = {}

    def __copy__(self) -> Self:
        made = type(self)(self)
        made.blocks, made.fns, made.renderables, made._known = copy(self.blocks), copy(self.fns), copy(self.renderables), self._known
        return made

    def config_for_block(self, _id: int, rendered_ids: list[int], block: Any, renderable: Any = None) -> dict[str, Any]:  # type: ignore[override]
        """As Gradio's; the session may write to what it gets."""
        known = self._known.get(_id)
        if renderable is not None or known is not None and known[0] is not block:
            return dict(BlocksConfig.config_for_block(_id, rendered_ids, block, renderable))
        if known is None:
            known = self._known[_id] = (block, BlocksConfig.config_for_block(_id, rendered_ids, block))
        return {**known[1], "props": {**known[1]["props"]}}
