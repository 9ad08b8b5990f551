"""Passages by the round and sub-query that found them."""

from __future__ import annotations

from trio_core.values import Hit, PoolEntry


class RoundRecord(PoolEntry):
    """A sub-query of an earlier round with the passages that it found first; MAPS hides it from later rounds."""

    round: int


def merge(number: int, results: list[tuple[str, tuple[Hit, ...]]]) -> tuple[RoundRecord, ...]:
    """This round's passages, each once, under the first sub-query that found it. The events keep every finder."""
    seen: set[str] = set()
    records = []
    for query, hits in results:
        own = []
        for hit in hits:
            if hit.passage.id not in seen:
                seen.add(hit.passage.id)
                own.append(hit)
        records.append(RoundRecord(query=query, hits=tuple(own), round=number))
    return tuple(records)


def latest(records: tuple[RoundRecord, ...], limit: int) -> tuple[PoolEntry, ...]:
    """The records as a pool without repeats, cut to the latest `limit` passages."""
    seen: set[str] = set()
    entries = []
    for record in records:
        own = [h for h in record.hits if h.passage.id not in seen]
        seen.update(h.passage.id for h in own)
        entries.append(PoolEntry(query=record.query, hits=tuple(own)))
    surplus = len(seen) - limit
    kept = []
    for entry in entries:
        cut = min(max(surplus, 0), len(entry.hits))
        surplus -= cut
        kept.append(entry.model_copy(update={"hits": entry.hits[cut:]}))
    return tuple(kept)
