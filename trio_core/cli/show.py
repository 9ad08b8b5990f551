"""Events as short lines for a terminal."""

from __future__ import annotations

from trio_core.events import (
    Answered,
    BaseEvent,
    Corrected,
    Directions,
    Knowledge,
    LLMCalled,
    Retrieved,
    RoundStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
    SubQueries,
    Verdict,
)


def line_of(event: BaseEvent) -> str:
    """One event; empty for those that say nothing to a reader of a terminal."""
    match event:
        case RunStarted():
            return f"{event.method}: {event.question}"
        case RoundStarted():
            return f"\nround {event.round}  ({event.t:.1f} s)"
        case Directions(enough=True):
            return "  enough is known"
        case Directions() | StateSaved():
            return ""
        case SubQueries():
            return "\n".join(f"  ? {q.text}" + (f"   [{q.direction}]" if q.direction else "") + (f"   ({q.note})" if q.note else "") for q in event.queries)
        case Retrieved():
            rows = [f"    {h.rank}. {h.passage.title or h.passage.id}" + (f"  {h.score:.3f}" if h.score is not None else "") for h in event.hits]
            return "\n".join([*rows, f"    ({event.note})"] if event.note else rows)
        case LLMCalled():
            cached = f", {event.usage.cached_tokens} cached" if event.usage.cached_tokens is not None else ""
            read = "" if event.parse == "ok" else f"  [{event.parse}: {event.parse_note}]"
            of = f" [{event.branch}]" if event.branch else ""
            return f"  · {event.role}{of}: {event.usage.prompt_tokens} prompt tokens{cached}, {event.usage.completion_tokens} written, {event.seconds:.1f} s{read}"
        case Verdict():
            p = "n/a" if event.p_sufficient is None else f"{event.p_sufficient:.2f}"
            return f"  = {event.label}  P(sufficient) {p}, threshold {event.threshold:.2f}, {event.judged_by}{'' if event.deciding else ', shadow'}"
        case Corrected():
            return f"  ! corrected to {event.label}{' by ' + event.by if event.by else ''}{': ' + event.note if event.note else ''}"
        case Knowledge(branch=str(name)):
            facts = [f"score {event.score:.2f}"] if event.score is not None else []
            more = f"  ({', '.join([*facts, *(['chosen'] if event.chosen else [])])})" if facts or event.chosen else ""
            return f"  [{name}] {event.summary or 'nothing written'}{more}"
        case Knowledge():
            return "\n".join([*(f"  + {n}" for n in event.notes), f"  summary: {event.summary}"])
        case Answered():
            scores = "" if not event.scores else "   " + "  ".join(f"{k} {v:.2f}" for k, v in event.scores.items() if k in ("em", "f1", "cover_sub"))
            return f"\nanswer: {event.answer or '(none: ' + event.note + ')'}{scores}"
        case RunFinished():
            t = event.totals
            share = f" ({100 * t.cached_tokens / t.prompt_tokens:.0f} % cached)" if t.prompt_tokens else ""
            return f"{event.reason}: {t.rounds} rounds, {t.calls} calls, {t.retrievals} retrievals, {t.prompt_tokens} prompt tokens{share}, {t.completion_tokens} written, {t.seconds:.1f} s"
        case RunFailed():
            return f"{event.status}: {event.message}  [{event.where}; {event.acts} can act]"
        case _:
            raise TypeError(f"no line for {type(event).__name__}")
