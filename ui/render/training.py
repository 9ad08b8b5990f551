"""The Training page in HTML: the list of pipeline runs; one run with its steps, and a step with its data, curves, card and manifest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from training.footprint import Footprint, size
from training.pipeline.browse import Curve, RunSight, StepSight
from training.pipeline.data import DataFile, DataPage
from training.pipeline.manifest import StepManifest
from ui.render.base import esc, number, plural, seconds
from ui.render.training_plot import plots_html
from ui.render.training_rows import rows_html
from ui.render.training_words import STATES, TITLES, doubts, left_out, made

MOST_TEXT = 60_000
"""Characters of a card or of settings."""
_CLASS = {"done": "finished", "begun": "live", "to do": "queued", "damaged": "failed"}


class Asked(NamedTuple):
    """What the address of the page asks for."""

    run: str = ""
    step: str = ""
    data: str = ""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """The same with changes."""
        wanted = self._replace(**changes)
        given = {k: v for k, v in wanted._asdict().items() if v and (k, v) != ("page", 1)}
        return "./training" + (f"?{urlencode(given)}" if given else "")


class Shown(NamedTuple):
    """What there is to see of a step."""

    files: Sequence[DataFile]
    data: DataPage | None
    curves: Sequence[tuple[str, Curve]]
    card: str
    footprint: Footprint | None
    problems: Sequence[str]


def list_html(runs: Sequence[RunSight], command: str, folder: str) -> str:
    """All runs; with none, how to begin one."""
    begin = (f'<p class="tr-soft">A run is begun, and gone on with, on the command line; it needs hours and a GPU for a model of use, and minutes for the check:'
             f'</p><pre tabindex="0">{esc(command)}</pre><p class="tr-soft">Runs in {esc(folder)} are shown here, and others in the data folder.</p>')
    if not runs:
        return f'<div class="empty"><p>No pipeline run yet: TRIO\'s three agents, from a question set and a corpus.</p></div><section class="tr-card">{begin}</section>'
    rows = "".join(_run_row(run) for run in runs)
    heads = "".join(f'<th scope="col"{c}>{h}</th>' for h, c in (
        ("Run", ""), ("Profile", ""), ("Base model", ""), ("Steps", ' class="num"'), ("Where it is", ""), ("Last sign of life", "")))
    return (f'<div class="scroller" tabindex="0" role="region" aria-label="Pipeline runs"><table class="runs"><thead><tr>{heads}</tr></thead>'
            f'<tbody>{rows}</tbody></table></div><details class="tr-more"><summary>Begin another</summary>{begin}</details>')


def _run_row(run: RunSight) -> str:
    address = Asked(run.id).address()
    where = "done" if run.done == len(run.steps) else run.problem or run.at or "begun"
    return (f'<tr tabindex="-1" data-href="{esc(address)}"><td class="q"><a href="{esc(address)}">{esc(run.id)}</a></td><td>{esc(run.profile.get("name", "–"))}</td>'
            f'<td class="a">{esc(_base(run))}</td><td class="num">{run.done} of {len(run.steps)}</td><td>{esc(where)}</td><td>{_when(run)}</td></tr>')


def _base(run: RunSight) -> str:
    base = run.profile.get("base")
    return str(base.get("model", "–")) if isinstance(base, dict) else "–"


def _when(run: RunSight) -> str:
    if run.changed is None:
        return "–"
    return f'<time datetime="{esc(run.changed.isoformat())}" data-date="1">{run.changed:%Y-%m-%d %H:%M}</time>'


def run_html(run: RunSight, asked: Asked) -> str:
    """Head and steps of one run."""
    problem = f'<p class="tr-bad" role="alert">{esc(run.problem)}</p>' if run.problem else ""
    finished = run.done == len(run.steps)
    at = "" if finished else f" Newest line of its progress: {esc(run.at)}." if run.at else " No progress is written yet."
    facts = (f"Profile {run.profile.get('name', 'unknown')} on {_base(run)}, seed {run.profile.get('seed', 'unknown')}. {run.done} of {len(run.steps)} steps are "
             "done.")
    again = "What is done is not done again; --again STEP makes a step and what follows anew." if finished else "The same line goes on where it stopped:"
    return (f'<p class="tr-back"><a href="./training">All pipeline runs</a></p><section class="tr-card"><h2>{esc(run.id)}</h2>{problem}'
            f'<p>{esc(facts)}{at} Last sign of life: {_when(run)}. <a href="{esc(asked.address())}">Read anew</a></p>{_steps(run, asked)}'
            f'<p class="tr-soft">{again}</p><pre tabindex="0">{esc(run.command)}</pre>{_settings(run)}</section>')


def _settings(run: RunSight) -> str:
    if not run.profile:
        return ""
    text = json.dumps(run.profile, indent=1, ensure_ascii=False)[:MOST_TEXT]
    return f'<details class="tr-more"><summary>Its profile, as it was run</summary><pre tabindex="0">{esc(text)}</pre></details>'


def _steps(run: RunSight, asked: Asked) -> str:
    heads = "".join(f'<th scope="col"{c}>{h}</th>' for h, c in (
        ("Step", ""), ("State", ""), ("Made", ""), ("Left out, and why", ""), ("Time", ' class="num"')))
    rows = "".join(_step_row(n, step, asked) for n, step in enumerate(run.steps, 1))
    return (f'<div class="tr-scroll" tabindex="0" role="region" aria-label="Steps"><table class="tr-table tr-steps"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")


def _step_row(n: int, step: StepSight, asked: Asked) -> str:
    title = f"{n} {TITLES[step.name][0]}"
    name = f'<a href="{esc(asked.address(step=step.name, data="", page=1))}#tr-step"{" aria-current=true" if asked.step == step.name else ""}>{esc(title)}</a>'
    if step.state == "to do":
        name = esc(title)
    report = step.manifest.report if step.manifest else {}
    wrong = "".join(f'<li class="tr-bad">{esc(text)}</li>' for text in doubts(step.name, report))
    kept = _list(made(step.name, report) if step.manifest else []) + (f"<ul>{wrong}</ul>" if wrong else "")
    time = seconds(step.manifest.seconds) if step.manifest else "–"
    lost = left_out(step.name, report) if step.manifest else []
    about = f'<span class="tr-soft">{esc(TITLES[step.name][1])}</span>' if not step.manifest else kept
    return (f'<tr><td>{name}</td><td><span class="state {_CLASS[step.state]}">{STATES[step.state]}</span></td><td>{about}</td>'
            f'<td>{_list(lost) or ("nothing" if step.manifest else "–")}</td><td class="num">{time}</td></tr>')


def _list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{esc(text)}</li>' for text in texts)}</ul>" if texts else ""


def step_html(step: StepSight, asked: Asked, shown: Shown) -> str:
    """One step: curves, data, model card, manifest."""
    title, about = TITLES[step.name]
    problems = "".join(f'<p class="tr-bad" role="alert">{esc(text)}</p>' for text in (*([step.problem] if step.problem else []), *shown.problems))
    curves = "".join(f"<h3>{esc(name)}</h3>{plots_html(curve)}" for name, curve in shown.curves)
    card = f'<details class="tr-more"><summary>Model card</summary><pre tabindex="0">{esc(shown.card[:MOST_TEXT])}</pre></details>' if shown.card else ""
    parts = (curves, footprint_html(shown.footprint) if shown.footprint else "", _data(asked, shown), card,
             manifest_html(step.manifest) if step.manifest else "")
    nothing = '<p class="tr-none">This step has left nothing to see yet.</p>' if not any(parts) and not problems else ""
    return f'<section class="tr-card" id="tr-step"><h2>{esc(title)}</h2><p class="tr-soft">{esc(about)}</p>{problems}{"".join(parts)}{nothing}</section>'


def _data(asked: Asked, shown: Shown) -> str:
    if shown.data is None:
        return ""
    data, at = shown.data, asked._replace(data=shown.data.file.name)
    tabs = "".join(f'<a class="btn{" on" if file is data.file else ""}" href="{esc(asked.address(data=file.name, page=1))}#tr-step"'
                   f'{" aria-current=true" if file is data.file else ""}>{esc(file.title)}</a>' for file in shown.files)
    first = (data.page - 1) * data.file.rows
    count = f"rows {first + 1:,}–{first + len(data.rows):,} of {data.total:,}" if data.rows else "no row"
    back = f'<a class="btn" href="{esc(at.address(page=data.page - 1))}#tr-step">Previous</a>' if data.page > 1 else ""
    on = f'<a class="btn" href="{esc(at.address(page=data.page + 1))}#tr-step">Next</a>' if data.page < data.pages else ""
    head = f'<h3>Data</h3><nav class="tr-tabs" aria-label="Data sets of this step">{tabs}</nav><p class="tr-soft">{esc(data.file.name)}: {count}</p>'
    return f'{head}{rows_html(data)}<div class="row paging">{back}<span class="hid">page {data.page:,} of {data.pages:,}</span>{on}</div>'


def footprint_html(found: Footprint) -> str:
    """Both ways of serving, in bytes."""
    folders = [("Base model", found.base), *((f"Adapter {part.name}, rank {part.rank}", part) for part in found.adapters)]
    rows = [(name, number(folder.parameters), size(folder.disk), size(folder.weights)) for name, folder in folders]
    n = len(found.adapters)
    rows += [(f"One base with {plural(n, 'adapter')}", "", size(found.shared.disk), size(found.shared.memory)),
             (f"{plural(n, 'checkpoint')}", "", size(found.separate.disk), size(found.separate.memory))]
    body = "".join(f'<tr><td>{esc(name)}</td>{"".join(f"<td class=num>{esc(cell)}</td>" for cell in cells)}</tr>' for name, *cells in rows)
    heads = "".join(f'<th scope="col"{" class=num" if k else ""}>{h}</th>' for k, h in enumerate(("", "Parameters", "On disk", "Weights in memory")))
    note = (f"Weights in {found.dtype}; key-value cache and activations come on top of both. The server sets aside {plural(found.slots.loras, 'slot')} of rank "
            f"{found.slots.rank} for adapters: {size(found.slots.bytes)}.")
    return (f'<h3>Footprint</h3><div class="tr-scroll" tabindex="0" role="region" aria-label="Footprint"><table class="tr-table"><thead><tr>{heads}</tr></thead>'
            f'<tbody>{body}</tbody></table></div><p class="tr-soft">{esc(note)}</p>')


def manifest_html(found: StepManifest) -> str:
    """What a step was made from and what it left, with seeds and hashes."""
    facts = [("Finished", found.finished), ("On", found.device), ("Base", found.base), ("Hash of the base", found.base_hash), ("Hash of the code", found.code),
             ("Seed", str(found.settings.get("seed", "unknown"))), ("Python", found.python), *found.versions.items(),
             *((f"From step {name}", value) for name, value in found.inputs.items())]
    rows = "".join(f"<dt>{esc(name)}</dt><dd>{esc(text)}</dd>" for name, text in facts)
    files = "".join(f"<dt>{esc(name)}</dt><dd>{esc(value)}</dd>" for name, value in found.outputs.items())
    settings = esc(json.dumps(found.settings, indent=1, ensure_ascii=False)[:MOST_TEXT])
    report = esc(json.dumps(found.report, indent=1, ensure_ascii=False)[:MOST_TEXT])
    return (f'<details class="tr-more"><summary>Manifest: seeds, hashes, settings</summary><dl class="tr-facts">{rows}</dl><h4>What it left (sha256)</h4>'
            f'<dl class="tr-facts">{files}</dl><h4>Settings</h4><pre tabindex="0">{settings}</pre><h4>Report</h4><pre tabindex="0">{report}</pre></details>')
