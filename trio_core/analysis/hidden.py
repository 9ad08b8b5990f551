"""What was hidden from whom: per agent what its calls saw and did not see, per round what is carried on and what is left behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trio_core.analysis.facts import CallFact, RunFacts, Step
from trio_core.analysis.figures import Curve, Figure, mean
from trio_core.analysis.groups import by_label
from trio_core.values import Value


class RoleView(Value):
    """All calls of one agent in a group of runs, in tokens a call."""

    label: str
    role: str
    calls: int
    visible: Figure
    hidden: Figure
    parts: dict[str, Figure]
    """By what is hidden (`sub-queries`, `passages`, …): tokens a call, over the calls that it was hidden from."""
    dropped: Figure
    """Passages a call that did not fit into the prompt."""


class StateView(Value):
    """Tokens carried on from each search round, and hidden from the next."""

    carried: Curve
    hidden: Curve


def hidden_from(runs: Iterable[RunFacts]) -> tuple[RoleView, ...]:
    """Agents in the order in which they are first asked."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        roles = dict.fromkeys(c.role for r in own for c in r.calls)
        found += [_role(label, role, [(r.id, c) for r in own for c in r.calls if c.role == role]) for role in roles]
    return tuple(found)


def states(runs: Iterable[RunFacts]) -> tuple[StateView, ...]:
    """By group."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        longest = max(len(r.steps) for r in own)
        if not longest:
            continue
        at = [[(r.id, r.steps[n]) for r in own if len(r.steps) > n and r.steps[n].carried_tokens is not None] for n in range(longest)]
        found.append(
            StateView(
                carried=Curve(label=label, points=tuple(mean((i, _carried(s)) for i, s in part) for part in at)),
                hidden=Curve(label=label, points=tuple(mean((i, float(s.hidden_tokens)) for i, s in part) for part in at)),
            )
        )
    return tuple(found)


def _carried(step: Step) -> float:
    return float(step.carried_tokens or 0)


def _role(label: str, role: str, calls: Sequence[tuple[str, CallFact]]) -> RoleView:
    names = dict.fromkeys(h.what for _, c in calls for h in c.hidden)
    parts = {
        what: mean((i, float(sum(h.tokens for h in c.hidden if h.what == what))) for i, c in calls if any(h.what == what for h in c.hidden))
        for what in names
    }
    return RoleView(
        label=label,
        role=role,
        calls=len(calls),
        visible=mean((i, float(c.visible)) for i, c in calls),
        hidden=mean((i, float(c.hidden_tokens)) for i, c in calls),
        parts=parts,
        dropped=mean((i, float(c.dropped)) for i, c in calls),
    )
