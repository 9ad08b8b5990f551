"""Directions and sub-queries of a round."""

from __future__ import annotations

from trio_core.trace import Round
from trio_core.values import SubQuery
from ui.render.base import esc, label


def queries_html(round_: Round, offset: int) -> str:
    """The section of directions and sub-queries; `offset` = number of the first query less one."""
    said, asked = round_.directions, round_.sub_queries
    if said is None and asked is None:
        return ""
    lines = [_query(offset + n, q) for n, q in enumerate(asked.queries, 1)] if asked else []
    if asked is None and said is not None:
        lines = [_line(offset + n, esc(d)) for n, d in enumerate(said.directions, 1)]
    if said is not None and said.enough:
        lines.append('<p class="hid">The model says that its knowledge is enough: no search in this round.</p>')
    elif asked is not None and not asked.queries:
        lines.append('<p class="hid">No usable query in the model\'s output; see the calls.</p>')
    return f'<section class="sec" data-k="q">{label(_heading(round_))}{"".join(lines)}</section>'


def _heading(round_: Round) -> str:
    if round_.directions is not None and round_.directions.directions:
        return "Directions → sub-queries"
    return "Sub-queries" if round_.sub_queries and len(round_.sub_queries.queries) > 1 else "Sub-query"


def _query(number: int, query: SubQuery) -> str:
    remark = f' <i class="rem">({esc(query.note)})</i>' if query.note else ""
    if query.direction and query.direction != query.text:
        return _line(number, f"{esc(query.direction)} <i>→ {esc(query.text)}</i>{remark}")
    return _line(number, f"{esc(query.text)}{remark}")


def _line(number: int, body: str) -> str:
    return f'<div class="sq" tabindex="0" data-q="{number}" data-k="q{number}"><b class="n">{number}</b><span>{body}</span></div>'
