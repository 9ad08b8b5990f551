"""Snapshots on the Judge page: the form of the mix, the manifest, and the files to download."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

import gradio as gr
from pydantic import ValidationError

from storage.formats import ExportFormat
from storage.values import HumanKind, LabelSource, Snapshot, SnapshotRequest, Split
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.judge_ui import ACT, QUIET, html, whole
from ui.render import judge as parts

SOURCES: tuple[LabelSource, ...] = get_args(LabelSource)
FIELDS = {"held_out_fraction": "held-out share", "seed": "seed", "max_rows": "most training rows", "sources": "sources",
          "human_kinds": "kinds of human labels", "caps": "most rows", "weights": "weight"}
BALANCE = (("as they are", "none"), ("as many rows of either label", "rows"), ("all rows, the rarer label weighs more", "weights"))
FORMS = (("prompt and completion (TRL, JSON lines)", "prompt_completion"), ("preference pairs (JSON lines)", "preference"),
         ("KTO (JSON lines)", "kto"), ("CSV", "csv"), ("data set folder (zip)", "folder"))


@dataclass(frozen=True)
class SnapshotSection:
    """What the rest of the page needs of this section."""

    snapshot: gr.Dropdown
    outputs: list[Any]
    refresh: Callable[..., Any]


def snapshot_section(ctx: UiContext) -> SnapshotSection:
    """The form on the left, the chosen snapshot on the right."""
    with gr.Column(elem_classes="jd-card"):
        html("<h2>2 · Training set</h2><p class=jd-soft>A frozen copy of the labels of this moment, split by question: no question stands on "
                "both sides, and a held-out question stays held out in later sets.</p>")
        with gr.Row():
            with gr.Column(scale=4, min_width=280):
                form, models = _form()
                make = gr.Button("Freeze a training set", variant="primary", elem_id="jd-freeze")
                said = html("")
            with gr.Column(scale=7, min_width=320):
                snapshot = gr.Dropdown([], label="Snapshot", elem_id="jd-snapshot", interactive=True)
                manifest = html("")
                kind = gr.Dropdown(list(FORMS), value="prompt_completion", label="Download as", elem_id="jd-form", visible=False, interactive=True)
                with gr.Row():
                    train = gr.DownloadButton("Training rows", visible=False, size="sm", elem_id="jd-download-train")
                    held_out = gr.DownloadButton("Held-out rows", visible=False, size="sm", elem_id="jd-download-held")
    shown = [manifest, kind, train, held_out]

    def show(chosen: int | None, form_name: str) -> list[Any]:
        return _shown(ctx, chosen, form_name)

    def freeze(request: gr.Request, *values: Any) -> list[Any]:
        ctx.who(request)
        try:
            made = ctx.store.create_snapshot(snapshot_request(*values))
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [parts.note(f"Snapshot {made.id} is frozen: {made.rows('train')} training and {made.rows('held_out')} held-out rows.", "good"),
                _choices(ctx, made.id)]

    def refresh() -> list[Any]:
        return [_choices(ctx, None), gr.Dropdown(choices=sorted(ctx.store.vote_counts()))]

    make.click(freeze, form, [said, snapshot], **ACT)
    gr.on([snapshot.change, kind.change], show, [snapshot, kind], shown, **QUIET)
    return SnapshotSection(snapshot, [snapshot, models], refresh)


def _form() -> tuple[list[Any], gr.Dropdown]:
    """The fields in the order of `snapshot_request`, and the one whose choices come from the store."""
    default = SnapshotRequest()
    with gr.Row():
        held = gr.Number(default.held_out_fraction, label="Held-out share", step=0.05, min_width=110)
        seed = gr.Number(default.seed, label="Seed", precision=0, min_width=90)
        most = gr.Number(0, label="Most rows (0 = all)", precision=0, min_width=130)
    sources = gr.CheckboxGroup([(words, source) for source, words in parts.SOURCES.items()], value=sorted(default.sources), label="Sources",
                               info="A human label wins over votes, votes over gold.")
    balance = gr.Dropdown(list(BALANCE), value="none", label="Classes of the training side", interactive=True)
    with gr.Accordion("Mix", open=False, elem_id="jd-mix"):
        kinds = gr.CheckboxGroup([(many, kind) for kind, (_, many) in parts.KINDS_HUMAN.items()], value=list(parts.KINDS_HUMAN),
                                 label="Human labels that train", info="The held-out side takes all of them.")
        models = gr.Dropdown([], multiselect=True, label="Votes of these answer models", info="Empty = all.", interactive=True)
        html("<p class=jd-soft>Most training rows of a source (0 = all), and their weight in the loss.</p>")
        with gr.Row():
            caps = [gr.Number(0, label=f"Most {s}", precision=0, min_width=90) for s in SOURCES]
        with gr.Row():
            weights = [gr.Number(1.0, label=f"Weight, {s}", step=0.1, min_width=90) for s in SOURCES]
    return [held, seed, most, sources, balance, kinds, models, *caps, *weights], models


def snapshot_request(held: float, seed: float, most: float | None, sources: Sequence[str], balance: str, kinds: Sequence[str],
                     models: Sequence[str] | None, *numbers: float | None) -> SnapshotRequest:
    """The form as a request. `numbers`: the caps of `SOURCES`, then their weights; empty or 0 = no cap, empty = weight 1.

    Raises InputError that names the field.
    """
    known = [source for source in sources if source in SOURCES]
    if not known:
        raise InputError("choose at least one source of labels: human, votes or gold")
    caps, weights = numbers[:len(SOURCES)], numbers[len(SOURCES):]
    try:
        return SnapshotRequest(
            held_out_fraction=held, seed=seed, max_rows=whole(most), sources=frozenset(known), vote_models=frozenset(models or ()),
            human_kinds=frozenset(kind for kind in kinds if kind in get_args(HumanKind)), balance=balance == "rows",
            class_weights=balance == "weights", caps={s: int(n) for s, n in zip(SOURCES, caps, strict=False) if n},
            weights={s: n for s, n in zip(SOURCES, weights, strict=False) if n is not None and n != 1})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        of = f" of {parts.SOURCES[str(first['loc'][1])]}" if len(first["loc"]) > 1 and first["loc"][1] in parts.SOURCES else ""
        raise InputError(f"{FIELDS.get(name, name)}{of}: {first['msg'].lower()} (got {first['input']!r})") from error


def _choices(ctx: UiContext, chosen: int | None) -> Any:
    """All snapshots; the newest is chosen unless one is given. A page that is open already keeps its choice by `change`."""
    found = ctx.store.snapshots()
    choices = [(parts.snapshot_name(s), s.id) for s in found]
    return gr.Dropdown(choices=choices, value=chosen or (found[0].id if found else None),
                       info=None if found else "None yet. Freeze one on the left.")


def _shown(ctx: UiContext, chosen: int | None, form: str) -> list[Any]:
    hidden = gr.DownloadButton(visible=False)
    if chosen is None:
        return ["", gr.Dropdown(visible=False), hidden, hidden]
    try:
        snapshot = ctx.store.snapshot(int(chosen))
        return [parts.manifest_html(snapshot), gr.Dropdown(visible=True), *_downloads(ctx, snapshot, form)]
    except (TrioscopeError, ValueError) as error:
        return [parts.note(str(error), "bad"), gr.skip(), hidden, hidden]


def _downloads(ctx: UiContext, snapshot: Snapshot, form: str) -> list[Any]:
    if form == "folder":
        return [gr.DownloadButton("Both sides (zip)", value=str(folder_file(ctx, snapshot)), visible=True), gr.DownloadButton(visible=False)]
    words: dict[Split, str] = {"train": "Training rows", "held_out": "Held-out rows"}
    return [gr.DownloadButton(name, value=str(export_file(ctx, snapshot, split, form)), visible=True) if snapshot.rows(split)
            else gr.DownloadButton(visible=False) for split, name in words.items()]


@lru_cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Files for download; gone when the app ends."""
    return tempfile.TemporaryDirectory(prefix="trioscope-export-")


