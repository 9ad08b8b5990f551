"""The first half of the Judge page: counts of labels, making demo items, freezing training sets and downloading them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import gradio as gr
from pydantic import ValidationError

from storage.values import LabelSource, Snapshot, SnapshotRequest, Split
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.demo_items import make_items
from ui.pages.judge_ui import QUIET, html
from ui.render import judge as parts

FIELDS = {"held_out_fraction": "held-out share", "seed": "seed", "max_rows": "most training rows", "sources": "sources"}


@dataclass(frozen=True)
class DataSection:
    """What the rest of the page needs of this section."""

    snapshot: gr.Dropdown
    outputs: list[Any]
    refresh: Callable[..., Any]


def data_section(ctx: UiContext) -> DataSection:
    """Labels, then training sets."""
    counts = _labels(ctx)
    with gr.Column(elem_classes="jd-card"):
        html("<h2>2 · Training set</h2><p class=jd-soft>A frozen copy of the labels of this moment, split by question: no question stands on "
                "both sides, and a held-out question stays held out in later sets.</p>")
        with gr.Row():
            with gr.Column(scale=4, min_width=280):
                form = _form()
                make = gr.Button("Freeze a training set", variant="primary", elem_id="jd-freeze")
                said = html("")
            with gr.Column(scale=7, min_width=320):
                snapshot = gr.Dropdown([], label="Snapshot", elem_id="jd-snapshot", interactive=True)
                manifest = html("")
                with gr.Row():
                    train = gr.DownloadButton("Training rows (JSONL)", visible=False, size="sm", elem_id="jd-download-train")
                    held_out = gr.DownloadButton("Held-out rows (JSONL)", visible=False, size="sm")
    shown = [manifest, train, held_out]

    def show(chosen: int | None) -> list[Any]:
        return _shown(ctx, chosen)

    def freeze(held: float, seed: float, sources: list[str], balance: bool, most: float | None, request: gr.Request) -> list[Any]:
        ctx.who(request)
        try:
            made = ctx.store.create_snapshot(snapshot_request(held, seed, sources, balance, most))
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [parts.note(f"Snapshot {made.id} is frozen: {made.rows('train')} training and {made.rows('held_out')} held-out rows.", "good"),
                _choices(ctx, made.id)]

    def refresh() -> list[Any]:
        return [parts.counts_html(ctx.store.label_counts()), _choices(ctx, None)]

    make.click(freeze, form, [said, snapshot], api_visibility="private", trigger_mode="once")
    snapshot.change(show, snapshot, shown, **QUIET)
    return DataSection(snapshot, [counts, snapshot], refresh)


def _labels(ctx: UiContext) -> gr.HTML:
    with gr.Column(elem_classes="jd-card"):
        html("<h2>1 · Labels</h2>")
        counts = html('<div class="jd-figures jd-wait"></div>')
        with gr.Row():
            make = gr.Button("Make items from the demo questions", size="sm", elem_id="jd-make", scale=0, min_width=280)
            gr.Button("Label items", link="annotate", size="sm", scale=0, min_width=140)
        said = html("")

    def run(request: gr.Request) -> Iterator[list[Any]]:
        ctx.who(request)
        for step in make_items(ctx.training):
            if step.failed:
                yield [parts.note(step.text, "bad"), gr.skip()]
            elif step.done:
                yield [parts.note(step.text, "good"), parts.counts_html(ctx.store.label_counts())]
            else:
                yield [parts.progress(step.text, step.share), gr.skip()]

    make.click(run, None, [said, counts], show_progress="hidden", api_visibility="private", concurrency_limit=4)
    return counts


def _form() -> list[Any]:
    default = SnapshotRequest()
    with gr.Row():
        held = gr.Number(default.held_out_fraction, label="Held-out share", step=0.05, min_width=110)
        seed = gr.Number(default.seed, label="Seed", precision=0, min_width=90)
        most = gr.Number(0, label="Most rows (0 = all)", precision=0, min_width=130)
    sources = gr.CheckboxGroup([("human labels", "human"), ("gold labels", "gold")], value=["human", "gold"], label="Sources",
                               info="A human label wins over a gold one.")
    balance = gr.Checkbox(default.balance, label="Balance the classes of the training side")
    return [held, seed, sources, balance, most]


def snapshot_request(held: float, seed: float, sources: list[str], balance: bool, most: float | None) -> SnapshotRequest:
    """The form as a request (an empty or zero `most` = all rows). Raises InputError that names the field."""
    known = [source for source in sources if source in get_args(LabelSource)]
    if not known:
        raise InputError("choose at least one source of labels: human or gold")
    try:
        return SnapshotRequest(held_out_fraction=held, seed=seed, sources=frozenset(known), balance=balance, max_rows=most or None)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise InputError(f"{FIELDS.get(name, name)}: {first['msg'].lower()} (got {first['input']!r})") from error


def _choices(ctx: UiContext, chosen: int | None) -> Any:
    """All snapshots; the newest is chosen unless one is given. A page that is open already keeps its choice by `change`."""
    found = ctx.store.snapshots()
    choices = [(parts.snapshot_name(s), s.id) for s in found]
    return gr.Dropdown(choices=choices, value=chosen or (found[0].id if found else None),
                       info=None if found else "None yet. Freeze one on the left.")


def _shown(ctx: UiContext, chosen: int | None) -> list[Any]:
    hidden = gr.DownloadButton(visible=False)
    if chosen is None:
        return ["", hidden, hidden]
    try:
        snapshot = ctx.store.snapshot(int(chosen))
        return [parts.manifest_html(snapshot), _download(ctx, snapshot, "train"), _download(ctx, snapshot, "held_out")]
    except (TrioscopeError, ValueError) as error:
        return [parts.note(str(error), "bad"), hidden, hidden]


@lru_cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Files for download; gone when the app ends."""
    return tempfile.TemporaryDirectory(prefix="trioscope-export-")


def _download(ctx: UiContext, snapshot: Snapshot, split: Split) -> Any:
    """A snapshot never changes, so its file is written once."""
    if not snapshot.rows(split):
        return gr.DownloadButton(visible=False)
    path = Path(_folder().name) / f"judge-snapshot-{snapshot.id}-{split.replace('_', '-')}-{snapshot.manifest.content_hash[:8]}.jsonl"
    if not path.exists():
        ctx.store.write_jsonl(snapshot.id, split, path)
    return gr.DownloadButton(value=str(path), visible=True)
