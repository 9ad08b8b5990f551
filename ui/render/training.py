"""The Training page in HTML: the list of pipeline runs; one run with its steps, and a step with its data, curves, card and manifest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from training.footprint import Footprint, size
from training.pipeline.browse import WORKING_S, Curve, RunSight, StepSight
from training.pipeline.data import DataFile, DataPage
from training.pipeline.manifest import StepManifest
from ui.render.address import address_of
from ui.render.base import esc, number, plural, seconds
from ui.render.training_plot import plots_html
from ui.render.training_rows import rows_html
from ui.render.training_words import TITLES, doubts, left_out, made

MOST_TEXT = 60_000
"""Characters of a card or of settings."""
_CLASS = {"done": "finished", "begun": "live", "to do": "queued", "damaged": "failed"}


class Asked(NamedTuple):
    """What the address of the page asks for."""

    run: str = ""
    step: str = ""
    data: str = ""
    only: str = ""
    """A value of the data's facet: difficulty, label, outcome."""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """The same with changes."""
        return address_of("training", self._replace(**changes))


class Shown(NamedTuple):
    """What there is to see of a step."""

    files: Sequence[DataFile]
    data: DataPage | None
    curves: Sequence[tuple[str, Curve]]
    card: str
    footprint: Footprint | None
    commands: Sequence[tuple[str, str]]
    """What to do with it: words, and a command."""
    problems: Sequence[str]


def list_html(runs: Sequence[RunSight], commands: Sequence[str], folder: str, working: bool = False) -> str:
    """All runs; with none, how to begin one. `working` = the page follows them."""
    begin = ('<p class="tr-soft">A run is begun, and gone on with, on the command line. Counts and cost first, then the check that takes '
             f'minutes on two cores; an agent of use takes a GPU and hours:</p>{"".join(map(_pre, commands))}'
             f'<p class="tr-soft">Runs go to {esc(folder)}; those elsewhere in the data folder are shown here too.</p>')
    if not runs:
        return ("<div class=\"empty\"><p>No pipeline run yet: TRIO's three agents, from a question set and a corpus.</p></div>"
                f'<section class="tr-card">{begin}</section>')
    rows = "".join(_run_row(run) for run in runs)
    heads = "".join(f'<th scope="col"{c}>{h}</th>' for h, c in (
        ("Run", ""), ("Profile", ""), ("Base model", ""), ("Steps", ' class="num"'), ("Where it is", ""), ("Last sign of life", "")))
    follows = f"This list follows its runs until they are done, or silent for {WORKING_S // 60} minutes."
    live = f'<p class="tr-soft tr-live">{follows}</p>' if working else ""
    return ('<div class="scroller" tabindex="0" role="region" aria-label="Pipeline runs"><table class="runs">'
            f'<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
            f"{live}{_more('Begin another', begin)}")


def _run_row(run: RunSight) -> str:
    address = Asked(run.id).address()
    where = "done" if run.finished else run.problem or run.at or "begun"
    name = esc(run.profile.get("name", "–"))
    return (f'<tr tabindex="-1" data-href="{esc(address)}"><td class="q"><a href="{esc(address)}">{esc(run.id)}</a></td><td>{name}</td>'
            f'<td class="a">{esc(_base(run))}</td><td class="num">{run.done} of {len(run.steps)}</td><td>{esc(where)}</td>'
            f"<td>{_when(run)}</td></tr>")


def _base(run: RunSight) -> str:
    base = run.profile.get("base")
    return str(base.get("model", "–")) if isinstance(base, dict) else "–"


def _when(run: RunSight) -> str:
    if run.changed is None:
        return "–"
    return f'<time datetime="{esc(run.changed.isoformat())}" data-date="1">{run.changed:%Y-%m-%d %H:%M}</time>'


