"""The Gradio pages. They show what the store and the workbench say, and hold no run and no label themselves.

To add a page: write `ui/pages/NAME.py` with `build(ctx: UiContext, demo: gr.Blocks) -> None` that makes the components and their
events (`demo.load(fn, …)` runs when this page is opened), and add one line to `PAGES`. The frame around it (header, engine
status, keys sheet, skip link, the page's `h1`) comes from `ui.shell`; style with the classes and `--ts-…` colours of
`ui/assets/trioscope.css`, never with colours of your own. Every page is a full navigation with a new session: keep state in the
URL (`gr.Request.query_params`) and in the store, not in `gr.State`. Escape all text with `ui.render.base.esc`. A handler
that changes something takes `gr.Request` and asks `ctx.who(request)`, or `ctx.require_admin(request)` for what only admins
may do; server functions of `gr.HTML` don't know who is logged in, so they only read.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import gradio as gr

    from ui.context import UiContext

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported: a lab host may have no network


class Page(NamedTuple):
    """A page: its module in `ui.pages`, its name in the header, its path, and its `h1` (shown unless `quiet`).

    `under`: the module of the page that it belongs to; it is reached from there and not from the header.
    """

    module: str
    title: str
    path: str
    heading: str
    quiet: bool = False
    under: str = ""


PAGES = (
    Page("explore", "Explore", "", "Watch one question being answered", quiet=True),
    Page("compare", "Compare", "compare", "Compare methods on one question", quiet=True),
    Page("runs", "Runs", "runs", "Runs"),
    Page("evaluate", "Evaluate", "evaluate", "Evaluate methods on a data set", quiet=True),
    Page("analysis", "Analysis", "analysis", "Analysis"),
    Page("annotate", "Annotate", "annotate", "Annotate", quiet=True),
    Page("agreement", "Agreement", "agreement", "Agreement between annotators", quiet=True, under="annotate"),
    Page("judge", "Judge", "judge", "Judge"),
    Page("training", "Training", "training", "Training of the three agents"),
)


def build_app(ctx: UiContext) -> gr.Blocks:
    """All pages of the app; the first is the one at `/`."""
    import gradio as gr

    from ui.shell import frame

    demo = gr.Blocks(title="Trioscope", analytics_enabled=False, fill_width=True)
    for page in PAGES:
        target = demo if not page.path else demo.route(page.title, page.path, show_in_navbar=False)
        with target, frame(ctx, page, demo):
            import_module(f"ui.pages.{page.module}").build(ctx, demo)
    return demo
