"""The frame of every page: header with links and the engine's state, keys sheet, skip link, heading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from ui import PAGES, Page
from ui.context import UiContext
from ui.render.base import esc
from ui.render.person import PERSON
from ui.render.status import status_html

BOOT = "(function go(){window.Trioscope?window.Trioscope.%s({element,trigger,props,server,watch}):setTimeout(go,20)})()"
"""`js_on_load` of our components: waits for assets/trioscope.js, which arrives with the page's head."""

KEYS = (
    ("/", "to the question"), ("Enter", "run"), ("Esc", "stop, or close"), ("j k", "next, previous round or row"), ("o", "open, close"),
    ("c", "correct the verdict"), ("f", "fork the run here"), ("?", "this sheet"),
)
KEYS_ANNOTATE = (
    ("1 2 3 0", "sufficient, insufficient, can't tell, skip"), ("4 5 6 7 8 9", "reasons, before the label"), ("n", "note"), ("u", "undo"),
    ("b", "back"), ("q", "to the queue"), ("g", "guidelines"), ("v", "reveal, after answering"),
)


def error_line() -> gr.HTML:
    """The line under a form that says what is wrong; fill it with `error_html`.

    The template must be a plain `${value}`: Gradio runs what Handlebars made of a value as a template of its own, so that a value of
    `${...}` would be code.
    """
    return gr.HTML(value="", html_template="${value}", apply_default_css=False, elem_classes=["ts-error"])


def error_html(text: str) -> str:
    """An error for `error_line`, escaped; empty for no error."""
    return f'<p class="err" role="alert">{esc(text)}</p>' if text else ""


@contextmanager
def frame(ctx: UiContext, page: Page, demo: gr.Blocks) -> Iterator[None]:
    """Everything around a page's own components."""

    def status(_: Any) -> str:
        return status_html(ctx.workbench.status(), ctx.settings)

    def person(request: gr.Request) -> dict[str, str]:
        return ctx.people.shown(request)

    header = gr.HTML(
        value=None, html_template=_header(page), js_on_load=BOOT % "header", server_functions=[status], elem_id="ts-header",
        apply_default_css=False,
    )
    demo.load(person, None, header, queue=False, show_progress="hidden", api_visibility="private")
    with gr.Column(elem_id="ts-main", elem_classes=["ts-page", f"ts-{page.module}"]):
        yield


def _header(page: Page) -> str:
    links = "".join(
        f'<a href="{p.path or "./"}"{" aria-current=page" if p is page else ""}{" class=on" if p.module in (page.module, page.under) else ""}>{esc(p.title)}</a>'
        for p in PAGES if not p.under
    )
    return (
        '<a class="skip" href="#ts-main">Skip to the content</a>'
        f'<header class="top"><a class="brand" href="./">Trioscope</a><nav aria-label="Pages">{links}</nav>'
        '<div class="engine" role="status" aria-live="polite"><span class="dot"></span>connecting</div>'
        '<button type="button" class="me" aria-haspopup="dialog"></button>'
        '<button type="button" class="keys" aria-label="Keys" aria-haspopup="dialog" title="Keys (?)">?</button></header>'
        f'<h1 class="{"sr" if page.quiet else "head"}">{esc(page.heading)}</h1>{_sheet()}{PERSON}'
    )


def _sheet() -> str:
    return (
        '<dialog class="sheet" aria-label="Keys"><form method="dialog"><button aria-label="Close">Close</button></form>'
        f"<h2>Keys</h2>{_keys(KEYS)}<h2>Annotate</h2>{_keys(KEYS_ANNOTATE)}</dialog>"
    )


def _keys(rows: tuple[tuple[str, str], ...]) -> str:
    lines = "".join(
        f"<dt>{' '.join(f'<kbd>{esc(k)}</kbd>' for k in keys.split())}</dt><dd>{esc(what)}</dd>" for keys, what in rows
    )
    return f"<dl>{lines}</dl>"
