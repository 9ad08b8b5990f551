"""Analyses of what the runs did, as sections: stopping, switches, repeats, marginal evidence, what was hidden."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Figure
from trio_core.analysis.gain import Gain, gain
from trio_core.analysis.hidden import hidden_from, states
from trio_core.analysis.repeats import repeats
from trio_core.analysis.sheets import Cell, Plot, Section, Series, Sheet, cell, percent, points, words
from trio_core.analysis.stopping import Stopping, stopping
from trio_core.analysis.switches import FIXED, NOISE, Switched, switched

LAST = 5
"""The plot's last column is this many rounds or more, as in MAPS's."""


def stopping_section(runs: Sequence[RunFacts]) -> Section:
    """MAPS's plot."""
    found = stopping(runs)
    numbers = sorted({n for s in found for n in s.after})
    rows = tuple(
        (words(s.label), words(s.runs), cell(s.mean), *(percent(s.after[n]) if n in s.after else words("–") for n in numbers))
        for s in found
    )
    sheet = Sheet(
        key="stopping",
        title="Share of runs by search rounds",
        header=("method", "runs", "mean", *(f"{n}" for n in numbers)),
        rows=rows,
        note='In brackets: runs. A round counts where it searched; MAPS\'s last plan, which only says "enough", is none.',
    )
    names = [str(n) for n in range(min(numbers, default=1), LAST)] + [f"{LAST}+"]
    series = tuple(
        Series(label=f"{s.label} (mean {s.mean.value:.1f})", points=points(names, _binned(s, names)))
        for s in found
        if s.mean.value is not None
    )
    plot = Plot(title="After how many rounds runs stop", kind="bars", x="search rounds", y="share of runs", series=series, percent=True)
    return Section(
        key="stopping",
        title="Stopping rounds",
        sheets=(sheet,) if found else (),
        plots=(plot,) if found else (),
        about=(
            "In which round each method stops, and how many rounds it needs on average. The MAPS paper shows this plot; "
            "fewer rounds are not better "
            "by themselves: read it beside the answers.",
        ),
        empty="No run of this selection ended by itself.",
    )


def _binned(s: Stopping, names: Sequence[str]) -> list[Figure]:
    more = [f for n, f in s.after.items() if n >= LAST]
    last = Figure(value=sum(f.value or 0.0 for f in more), n=sum(f.n for f in more), runs=tuple(i for f in more for i in f.runs))
    return [*(s.after.get(int(n), Figure(value=0.0)) for n in names[:-1]), last]


def switch_sections(runs: Sequence[RunFacts], metric: str = "em") -> tuple[Section, Section]:
    """TRIO's tables 3 and 7."""
    fixed = _switch(
        runs,
        FIXED,
        metric,
        "Fixed against flexible rounds",
        (
            "Does it help that the run decides itself when to stop? The same questions with a fixed number of rounds "
            "(setting fixed_rounds) and with the "
            "method's own stop, as TRIO's table 3.",
        ),
        "fixed_rounds=1, 2, … beside the default",
    )
    noise = _switch(
        runs,
        NOISE,
        metric,
        "Noise among the passages",
        (
            "How much answers suffer when some of the passages of each search are replaced by far-ranked ones (setting "
            "noise), as TRIO's table 7: "
            "1 of 5 is its low, 3 of 5 its high noise.",
        ),
        "noise=1 and noise=3 beside the default",
    )
    return fixed, noise


def _switch(runs: Sequence[RunFacts], setting: str, metric: str, title: str, about: tuple[str, ...], how: str) -> Section:
    found = switched(runs, setting, metric)
    names = list(dict.fromkeys(name for s in found for name in s.columns))
    rows = tuple(
        (
            words(s.label),
            words(s.dataset or "–"),
            *(cell(s.columns[n], 3, True) if n in s.columns else words("–") for n in names),
            words("yes" if s.same_questions else "no"),
        )
        for s in found
    )
    sheet = Sheet(
        key=setting,
        title=f"{metric} by {setting}",
        header=("method", "data set", *names, "same questions"),
        rows=rows,
        note="Mean over runs that ended by themselves; n = runs. Where the questions differ, the columns compare more than the setting.",
    )
    plot = Plot(
        title=f"{metric} by {setting}",
        kind="lines",
        x=setting,
        y=metric,
        series=tuple(Series(label=_name(s), points=points(names, [s.columns.get(n, Figure()) for n in names])) for s in found),
    )
    return Section(
        key=setting,
        title=title,
        about=about,
        sheets=(sheet,) if found else (),
        plots=(plot,) if found else (),
        empty=f"No method has runs with two values of {setting} in this selection. Evaluate it with {how}.",
    )


def _name(s: Switched) -> str:
    return f"{s.label}, {s.dataset}" if s.dataset else s.label


