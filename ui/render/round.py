"""One round of one run: always the same order of sections."""

from __future__ import annotations

from trio_core.trace import Round, Trace
from ui.render.base import esc
from ui.render.branches import branches_html
from ui.render.calls import calls_html
from ui.render.chunks import chunks_html
from ui.render.queries import queries_html
from ui.render.state import state_html
from ui.render.verdict import WORDS, verdict_html


def round_html(trace: Trace, round_: Round, run_id: str) -> str:
    """Directions and sub-queries, chunks, verdict, state carried on, calls; a slot for the text being written."""
    offset = query_offset(trace, round_)
    gold = trace.started.gold if trace.started else None
    verdict = verdict_html(round_.verdict, gold, fix_slot(run_id, round_.number)) if round_.verdict else ""
    slot = "" if round_.complete or trace.end else f'<div class="slot" data-slot="{esc(live_slot(run_id, round_.number))}"></div>'
    sections = (
        queries_html(round_, offset), chunks_html(round_, offset, frozenset(gold.passage_ids) if gold else frozenset()), verdict,
        branches_html(round_), state_html(round_, offset), slot, calls_html(round_.calls),
    )
    broken = '<p class="sec hid">This round was not finished.</p>' if trace.end and not round_.complete else ""
    return f'<h2 class="sr">Round {round_.number}</h2>{"".join(sections)}{_corrected(round_)}{broken}'


def _corrected(round_: Round) -> str:
    """A fork's round: whose verdict stands in place of the judge's."""
    fix = round_.corrected
    if fix is None:
        return ""
    note = f" · “{fix.note}”" if fix.note else ""
    said = f"{fix.by or 'somebody'}: {WORDS[fix.label]}{note}"
    return f'<p class="sec facts forked">⑂ In place of the judge, {esc(said)}. The rounds above are copies; what follows is new.</p>'


def query_offset(trace: Trace, round_: Round) -> int:
    """Queries before this round where numbers run on (a query pool); 0 where each round has its own directions."""
    if round_.directions is not None:
        return 0
    return sum(len(r.sub_queries.queries) for r in trace.rounds if r.number < round_.number and r.sub_queries)


def fix_slot(run_id: str, number: int) -> str:
    """Name of the place for a round's correction."""
    return f"fix-{run_id}-{number}"


def live_slot(run_id: str, number: int) -> str:
    """Name of the place for the text being written; round 0 = the summary."""
    return f"live-{run_id}-{number}"
