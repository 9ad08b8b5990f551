"""Which question goes to which side of a snapshot. Pure: no database here."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.questions import near_groups
from storage.values import BinaryLabel, Split


@dataclass(frozen=True)
class Sides:
    """A side for every question, and how many questions had to leave the training side for it."""

    of: Mapping[str, Split]
    moved_from_train: int


@dataclass(frozen=True)
class _Group:
    """Near-duplicates of one question; they are on one side."""

    questions: tuple[str, ...]
    label: BinaryLabel
    side: Split | None
    order: str


def assign_sides(labels: Mapping[str, Sequence[BinaryLabel]], earlier: Mapping[str, Split], fraction: float, seed: int) -> Sides:
    """Sides for the questions of `labels` (normalised question -> labels of its rows).

    `earlier` holds the sides that earlier snapshots gave. A question with a held-out near-duplicate is held out. New
    questions are drawn so that each label's share comes near `fraction`. Training questions move only if nothing would be
    held out otherwise.
    """
    groups = _groups(labels, earlier, seed)
    held = {g.questions[0] for g in groups if g.side == "held_out"}
    for label in ("sufficient", "insufficient"):
        stratum = [g for g in groups if g.label == label]
        fresh = [g for g in stratum if g.side is None]
        held |= _draw(fresh, _quota(fraction, len(stratum)) - sum(g.side == "held_out" for g in stratum))
    if fraction > 0 and not held and len(groups) > 1:
        held |= _draw(groups, _quota(fraction, len(groups)))
    sides: dict[str, Split] = {q: "held_out" if g.questions[0] in held else "train" for g in groups for q in g.questions}
    moved = sum(earlier.get(question) == "train" and side == "held_out" for question, side in sides.items())
    return Sides(of=sides, moved_from_train=moved)


def _groups(labels: Mapping[str, Sequence[BinaryLabel]], earlier: Mapping[str, Split], seed: int) -> list[_Group]:
    """Groups with at least one question of `labels`. Earlier questions take part, since a new one may be near to them."""
    everything = sorted({*labels, *earlier})
    members: dict[int, list[str]] = defaultdict(list)
    for question, number in zip(everything, near_groups(everything), strict=True):
        members[number].append(question)
    return [_group([q for q in together if q in labels], together, labels, earlier, seed)
            for together in members.values() if any(q in labels for q in together)]


def _group(present: Sequence[str], together: Sequence[str], labels: Mapping[str, Sequence[BinaryLabel]],
           earlier: Mapping[str, Split], seed: int) -> _Group:
    votes = Counter(label for question in present for label in labels[question])
    known = {earlier[question] for question in together if question in earlier}
    side: Split | None = "held_out" if "held_out" in known else "train" if known else None
    majority: BinaryLabel = "sufficient" if votes["sufficient"] >= votes["insufficient"] else "insufficient"
    return _Group(tuple(present), majority, side, shuffled(seed, together[0]))


def shuffled(seed: int, key: str) -> str:
    """Sort key of a shuffle that does not depend on what else is shuffled."""
    return hashlib.sha256(f"{seed}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()


def _quota(fraction: float, n: int) -> int:
    """How many of n to hold out: the rounded share, but one at least of two or more, and not all unless asked for."""
    if fraction in (0, 1) or n < 2:
        return n if fraction == 1 else 0
    return min(max(1, int(fraction * n + 0.5)), n - 1)


def _draw(groups: Sequence[_Group], n: int) -> set[str]:
    return {g.questions[0] for g in sorted(groups, key=lambda g: g.order)[: max(0, n)]}
