"""The head of a column: answer, scores, totals, and in words where the run stands."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from trio_core.events import RunFailed, RunFinished, Totals
from trio_core.runs import RunInfo, RunStatus
from trio_core.trace import Trace
from ui.render.base import esc, number, plural, seconds, tag
from ui.render.calls import calls_html
from ui.render.round import live_slot
from ui.render.words import METRICS, REASONS, STATES, TURNS


class Standing(NamedTuple):
    """A run from outside of its events."""

    info: RunInfo
    title: str
    status: RunStatus
    waiting: int = 0
    fault: str = ""
    step: str = ""
    """What it does right now, in words."""
    began: float | None = None
    """When it began, in seconds of the Unix epoch, while it runs."""


def summary_html(trace: Trace, standing: Standing) -> str:
    """Everything about a run that is not a round."""
    status = "recorded" if standing.info.origin == "recorded" else STATES[standing.status]
    ended = trace.end is not None or standing.fault != ""
    slot = "" if ended else f'<div class="slot" data-slot="{esc(live_slot(standing.info.id, 0))}"></div>'
    return (
        f'<div class="sumhead"><h2>{esc(standing.title)}</h2><span class="state {esc(status)}">{esc(status)}</span></div>'
        f"{_forked(trace)}{_headline(trace, standing)}{slot}{_facts(trace, standing)}{_gold(trace)}{_scores(trace)}{_fault(trace, standing)}"
        f"{_continue(standing)}{calls_html(trace.answer_calls, 'answer-calls', 'answer call')}"
    )


def _forked(trace: Trace) -> str:
    """Where a forked run comes from."""
    fork = trace.started.forked_from if trace.started else None
    if fork is None:
        return ""
    what = "answers from there" if fork.verdict == "sufficient" else "goes on from there"
    return (f'<p class="facts forked">⑂ forked after round {fork.round} of <a href="./?run={quote(fork.run_id)}">another run</a>: '
            f"{esc(fork.by or 'somebody')} says {fork.verdict}, so it {what}</p>")


def _headline(trace: Trace, standing: Standing) -> str:
    if trace.answer is not None:
        return f'<div class="ans {_rightness(trace)}">{_answer(trace)}{_marks(trace)}</div>'
    if standing.fault or isinstance(trace.end, RunFailed):
        return f'<div class="ans none">no answer: {esc(STATES[standing.status])}</div>'
    return f'<div class="ans now">{esc(_doing(trace, standing))}<span class="cur" aria-hidden="true"></span></div>'


def _answer(trace: Trace) -> str:
    assert trace.answer is not None
    if trace.answer.answer:
        return f"<span>{esc(trace.answer.answer)}</span>"
    return f'<span class="none">no answer{esc(": " + trace.answer.note if trace.answer.note else "")}</span>'


def _rightness(trace: Trace) -> str:
    scores = trace.answer.scores if trace.answer else None
    return "" if not scores else "ok" if scores.get("em") else "no"


def _marks(trace: Trace) -> str:
    scores = (trace.answer.scores if trace.answer else None) or {}
    marks = [(f"{METRICS[m][0]} {scores[m]:.2f}".replace("EM 1.00", "EM 1").replace("EM 0.00", "EM 0"), METRICS[m][1]) for m in ("em", "f1") if m in scores]
    return "".join(tag(text, "", about) for text, about in marks)


def _doing(trace: Trace, standing: Standing) -> str:
    if standing.status == "queued":
        ahead = max(standing.waiting, 0)
        return f"queued, {plural(ahead, 'run')} ahead" if ahead else "queued, waiting for the model"
    if standing.status == "stopping":
        return "stopping"
    if not trace.rounds:
        return "starting"
    last = trace.rounds[-1]
    return standing.step if last.complete else f"round {last.number}, {standing.step}"


def _facts(trace: Trace, standing: Standing) -> str:
    totals = trace.end.totals if trace.end else running_totals(trace)
    parts = [plural(totals.rounds, "round"), plural(totals.calls, "call"), _prompt(totals), f"{number(totals.completion_tokens)} generated"]
    line = " · ".join(esc(p) for p in parts)
    if trace.end is not None:
        line += f" · {esc(seconds(totals.seconds))}"
    elif standing.began is not None:
        line += f' · <span data-began="{standing.began:.2f}"></span> so far'
    if isinstance(trace.end, RunFinished):
        line += f" · stopped: {esc(REASONS.get(trace.end.reason, trace.end.reason))}"
    return f'<div class="facts">{line}</div>'


def _prompt(totals: Totals) -> str:
    share = f" ({totals.cached_tokens / totals.prompt_tokens:.0%} cached)" if totals.prompt_tokens and totals.cached_tokens else ""
    return f"{number(totals.prompt_tokens)} prompt tokens{share}"


def running_totals(trace: Trace) -> Totals:
    """The sums of a run that has not ended."""
    calls = [c for r in trace.rounds for c in r.calls] + trace.answer_calls
    return Totals(
        rounds=len(trace.rounds), calls=len(calls), prompt_tokens=sum(c.usage.prompt_tokens for c in calls),
        cached_tokens=sum(c.usage.cached_tokens or 0 for c in calls), completion_tokens=sum(c.usage.completion_tokens for c in calls),
    )


def _gold(trace: Trace) -> str:
    gold = trace.started.gold if trace.started else None
    if gold is None or not gold.answers:
        return ""
    answers = gold.answers[0] + (f" (or {', '.join(gold.answers[1:])})" if len(gold.answers) > 1 else "")
    missing = "" if gold.answerable else "; the corpus does not hold it"
    return f'<div class="facts">gold answer: {esc(answers)}{missing}</div>'


def _scores(trace: Trace) -> str:
    scores = trace.answer.scores if trace.answer else None
    if not scores:
        return ""
    rows = "".join(
        f"<tr><th>{esc(METRICS.get(m, (m, ''))[0])}</th><td>{v:.3g}</td><td>{esc(METRICS.get(m, (m, ''))[1])}</td></tr>" for m, v in scores.items()
    )
    return f'<details class="more" data-k="scores"><summary>all metrics</summary><table>{rows}</table></details>'


def _fault(trace: Trace, standing: Standing) -> str:
    if standing.fault:
        return f'<div class="fault" role="alert">Not stored: {esc(standing.fault)}</div>'
    end = trace.end
    if not isinstance(end, RunFailed):
        return ""
    turn = TURNS.get(end.acts, end.acts) if end.status == "failed" else ""
    more = " · ".join(part for part in (f"in {end.where}" if end.where else "", turn) if part)
    where = f"<div><b>{esc(more)}</b></div>" if more else ""
    partial = f'<pre tabindex="0">{esc(end.partial)}</pre>' if end.partial else ""
    kind = "fault" if end.status == "failed" else "quiet"
    return f'<div class="{kind}">{esc(end.message)}{where}{partial}</div>'


def _continue(standing: Standing) -> str:
    if standing.status not in ("interrupted", "stopped", "failed") or standing.info.origin == "recorded":
        return ""
    return (
        f'<button type="button" class="btn" data-do="resume" data-run="{esc(standing.info.id)}" '
        'title="goes on after the last finished round">Continue</button>'
    )