def _stem(snapshot: Snapshot) -> Path:
    return Path(_folder().name) / f"judge-snapshot-{snapshot.id}-{snapshot.manifest.content_hash[:8]}"


def export_file(ctx: UiContext, snapshot: Snapshot, split: Split, form: str) -> Path:
    """One side in a form. A snapshot never changes, so its file is written once. Raises InputError for an unknown form."""
    if form not in get_args(ExportFormat):
        raise InputError(f"{form!r} is no form of a file; known are {', '.join(get_args(ExportFormat))} and folder")
    ending = "csv" if form == "csv" else "jsonl"
    path = _stem(snapshot).with_name(f"{_stem(snapshot).name}-{split.replace('_', '-')}-{form.replace('_', '-')}.{ending}")
    return path if path.exists() else ctx.store.write_export(snapshot.id, split, path, cast(ExportFormat, form))


def folder_file(ctx: UiContext, snapshot: Snapshot) -> Path:
    """Both sides as the zip of a folder that `datasets.load_dataset` reads."""
    stem = _stem(snapshot)
    path = stem.with_name(f"{stem.name}-folder.zip")
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=stem.parent) as place:
            made = ctx.store.write_folder(snapshot.id, Path(place) / stem.name)
            shutil.make_archive(str(path.with_suffix("")), "zip", root_dir=made.parent, base_dir=made.name)
    return path
