"""Every call of a round: what it was sent, what came back, how that was read and what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.events import LLMCalled
from ui.render.base import esc, number, plural, seconds, tag

ROLE_WORDS = {
    "query": "query agent", "judge": "judge", "answer": "answer agent", "plan": "plan", "directions": "directions",
    "sub_queries": "sub-queries", "refine": "refine", "sample": "sampled answer", "generate": "writer", "generate_short": "writer",
    "thought": "next sentence", "candidates": "candidates", "support": "case for it", "valid": "check of the case", "rank": "comparison",
    "reason": "reasoning", "extract": "reader", "step": "step", "proponent": "proponent", "opponent": "opponent", "moderator": "moderator",
    "answer_proponent": "proponent", "answer_opponent": "opponent", "define": "task", "solve": "answer to the task",
    "aggregate": "aggregation", "rewrite": "rewriting", "decompose": "decomposition", "disambiguate": "disambiguation", "respond": "answer",
}
PARSE = {"ok": ("read", "", "read as it stands"), "repaired": ("mended", "w", "read after mending"), "failed": ("unreadable", "f", "not readable")}


def calls_html(calls: Sequence[LLMCalled], key: str = "calls", noun: str = "call") -> str:
    """The closed list of calls; empty without calls."""
    if not calls:
        return ""
    rows = "".join(_call(n, c) for n, c in enumerate(calls))
    return (
        f'<details class="sec calls" data-k="{key}"><summary><span class="lab"><h3>{plural(len(calls), noun)}</h3>'
        f'<span>{esc(_sums(calls))}</span></span></summary>{rows}</details>'
    )


def _sums(calls: Sequence[LLMCalled]) -> str:
    prompt = sum(c.usage.prompt_tokens for c in calls)
    bad = sum(c.parse != "ok" for c in calls)
    parts = [f"{number(prompt)} prompt tokens", seconds(sum(c.seconds for c in calls))]
    return " · ".join([*parts, *([f"{bad} not read as it stands"] if bad else [])])


def _call(index: int, call: LLMCalled) -> str:
    word, kind, about = PARSE[call.parse]
    title = f"{about}: {call.parse_note}" if call.parse_note else about
    messages = "".join(f'<h4>{esc(m.role)}</h4><pre tabindex="0">{esc(m.content)}</pre>' for m in call.messages)
    thinking = f'<h4>reasoning</h4><pre tabindex="0">{esc(call.reasoning)}</pre>' if call.reasoning else ""
    return (
        f'<details class="call" data-k="call{index}"><summary><b>{esc(ROLE_WORDS.get(call.role, call.role))}</b>'
        f'{tag(call.branch) if call.branch else ""}{tag(word, kind, title)}'
        f'<span class="facts">{esc(_cost(call))}</span></summary>{_unseen(call)}<p class="hid">Sent, word for word:</p>{messages}'
        f'<p class="hid">Came back ({esc(call.finish_reason)}){esc(": " + call.parse_note if call.parse_note else "")}:</p>{thinking}'
        f'<pre class="raw" tabindex="0">{esc(call.raw)}</pre></details>'
    )


def _cost(call: LLMCalled) -> str:
    use = call.usage
    cached = f", {number(use.cached_tokens)} cached" if use.cached_tokens is not None else ""
    model = f"{call.model} + {call.adapter}" if call.adapter else call.model
    return f"{number(use.prompt_tokens)} prompt tokens{cached} · {number(use.completion_tokens)} generated · {seconds(call.seconds)} · {model}"


def _unseen(call: LLMCalled) -> str:
    lines = []
    if call.hidden:
        lines.append("Hidden from this call: " + ", ".join(f"{h.count:,} {h.what} (about {plural(h.tokens, 'token')})" for h in call.hidden))
    if call.dropped:
        lines.append("Left out because the prompt was full: " + ", ".join(call.dropped))
    return "".join(f'<p class="hid">{esc(line)}.</p>' for line in lines)
