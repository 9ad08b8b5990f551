"""Evaluations: the list, and the head of one: where it stands, how long still, what it cost so far, what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from trio_core.evaluation.results import Spent
from trio_core.evaluation.service import Standing
from trio_core.evaluation.values import Progress
from ui.render.base import esc, number, plural

STATES = {"preparing": "preparing", "running": "running", "stopping": "stopping", "done": "done", "stopped": "stopped", "failed": "ended early"}
_CLASS = {"preparing": "queued", "running": "live", "done": "finished"}


def list_html(standings: Sequence[Standing], names: dict[str, str]) -> str:
    """All evaluations, newest first; `names` = data sets as people write them."""
    if not standings:
        return ('<div class="empty"><p>No evaluation yet. Choose methods and a data set above. Each question becomes a stored run that opens '
                "into its trace.</p></div>")
    heads = "".join(f"<th scope=col{c}>{h}</th>" for h, c in (
        ("Evaluation", ""), ("Data", ""), ("Methods", ""), ("State", ""), ("Runs", " class=num"), ("Failed", " class=num"), ("Begun", "")))
    rows = "".join(_row(s, names) for s in standings)
    return ('<h2 class="ev-h">Evaluations</h2><div class="scroller ev-scroll" tabindex="0" role="region" aria-label="Evaluations">'
            f'<table class="runs"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>')


def _row(s: Standing, names: dict[str, str]) -> str:
    order, p = s.order, s.progress
    data = names.get(order.wish.dataset, order.wish.dataset) if order else "command line"
    begun = (f'<time datetime="{esc(order.created.isoformat())}">{esc(order.created.strftime("%Y-%m-%d %H:%M"))}</time> by {esc(order.by)}'
             if order else "")
    methods = ", ".join(order.wish.methods) if order else ""
    cells = (f'<td><a href="./evaluate?id={esc(quote(s.id))}">{esc(s.id)}</a></td><td>{esc(data)}</td><td class="a">{esc(methods)}</td>'
             f"<td>{state_html(s)}</td><td class=num>{p.done:,} / {p.total:,}</td><td class=num>{p.failed:,}</td><td>{begun}</td>")
    return f'<tr data-k="{esc(s.id)}">{cells}</tr>'


def state_html(s: Standing) -> str:
    """The state as a word with a shape."""
    return f'<span class="state {_CLASS.get(s.state, s.state)}">{STATES[s.state]}</span>'


def head_html(s: Standing, spent: Spent, names: dict[str, str], command: str) -> str:
    """The head of one evaluation."""
    bar = _bar(s.progress) if s.progress.total else ""
    said = f'<p class="{"fault" if s.state == "failed" else "hid"}">{esc(s.message)}</p>' if s.message else ""
    return (f'<p class="ev-back"><a href="./evaluate">All evaluations, new evaluation</a></p><div class="ev-card"><div class="ev-top">'
            f'<h2>{esc(s.id)}</h2>{state_html(s)}<span class="ev-acts">{_acts(s)}</span></div>{bar}{said}{_spent(spent)}{_facts(s, names, command)}</div>')


def _bar(p: Progress) -> str:
    share = 100 * p.done / p.total
    running = f", {p.running} at work" if p.running else ""
    last = f'<p class="hid ev-last">last: {esc(p.last[:160])}</p>' if p.last else ""
    return (f'<div class="ev-track" role="progressbar" aria-label="Runs done" aria-valuemin="0" aria-valuemax="{p.total}" aria-valuenow="{p.done}">'
            f'<i style="width:{share:.1f}%"></i></div><p class="ev-said">{esc(words(p))}{running}</p>{last}')


def words(p: Progress) -> str:
    """How far, and how long still: the time is known only of a sitting that has ended a run."""
    return str(p) if p.seconds else f"{p.done:,} of {p.total:,} runs" + (f", {p.failed:,} failed" if p.failed else "")


def _acts(s: Standing) -> str:
    if s.state in ("preparing", "running"):
        return _act("halt", "Stop")
    if s.order is None or s.active:
        return ""
    retry = _act("retry", f"Run the {plural(s.progress.failed, 'failed question')} again") if s.progress.failed else ""
    return (_act("proceed", "Continue") if s.state != "done" else "") + retry


def _act(name: str, word: str) -> str:
    return f'<button type="button" class="btn" data-do="{name}" data-k="{name}">{esc(word)}</button>'


def _spent(spent: Spent) -> str:
    if not spent.runs:
        return ""
    figures = (("calls", spent.calls), ("retrievals", spent.retrievals), ("prompt tokens", spent.prompt_tokens), ("of them cached", spent.cached_tokens),
               ("written tokens", spent.completion_tokens), ("seconds of runs", spent.seconds))
    cells = "".join(f"<div><b>{number(value)}</b><span>{name}</span></div>" for name, value in figures)
    return f'<h3 class="ev-lab">Cost so far</h3><div class="ev-figures">{cells}</div>'


def _facts(s: Standing, names: dict[str, str], command: str) -> str:
    order = s.order
    if order is None:
        return '<p class="hid">Begun on the command line; the same command goes on with it.</p>'
    wish = order.wish
    limit = f"{'drawn' if wish.sample else 'first'} {wish.limit:,}" if wish.limit else "all questions"
    facts = [("Data", f"{names.get(wish.dataset, wish.dataset)}, {limit}"), ("Read", order.data), ("Gold evidence", order.evidence),
             ("Corpus", names.get(order.corpus, order.corpus) or "the app’s own"), ("Methods", ", ".join(wish.methods)),
             ("Seed", str(wish.seed)), ("Repeats", str(wish.repeats)), ("At once", str(order.concurrency)), ("By", order.by)]
    rows = "".join(f"<dt>{name}</dt><dd>{esc(text)}</dd>" for name, text in facts if text)
    return (f'<details class="ev-more" data-k="facts"><summary>How it is done</summary><dl class="ev-facts">{rows}</dl>'
            f'<p class="hid">The same from the command line:</p><pre tabindex="0">{esc(command)}</pre></details>')
