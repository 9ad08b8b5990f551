"""Training: pipeline runs of the data folder (Algorithm 1), their steps, and every step's data. The address holds what is looked at.

The page only reads: a run is begun and gone on with on the command line, whose line it shows. While one is at work the page's script
asks again, and what has changed takes the place of what it was.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import gradio as gr
from pydantic import ValidationError

from training.footprint import Footprint
from training.pipeline.browse import Curve, RunSight, curve, find_runs, open_run, small
from training.pipeline.command import RUNS
from training.pipeline.data import files_of, read_data
from training.pipeline.serving import AGENTS, FOOTPRINT, SETTINGS
from training.progress import FILE as PROGRESS
from trio_core.errors import TrioscopeError
from ui.context import UiContext
from ui.render.base import esc
from ui.render.training import Asked, Shown, list_html, run_html, step_html
from ui.theme import asset

METRICS = "metrics.jsonl"
COMMANDS = ("python -m training pipeline plan --profile trio-4b", "python -m training pipeline run --profile cpu-smoke")
log = logging.getLogger(__name__)


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """One piece, made anew whenever the page is opened."""
    gr.HTML("", head=f"<style>{asset('training.css')}</style>", visible="hidden")

    async def look(data: Any) -> dict[str, str]:
        body = data if isinstance(data, dict) else {}
        query = body.get("query")
        html = await asyncio.to_thread(whole_html, ctx, read_asked(query if isinstance(query, dict) else {}))
        mark = hashlib.sha256(html.encode()).hexdigest()
        return {"mark": mark} if mark == body.get("mark") else {"mark": mark, "html": html}

    def show(request: gr.Request) -> str:
        return whole_html(ctx, read_asked(dict(request.query_params)))

    # The template must be a plain `${value}`: see ui.shell.error_line.
    piece = gr.HTML("", html_template="${value}", apply_default_css=False, js_on_load=asset("training.js"), elem_id="ts-training",
                    server_functions=[look])
    demo.load(show, None, [piece], show_progress="hidden", api_visibility="private")


def read_asked(query: Mapping[str, Any]) -> Asked:
    """What an address asks for."""
    def text(name: str, most: int) -> str:
        return str(query.get(name) or "")[:most]

    page = text("page", 50)
    return Asked(text("run", 400), text("step", 40), text("data", 80), text("only", 40),
                 int(page) if page.isascii() and page.isdigit() and len(page) < 10 else 1)


def whole_html(ctx: UiContext, asked: Asked) -> str:
    """What the page holds, or what is wrong; `data-working` has its script ask again."""
    try:
        html, working = page_html(ctx, asked)
    except TrioscopeError as error:
        html = f'<p class="tr-back"><a href="./training">All pipeline runs</a></p><p class="err" role="alert">{esc(error)}</p>'
        working = False
    return f'<div class="tr-whole"{" data-working=1" if working else ""}>{html}</div>'


def page_html(ctx: UiContext, asked: Asked) -> tuple[str, bool]:
    """The list, or a run with the step that is looked at, and whether a run in it is at work. Raises TrioscopeError."""
    data_dir, now = ctx.settings.data_dir, datetime.now(UTC)
    if not asked.run:
        runs = find_runs(data_dir)
        working = any(run.working(now) for run in runs)
        return list_html(runs, COMMANDS, str(data_dir / RUNS), working), working
    run = open_run(data_dir, asked.run)
    working = run.working(now)
    head = run_html(run, asked, working)
    return head + step_html(run.step(asked.step), asked, shown(run, asked)) if asked.step else head, working


def shown(run: RunSight, asked: Asked) -> Shown:
    """What there is of a step; a file that cannot be read is said, and the others are shown."""
    step, problems = run.step(asked.step).name, list[str]()
    files, data = files_of(run, step), None
    if files:
        try:
            chosen = next((file for file in files if file.name == asked.data), files[0])
            data = read_data(run, step, chosen, asked.page, asked.only)
        except TrioscopeError as error:
            problems.append(str(error))
    card = run.folder / step / AGENTS.get(step, "") / "README.md"
    try:
        words = small(card) if step in AGENTS and card.is_file() else ""
        curves, footprint = _curves(run, step), _footprint(run) if step == "serving" else None
    except (TrioscopeError, OSError, ValidationError) as error:
        log.warning("step %s of %s: %s", step, run.folder, error)
        return Shown(files, data, (), "", None, (), (*problems, f"a file of this step cannot be read: {str(error)[:300]}"))
    return Shown(files, data, curves, words, footprint, _commands(run) if step == "serving" else (), problems)


def _commands(run: RunSight) -> list[tuple[str, str]]:
    path = run.folder / SETTINGS
    if not path.is_file():
        return []
    serve = shlex.join(["python", "app.py", "--profile", "vllm", "--settings", str(path)])
    return [("The app with these agents: it attaches to the vLLM server of engine.base_url, or starts one with "
             "--set engine.vllm.start=true:", serve)]


def _curves(run: RunSight, step: str) -> list[tuple[str, Curve]]:
    places = {"answer": (("Stage 1", "stage1"), ("Stage 2", "stage2")), "query": (("GRPO", "."),)}.get(step, ())
    found = [(name, curve(path)) for name, place in places if (path := run.folder / step / place / METRICS).is_file()]
    if step == "judge" and (steps := curve(run.folder / PROGRESS, kind="step")).points:
        found.append(("SFT", steps))
    return found


def _footprint(run: RunSight) -> Footprint | None:
    path = run.folder / "serving" / FOOTPRINT
    return Footprint.model_validate_json(small(path)) if path.is_file() else None
