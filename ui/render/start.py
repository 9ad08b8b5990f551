"""What a new user sees below the question: examples, recorded runs, the latest runs."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.demo import DemoQuestion
from trio_core.methods import METHODS
from trio_core.runs import RunInfo
from ui.render.base import esc, plural, seconds

KINDS = {
    "bridge": "two steps", "comparison": "comparison", "compositional": "chain of steps", "bridge_comparison": "two steps, then a comparison", "multi_hop": "three steps or more", "yes_no": "yes or no", "intersection": "two conditions",
    "numeric": "number", "unanswerable": "no answer in the corpus",
}


def start_html(examples: Sequence[DemoQuestion], recorded: Sequence[RunInfo], latest: Sequence[RunInfo]) -> str:
    """Examples run with one click; runs open with one."""
    picks = "".join(_example(q) for q in examples)
    parts = [_part("Examples: one click runs them", f'<div class="picks">{picks}</div>')]
    if recorded:
        parts.append(_part("Recorded runs of the embedded model, to look at", _links(recorded)))
    if latest:
        parts.append(_part("Latest runs here", _links(latest)))
    return f'<details class="start" open><summary>Examples and runs to look at</summary>{"".join(parts)}</details>'


def _part(title: str, body: str) -> str:
    return f'<section><div class="lab"><h2>{esc(title)}</h2></div>{body}</section>'


def _example(question: DemoQuestion) -> str:
    kind = KINDS.get(question.type, question.type.replace("_", " ")) if question.answerable else KINDS["unanswerable"]
    return (
        f'<button type="button" class="pick" data-pick="{esc(question.id)}"><span>{esc(question.question)}</span>'
        f'<span class="kind">{esc(kind)}</span></button>'
    )


def _links(runs: Sequence[RunInfo]) -> str:
    return f'<div class="picks">{"".join(_link(r) for r in runs)}</div>'


def _link(run: RunInfo) -> str:
    title = METHODS[run.method].title if run.method in METHODS else run.method
    facts = [title, run.status]
    if run.rounds is not None:
        facts.append(plural(run.rounds, "round"))
    if run.seconds is not None:
        facts.append(seconds(run.seconds))
    answer = f'<span class="to">{esc(run.answer)}</span>' if run.answer else ""
    return (
        f'<a class="pick" href="./?run={esc(run.id)}"><span>{esc(run.question)} {answer}</span>'
        f'<span class="kind">{esc(" · ".join(facts))}</span></a>'
    )
