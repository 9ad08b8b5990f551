"""Runs side by side: groups of one method with one set of settings, and what else differs between the runs of a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from trio_core.analysis.facts import RunFacts
from trio_core.methods import METHODS

IDENTITY = {"model": "models", "corpus": "corpora", "retriever": "retrievers"}

Groups = dict[str, list[RunFacts]]


def by_label(runs: Iterable[RunFacts], leave_out: Collection[str] = ()) -> Groups:
    """Label -> runs: the method, and its settings where they differ within the selection (`leave_out` settings never count)."""
    methods: defaultdict[str, list[RunFacts]] = defaultdict(list)
    for run in runs:
        methods[run.method].append(run)
    found: Groups = {}
    for name in sorted(methods):
        keys = sorted({key for r in methods[name] for key in r.settings} - set(leave_out))
        differing = [key for key in keys if len({repr(setting(r, key)) for r in methods[name]}) > 1]
        groups: defaultdict[str, list[RunFacts]] = defaultdict(list)
        for run in methods[name]:
            own = ", ".join(f"{key} {_word(setting(run, key))}" for key in differing)
            groups[f"{name} ({own})" if own else name].append(run)
        found |= {label: groups[label] for label in sorted(groups)}
    return found


def cautions(runs: Sequence[RunFacts]) -> tuple[str, ...]:
    """What a reader must know before comparing figures of these runs."""
    found = []
    for field, words in IDENTITY.items():
        values = sorted({str(getattr(r, field)) for r in runs if getattr(r, field)})
        if len(values) > 1:
            found.append(
                f"the runs are of {len(values)} {words} ({', '.join(values[:4])}{', …' if len(values) > 4 else ''}); "
                "narrow the selection down to compare"
            )
    if failed := sum(not r.finished for r in runs):
        found.append(f"{failed:,} of {len(runs):,} runs did not end by themselves; they are left out of all figures")
    return tuple(found)


def setting(run: RunFacts, name: str) -> Any:
    """A run's effective setting. A run of an older version that does not know it ran as by today's default."""
    if name in run.settings:
        return run.settings[name]
    kind = METHODS.get(run.method)
    field = kind.settings_type.model_fields.get(name) if kind is not None else None
    return field.default if field is not None else None


def _word(value: Any) -> str:
    return {True: "on", False: "off", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)