def repeats_section(runs: Sequence[RunFacts]) -> Section:
    """By round."""
    found = repeats(runs)
    rows = tuple(
        (words(r.label), words(part.round), words(part.queries), percent(part.same), percent(part.near)) for r in found for part in r.rounds
    )
    overall = tuple((words(r.label), percent(r.runs_with)) for r in found)
    return Section(
        key="repeats",
        title="Repeated sub-queries",
        empty="No run of this selection has sub-queries.",
        about=(
            "A repeated query has the words of an earlier one of its run; a near-repeated one shares at least 80 % of them "
            "(token F1). MAPS hides "
            "earlier sub-queries on the ground that a model which sees them only rewords them.",
        ),
        sheets=(
            Sheet(key="repeated_runs", title="Runs that repeat a query", header=("method", "runs"), rows=overall),
            Sheet(
                key="repeats",
                title="Sub-queries by round",
                header=("method", "round", "queries", "repeated", "nearly repeated"),
                rows=rows,
                note="In brackets: queries. Each opens the runs that have one.",
            ),
        )
        if found
        else (),
    )


def gain_section(runs: Sequence[RunFacts]) -> Section:
    """Marginal evidence."""
    found = gain(runs)
    longest = max((len(g.new.points) for g in found), default=0)
    names = [str(n) for n in range(1, longest + 1)]
    rows = tuple(
        (words(g.label), words(what), *(cell(p, digits) for p in curve.points), *[words("")] * (longest - len(curve.points)))
        for g in found
        for what, curve, digits in (("found", g.found, 1), ("new", g.new, 1), ("new gold", g.new_gold, 2))
    )
    return Section(
        key="gain",
        title="New passages a round",
        empty="No run of this selection searched.",
        about=(
            "How many passages each round brings that no earlier round had found, and how many of them are gold evidence. A "
            "search that goes on "
            "after the last new passage costs calls and brings nothing.",
        ),
        plots=(
            Plot(
                title="New passages by round",
                kind="lines",
                x="search round",
                y="new passages",
                series=tuple(Series(label=g.label, points=points(names, g.new.points)) for g in found),
            ),
        )
        if found
        else (),
        sheets=(
            Sheet(
                key="gain",
                title="Passages by search round (mean over the runs that have it)",
                header=("method", "passages", *names),
                rows=rows,
            ),
            _last(found, False),
            *([_last([g for g in found if g.last_gold], True)] if any(g.last_gold for g in found) else []),
        )
        if found
        else (),
    )


def _last(found: Sequence[Gain], gold: bool) -> Sheet:
    of = [(g.label, *((g.last_gold, g.idle_gold) if gold else (g.last_new, g.idle))) for g in found]
    numbers = sorted({n for _, last, _ in of for n in last})
    shares = [[percent(last[n]) if n in last else words("–") for n in numbers] for _, last, _ in of]
    rows = tuple((words(label), *own, cell(idle)) for (label, _, idle), own in zip(of, shares, strict=True))
    kind = "gold passage" if gold else "passage"
    return Sheet(
        key="last_gold" if gold else "last_new",
        title=f"Runs by the last round that brought a new {kind}",
        header=("method", *("never" if n == 0 else f"round {n}" for n in numbers), "rounds after it"),
        rows=rows,
        note="In brackets: runs. Rounds after it: mean over the runs.",
    )


def hidden_section(runs: Sequence[RunFacts]) -> Section:
    """Per agent and per round."""
    roles, carried = hidden_from(runs), states(runs)
    rows = tuple(
        (words(r.label), words(r.role), words(r.calls), cell(r.visible, 0), cell(r.hidden, 0), _parts(r.parts), cell(r.dropped, 1))
        for r in roles
    )
    longest = max((len(s.carried.points) for s in carried), default=0)
    by_round = tuple(
        (words(s.carried.label), words(what), *(cell(p, 0) for p in curve.points), *[words("")] * (longest - len(curve.points)))
        for s in carried
        for what, curve in (("carried on", s.carried), ("hidden from the next", s.hidden))
    )
    names = [str(n) for n in range(1, longest + 1)]
    return Section(
        key="hidden",
        title="What was hidden from whom",
        empty="No run of this selection made a call.",
        about=(
            "Each agent's calls: tokens that they saw (as the server counted the prompt) and tokens of the run's history "
            "that the method kept from "
            "them. TRIO hides nothing; MAPS hides sub-queries and passages. Hidden tokens are estimates, 4 characters a token.",
        ),
        plots=(
            Plot(
                title="State carried on from each round",
                kind="lines",
                x="round",
                y="tokens",
                series=tuple(Series(label=s.carried.label, points=points(names, s.carried.points)) for s in carried),
            ),
        )
        if carried
        else (),
        sheets=(
            Sheet(
                key="hidden",
                title="Tokens a call",
                header=("method", "agent", "calls", "seen", "hidden", "what was hidden", "passages that did not fit"),
                rows=rows,
            ),
            Sheet(key="states", title="Tokens by round", header=("method", "state", *names), rows=by_round),
        )
        if roles
        else (),
    )


def _parts(parts: dict[str, Figure]) -> Cell:
    runs = tuple(dict.fromkeys(i for f in parts.values() for i in f.runs))
    return Cell(text=", ".join(f"{what} {f.value:.0f}" for what, f in parts.items() if f.value is not None) or "nothing", runs=runs)
