"""How far annotators agree: Cohen's kappa of two, Krippendorff's alpha of all. Pure: no database here.

Nominal values: sufficient, insufficient, unsure. A figure that is undefined is None and says why in plain words.
Sources: Cohen 1960; Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), nominal data with missing values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from pydantic import Field

from trio_core.values import Value

VALUES = ("sufficient", "insufficient", "unsure")


class PairAgreement(Value):
    """Two annotators on the items that both labelled."""

    a: str
    b: str
    n: int
    """Shared items."""
    same: int
    """Shared items with the same value."""
    table: dict[str, dict[str, int]] = Field(default_factory=dict)
    """value of a -> value of b -> items."""
    kappa: float | None
    reason: str = ""
    """Why there is no kappa."""


class Alpha(Value):
    """Krippendorff's alpha over all annotators. `units` = items with two values or more, `pairable` = values on those."""

    value: float | None
    units: int
    pairable: int
    reason: str = ""


class Agreement(Value):
    """All agreement figures of one moment."""

    pairs: tuple[PairAgreement, ...]
    alpha: Alpha
    items: int
    """Items with a value of anybody."""


Ratings = Mapping[int, Mapping[str, str]]
"""item -> annotator -> value."""


def agreement(ratings: Ratings) -> Agreement:
    """Pairs in the order of their names, and alpha. Pairs without a shared item are listed too: they say so."""
    names = sorted({name for by_name in ratings.values() for name in by_name})
    tables: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for by_name in ratings.values():
        for a, b in combinations(sorted(by_name), 2):
            tables[a, b][by_name[a], by_name[b]] += 1
    pairs = tuple(_pair(a, b, tables[a, b]) for a, b in combinations(names, 2))
    return Agreement(pairs=pairs, alpha=krippendorff(by_name.values() for by_name in ratings.values()), items=len(ratings))


def cohen(table: Mapping[tuple[str, str], int]) -> float | None:
    """Cohen's kappa of a table of counts (value of a, value of b); None without items or where chance explains all."""
    n = sum(table.values())
    rows, columns = Counter[str](), Counter[str]()
    for (a, b), count in table.items():
        rows[a] += count
        columns[b] += count
    by_chance = sum(rows[value] * columns[value] for value in rows)  # times n squared; whole numbers have no rounding
    if n == 0 or by_chance == n * n:
        return None
    same = sum(count for (a, b), count in table.items() if a == b)
    return (n * same - by_chance) / (n * n - by_chance)


def krippendorff(units: Iterable[Iterable[str]]) -> Alpha:
    """Alpha of the values given to each unit; units with fewer than two values say nothing about agreement."""
    counts = [Counter(unit) for unit in units]
    paired = [unit for unit in counts if unit.total() > 1]
    totals = Counter[str]()
    for unit in paired:
        totals.update(unit)
    n = totals.total()
    if not paired:
        return Alpha(value=None, units=0, pairable=0, reason="no item was labelled by two annotators yet")
    if len(totals) == 1:
        return Alpha(value=None, units=len(paired), pairable=n, reason=_one_value(next(iter(totals))))
    observed = sum((unit.total() ** 2 - sum(c * c for c in unit.values())) / (unit.total() - 1) for unit in paired) / n
    expected = (n * n - sum(c * c for c in totals.values())) / (n * (n - 1))
    return Alpha(value=1 - observed / expected, units=len(paired), pairable=n)


def _pair(a: str, b: str, counts: Counter[tuple[str, str]]) -> PairAgreement:
    n = counts.total()
    table: dict[str, dict[str, int]] = {}
    for (mine, theirs), count in sorted(counts.items()):
        table.setdefault(mine, {})[theirs] = count
    kappa = cohen(counts)
    reason = "" if kappa is not None else _one_value(next(iter(counts))[0]) if n else f"{a} and {b} have labelled no item in common"
    return PairAgreement(a=a, b=b, n=n, same=sum(c for (x, y), c in counts.items() if x == y), table=table, kappa=kappa, reason=reason)


def _one_value(value: str) -> str:
    return (f"every label on the shared items is {value!r}: with one value alone, agreement cannot be told from chance; "
            "it needs items of both kinds")