def run_html(run: RunSight, asked: Asked, working: bool = False) -> str:
    """Head and steps of one run. `working` = the page follows it."""
    problem = f'<p class="tr-bad" role="alert">{esc(run.problem)}</p>' if run.problem else ""
    at = "" if run.finished else f" Newest line of its progress: {esc(run.at)}." if run.at else " No progress is written yet."
    facts = (f"Profile {run.profile.get('name', 'unknown')} on {_base(run)}, seed {run.profile.get('seed', 'unknown')}. {run.done} of "
             f"{len(run.steps)} steps are done.")
    again = "Add --again STEP to make a step and what follows anew:" if run.finished else "The same line goes on where it stopped:"
    live = f'<a href="{esc(asked.address())}">Read anew</a>'
    if working:
        live = f'<span class="tr-live">This page follows it until it is done, or silent for {WORKING_S // 60} minutes.</span>'
    return (f'<p class="tr-back"><a href="./training">All pipeline runs</a></p><section class="tr-card"><h2>{esc(run.id)}</h2>{problem}'
            f'<p>{esc(facts)}{at} Last sign of life: {_when(run)}. {live}</p>{_steps(run, asked)}'
            f'<p class="tr-soft">{again}</p>{_pre(run.command)}{_settings(run)}</section>')


def _pre(text: str) -> str:
    return f'<pre tabindex="0">{esc(text)}</pre>'


def _more(title: str, content: str) -> str:
    return f'<details class="tr-more"><summary>{esc(title)}</summary>{content}</details>'


def _settings(run: RunSight) -> str:
    if not run.profile:
        return ""
    return _more("Its profile, as it was run", _pre(json.dumps(run.profile, indent=1, ensure_ascii=False)[:MOST_TEXT]))


