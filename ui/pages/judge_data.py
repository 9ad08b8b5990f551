"""Labels on the Judge page: their counts, demo items, labels by votes, and labels from files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from trio_core.evidence import PAPER_SAMPLES
from ui.context import UiContext
from ui.pages.demo_items import make_items
from ui.pages.judge_ui import ACT, Section, html, whole
from ui.render import judge as parts
from ui.render.base import esc

KINDS = (".jsonl", ".csv")
VOTES = ("<p class=jd-soft>The answer agent answers several times from exactly an item’s passages. All right: sufficient. All wrong: insufficient. "
         "Mixed: no label. Only items whose question has a known answer can be voted on. Items are kept one by one, so a stopped job goes on. "
         "The labels hold for the model that answers now: <b>{}</b>.</p>")
IMPORT = ("<p class=jd-soft>Files in any of the export forms (JSON lines or CSV; of a folder, its .jsonl files). Human labels become yours, gold "
          "stays gold, votes stay votes. A line that does not fit is refused by itself; nothing is overwritten, and the same file again "
          "is all duplicates.</p>")


def labels_section(ctx: UiContext, pinned: gr.State) -> Section:
    """The first card. A votes job is put into `pinned`, so that the job panel shows it."""
    with gr.Column(elem_classes="jd-card"):
        html("<h2>1 · Labels</h2>")
        counts, votes = html('<div class="jd-figures jd-wait"></div>'), html("")
        with gr.Row():
            make = gr.Button("Make items from the demo questions", size="sm", elem_id="jd-make", scale=0, min_width=280)
            gr.Button("Label items", link="annotate", size="sm", scale=0, min_width=140)
        said = html("")
        about = _votes(ctx, pinned)
        _import(ctx, counts)

    def refresh() -> list[Any]:
        return [_counts(ctx), parts.votes_html(ctx.store.vote_counts()), VOTES.format(esc(_answer_model(ctx)))]

    def run(request: gr.Request) -> Iterator[list[Any]]:
        ctx.who(request)
        for step in make_items(ctx.training):
            if step.failed:
                yield [parts.note(step.text, "bad"), gr.skip()]
            elif step.done:
                yield [parts.note(step.text, "good"), _counts(ctx)]
            else:
                yield [parts.progress(step.text, step.share), gr.skip()]

    make.click(run, None, [said, counts], show_progress="hidden", api_visibility="private", concurrency_limit=4)
    return Section([counts, votes, about], refresh)


def _counts(ctx: UiContext) -> str:
    return parts.counts_html(ctx.store.label_counts())


def _answer_model(ctx: UiContext) -> str:
    return ctx.workbench.engine.describe("answer")[0] or "known once the engine is ready"


def _votes(ctx: UiContext, pinned: gr.State) -> gr.HTML:
    with gr.Accordion("Label by votes", open=False, elem_id="jd-votes"):
        about = html("")
        with gr.Row():
            samples = gr.Number(PAPER_SAMPLES, label="Samples an item", precision=0, min_width=120)
            warmth = gr.Number(1.0, label="Temperature", step=0.1, min_width=120)
            most = gr.Number(0, label="Most items (0 = all)", precision=0, min_width=140)
        start = gr.Button("Label by votes", size="sm", elem_id="jd-vote")
        said = html("")

    def begin(request: gr.Request, n: float | None, temperature: float | None, limit: float | None) -> list[Any]:
        ctx.who(request)
        try:
            job = ctx.training.label_by_votes(samples=n, temperature=temperature, max_items=whole(limit))
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [parts.note(f"Job {job.id} is started; it is shown under 3 · The ladder.", "good"), job.id]

    start.click(begin, [samples, warmth, most], [said, pinned], **ACT)
    return about


def _import(ctx: UiContext, counts: gr.HTML) -> None:
    with gr.Accordion("Import labels from files", open=False, elem_id="jd-import"):
        html(IMPORT)
        files = gr.File(label="Label files", file_count="multiple", file_types=list(KINDS), type="filepath", height=120)
        take = gr.Button("Import", size="sm", elem_id="jd-take")
        said = html("")

    def run(request: gr.Request, given: Sequence[str] | None) -> list[Any]:
        try:
            return [imported(ctx, ctx.require_admin(request), given or ()), _counts(ctx)]
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]

    take.click(run, files, [said, counts], **ACT)


def imported(ctx: UiContext, who: str, given: Sequence[str]) -> str:
    """Takes uploaded files in; what became of their lines. Raises InputError, StoreError."""
    paths = [Path(name) for name in given]
    if not paths:
        raise InputError("choose a .jsonl or .csv file first")
    if other := [path.name for path in paths if path.suffix.lower() not in KINDS]:
        raise InputError(f"{other[0]!r} is neither .jsonl nor .csv; nothing was imported")
    if len(paths) == 1:
        return parts.import_html(paths[0].name, ctx.store.import_labels(paths[0], paths[0].stem[:80], who))
    with tempfile.TemporaryDirectory(prefix="trioscope-import-") as folder:
        for n, path in enumerate(paths, 1):  # two files may have one name
            shutil.copyfile(path, Path(folder) / f"{n}-{path.name[-120:]}")
        name = ", ".join(path.name for path in paths)
        return parts.import_html(name, ctx.store.import_labels(Path(folder), paths[0].stem[:80], who))
