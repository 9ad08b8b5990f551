"""The query pool as text, and how much of it fits.

TRIO groups passages by the query that found them and repeats a passage under every query (section 3.1 and the case tables);
`repeats="reference"` writes only the title of a passage that stands further up, which saves prompt tokens on a CPU.
The text only ever grows at its end from round to round, so that a server's prefix cache keeps serving it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from trio_core.values import PoolEntry

Repeats = Literal["full", "reference"]
Counter = Callable[[str], Awaitable[int]]


class FittedPool(NamedTuple):
    """What goes into a prompt: its text, its size in tokens, and the ids of passages that did not fit."""

    text: str
    tokens: int
    dropped: tuple[str, ...]


@lru_cache(maxsize=4096)
def passage_block(number: int, title: str, text: str) -> str:
    """One passage as the agents read it."""
    head = f"Doc {number} (Title: {title})" if title else f"Doc {number}"
    return f"{head}: {' '.join(text.split())}"


def _blocks(pool: Sequence[PoolEntry], repeats: Repeats, left_out: frozenset[tuple[int, int]]) -> Iterable[list[str]]:
    seen: set[str] = set()
    for number, entry in enumerate(pool, 1):
        lines = [f"Query {number}: {entry.query}"]
        for position, hit in enumerate(entry.hits, 1):
            if (number, position) in left_out:
                continue
            passage = hit.passage
            if repeats == "reference" and passage.id in seen:
                lines.append(f"Doc {position} (Title: {passage.title}): see above")
            else:
                lines.append(passage_block(position, passage.title, passage.text))
            seen.add(passage.id)
        yield lines


def pool_text(pool: Sequence[PoolEntry], repeats: Repeats = "full", left_out: frozenset[tuple[int, int]] = frozenset()) -> str:
    """The pool in the order of retrieval. `left_out` holds (query number, position) pairs, both from 1."""
    return _joined(_blocks(pool, repeats, left_out))


def _joined(blocks: Iterable[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in blocks) or "(none)"


async def fit_pool(pool: Sequence[PoolEntry], budget: int | None, count: Counter, repeats: Repeats = "full") -> FittedPool:
    """Leaves passages out whole, lowest rank first (of equal rank the latest query's), until the pool fits.

    `budget` is in tokens of the serving model; None = no limit known. The query lines always stay.
    """
    sizes: dict[tuple[int, int], int] = {}
    total = 0
    blocks = list(_blocks(pool, repeats, frozenset()))
    for number, lines in enumerate(blocks, 1):
        for position, line in enumerate(lines):
            sizes[number, position] = await count(line)
            total += sizes[number, position] + 1
    if budget is None or total <= budget:
        return FittedPool(_joined(blocks), total, ())
    left_out: set[tuple[int, int]] = set()
    for key in sorted((key for key in sizes if key[1] > 0), key=lambda key: (-key[1], -key[0])):
        if total <= budget:
            break
        left_out.add(key)
        total -= sizes[key] + 1
    dropped = tuple(pool[n - 1].hits[p - 1].passage.id for n, p in sorted(left_out))
    return FittedPool(pool_text(pool, repeats, frozenset(left_out)), total, dropped)


async def pool_budget(context_tokens: int | None, fixed: Sequence[str], max_tokens: int, count: Counter) -> int | None:
    """Tokens that a pool may take beside the `fixed` message texts and an answer of `max_tokens`; None where the context is unknown."""
    if context_tokens is None:
        return None
    used = 0
    for text in fixed:
        used += await count(text) + 8
    # 32 spare tokens: chat templates differ in what they add around messages.
    return max(0, context_tokens - used - max_tokens - 32)