def _steps(run: RunSight, asked: Asked) -> str:
    heads = "".join(f'<th scope="col"{c}>{h}</th>' for h, c in (
        ("Step", ""), ("State", ""), ("Made", ""), ("Left out, and why", ""), ("Time", ' class="num"')))
    rows = "".join(_step_row(n, step, asked) for n, step in enumerate(run.steps, 1))
    return ('<div class="tr-scroll" tabindex="0" role="region" aria-label="Steps"><table class="tr-table tr-steps">'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")


def _step_row(n: int, step: StepSight, asked: Asked) -> str:
    title = f"{n} {TITLES[step.name][0]}"
    address, current = Asked(asked.run, step.name).address(), " aria-current=true" if asked.step == step.name else ""
    name = esc(title) if step.state == "to do" else f'<a href="{esc(address)}#tr-step"{current}>{esc(title)}</a>'
    state = f'<span class="state {_CLASS[step.state]}">{step.state}</span>'
    if step.manifest is None:
        about = esc(TITLES[step.name][1])
        return f'<tr><td>{name}</td><td>{state}</td><td class="tr-soft">{about}</td><td>–</td><td class="num">–</td></tr>'
    report = step.manifest.report
    wrong = "".join(f'<p class="tr-bad">{esc(text)}</p>' for text in doubts(step.name, report))
    lost = "; ".join(left_out(step.name, report)) or "nothing"
    return (f'<tr><td>{name}</td><td>{state}</td><td>{esc(" · ".join(made(step.name, report)))}{wrong}</td><td>{esc(lost)}</td>'
            f'<td class="num">{seconds(step.manifest.seconds)}</td></tr>')


def step_html(step: StepSight, asked: Asked, shown: Shown) -> str:
    """One step: curves, data, model card, manifest."""
    title, about = TITLES[step.name]
    said = (*([step.problem] if step.problem else []), *shown.problems)
    problems = "".join(f'<p class="tr-bad" role="alert">{esc(text)}</p>' for text in said)
    curves = "".join(f"<h3>{esc(name)}</h3>{plots_html(curve)}" for name, curve in shown.curves)
    parts = (curves, footprint_html(shown.footprint) if shown.footprint else "", _data(asked, shown),
             "".join(f'<p class="tr-soft">{esc(words)}</p>{_pre(line)}' for words, line in shown.commands),
             _more("Model card", _pre(shown.card[:MOST_TEXT])) if shown.card else "", manifest_html(step.manifest) if step.manifest else "")
    nothing = '<p class="tr-none">This step has left nothing to see yet.</p>' if not any(parts) and not problems else ""
    return (f'<section class="tr-card" id="tr-step"><h2>{esc(title)}</h2><p class="tr-soft">{esc(about)}</p>{problems}{"".join(parts)}'
            f"{nothing}</section>")


def _data(asked: Asked, shown: Shown) -> str:
    if shown.data is None:
        return ""
    data, at = shown.data, asked._replace(data=shown.data.file.name, only=shown.data.only)
    current = {data.file.name: " aria-current=true"}
    tabs = "".join(f'<a class="btn" href="{esc(asked.address(data=file.name, only="", page=1))}#tr-step"{current.get(file.name, "")}>'
                   f"{esc(file.title)}</a>" for file in shown.files)
    several = f'<h3>Data</h3><nav class="tr-tabs" aria-label="Data sets of this step">{tabs}</nav>'
    head = several if len(shown.files) > 1 else f"<h3>{esc(data.file.title)}</h3>"
    first = (data.page - 1) * data.file.rows
    count = f"rows {first + 1:,}–{first + len(data.rows):,} of {data.total:,}" if data.rows else "no row"
    back = f'<a class="btn" href="{esc(at.address(page=data.page - 1))}#tr-step">Previous</a>' if data.page > 1 else ""
    on = f'<a class="btn" href="{esc(at.address(page=data.page + 1))}#tr-step">Next</a>' if data.page < data.pages else ""
    paging = f'<div class="row paging">{back}<span class="hid">page {data.page:,} of {data.pages:,}</span>{on}</div>'
    return (f'{head}{_facet(at, data)}<p class="tr-soft">{esc(data.file.name)}: {count}</p>{rows_html(data)}'
            f'{paging if data.pages > 1 else ""}')


def _facet(at: Asked, data: DataPage) -> str:
    """Links to the rows of each value that there are."""
    facet = data.file.facet
    if facet is None or not data.all:
        return ""
    there = [(value, words, n) for value, words in facet.values.items() if (n := data.counts[value]) or value == data.only]
    current = {data.only: " aria-current=true"}
    links = "".join(f'<a class="btn" href="{esc(at.address(only=value, page=1))}#tr-step"{current.get(value, "")}>{esc(words)} '
                    f"<span>{n:,}</span></a>" for value, words, n in (("", "all", data.all), *there))
    part = "" if data.whole else '<p class="tr-mind">The file is very large: these counts are of its beginning.</p>'
    return f'<nav class="tr-tabs tr-facet" aria-label="{esc(facet.title)}"><b>{esc(facet.title)}</b>{links}</nav>{part}'


def footprint_html(found: Footprint) -> str:
    """Both ways of serving, in bytes."""
    folders = [("Base model", found.base), *((f"Adapter {part.name}, rank {part.rank}", part) for part in found.adapters)]
    rows = [(name, number(folder.parameters), size(folder.disk), size(folder.weights)) for name, folder in folders]
    n = len(found.adapters)
    rows += [(f"One base with {plural(n, 'adapter')}", "", size(found.shared.disk), size(found.shared.memory)),
             (f"{plural(n, 'checkpoint')}", "", size(found.separate.disk), size(found.separate.memory))]
    body = "".join(f'<tr><td>{esc(name)}</td>{"".join(f"<td class=num>{esc(cell)}</td>" for cell in cells)}</tr>' for name, *cells in rows)
    names = ("Files", "Parameters", "On disk", "Weights in memory")
    heads = "".join(f'<th scope="col"{" class=num" if k else ""}>{name}</th>' for k, name in enumerate(names))
    note = (f"Weights in {found.dtype}; key-value cache and activations come on top of both. The server sets aside "
            f"{plural(found.slots.loras, 'slot')} of rank {found.slots.rank} for adapters: {size(found.slots.bytes)}.")
    return ('<h3>Footprint</h3><div class="tr-scroll" tabindex="0" role="region" aria-label="Footprint"><table class="tr-table">'
            f'<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div><p class="tr-soft">{esc(note)}</p>')


def manifest_html(found: StepManifest) -> str:
    """What a step was made from and what it left, with seeds and hashes."""
    facts = [("Finished", found.finished), ("On", found.device), ("Base", found.base), ("Hash of the base", found.base_hash),
             ("Hash of the code", found.code), ("Seed", str(found.settings.get("seed", "unknown"))), ("Python", found.python),
             *found.versions.items(),
             *((f"From step {name}", value) for name, value in found.inputs.items())]
    rows = "".join(f"<dt>{esc(name)}</dt><dd>{esc(text)}</dd>" for name, text in facts)
    files = "".join(f"<dt>{esc(name)}</dt><dd>{esc(value)}</dd>" for name, value in found.outputs.items())
    settings, report = (_pre(json.dumps(data, indent=1, ensure_ascii=False)[:MOST_TEXT]) for data in (found.settings, found.report))
    return _more("Manifest: seeds, hashes, settings", f'<dl class="tr-facts">{rows}</dl><h4>What it left (sha256)</h4>'
                 f'<dl class="tr-facts">{files}</dl><h4>Settings</h4>{settings}<h4>Report</h4>{report}')
