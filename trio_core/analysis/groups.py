"""Runs side by side: groups of one method with one set of settings, and what else differs between the runs of a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trio_core.analysis.facts import RunFacts

IDENTITY = {"model": "models", "corpus": "corpora", "retriever": "retrievers"}

Groups = dict[str, list[RunFacts]]


def by_label(runs: Iterable[RunFacts], leave_out: Collection[str] = ()) -> Groups:
    """Label -> runs: the method, and its settings where they differ within the selection (`leave_out` settings never count)."""
    methods: defaultdict[str, list[RunFacts]] = defaultdict(list)
    for run in runs:
        methods[run.method].append(run)
    found: Groups = {}
    for name in sorted(methods):
        differing = _differing([r.settings for r in methods[name]], leave_out)
        groups: defaultdict[str, list[RunFacts]] = defaultdict(list)
        for run in methods[name]:
            own = ", ".join(f"{key} {_word(run.settings[key])}" for key in differing if key in run.settings)
            groups[f"{name} ({own})" if own else name].append(run)
        found |= {label: groups[label] for label in sorted(groups)}
    return found


def cautions(runs: Sequence[RunFacts]) -> tuple[str, ...]:
    """What a reader must know before comparing figures of these runs."""
    found = []
    for field, words in IDENTITY.items():
        values = sorted({str(getattr(r, field)) for r in runs if getattr(r, field)})
        if len(values) > 1:
            found.append(f"the runs are of {len(values)} {words} ({', '.join(values[:4])}{', …' if len(values) > 4 else ''}); narrow the selection down to compare")
    if failed := sum(not r.finished for r in runs):
        found.append(f"{failed:,} of {len(runs):,} runs did not end by themselves; they are left out of all figures")
    return tuple(found)


def _differing(settings: Sequence[Mapping[str, Any]], leave_out: Collection[str]) -> list[str]:
    """A setting that older runs do not know differs from none."""
    keys = sorted({key for s in settings for key in s} - set(leave_out))
    return [key for key in keys if len({repr(s[key]) for s in settings if key in s}) > 1]


def _word(value: Any) -> str:
    return {True: "on", False: "off", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)
