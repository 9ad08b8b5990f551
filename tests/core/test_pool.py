"""The pool as text, and what is left out when it does not fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.helpers import PASSAGES
from trio_core.pool import fit_pool, pool_text
from trio_core.values import Hit, Passage, PoolEntry


def entry(query: str, *ids: str) -> PoolEntry:
    return PoolEntry(query=query, hits=tuple(Hit(passage=PASSAGES[i], score=None, rank=n) for n, i in enumerate(ids, 1)))


async def words(text: str) -> int:
    return len(text.split())


def test_text_grows_only_at_its_end() -> None:
    first = pool_text([entry("a", "p1", "p2")])
    assert pool_text([entry("a", "p1", "p2"), entry("b", "p1")]).startswith(first)


def test_repeats_in_full_or_by_title() -> None:
    pool = [entry("a", "p1"), entry("b", "p1")]
    assert pool_text(pool).count("directed by Bea Cole") == 2
    assert pool_text(pool, "reference").count("directed by Bea Cole") == 1


async def test_lowest_rank_goes_first_and_is_named() -> None:
    pool = [entry("a", "p1", "p2"), entry("b", "p3", "p2")]
    full = await fit_pool(pool, None, words)
    fitted = await fit_pool(pool, full.tokens - 1, words)
    assert fitted.dropped == ("p2",) and "Query 2" in fitted.text
    assert "Bea Cole was born" in fitted.text, "the earlier query's copy of equal rank stays"


@given(st.lists(st.lists(st.integers(1, 30), max_size=4), min_size=1, max_size=4), st.integers(0, 200))
async def test_what_is_kept_fits_or_is_bare(sizes: list[list[int]], budget: int) -> None:
    pool = [
        PoolEntry(query="q", hits=tuple(Hit(passage=Passage(id=f"{a}-{b}", text="w " * n), score=None, rank=b) for b, n in enumerate(row, 1)))
        for a, row in enumerate(sizes)
    ]
    fitted = await fit_pool(pool, budget, words)
    assert fitted.tokens <= budget or len(fitted.dropped) == sum(map(len, sizes))
