"""A fork's copied rounds are stored with it and yield no second verdict or item."""

from __future__ import annotations

from storage.store import open_store
from tests.core.helpers import of
from tests.core.test_fork import TWO_ROUNDS, at, forked, stored
from trio_core.events import Verdict
from trio_core.runs import RunRequest


async def test_only_what_comes_after_the_fork_yields_items(url: str) -> None:
    store = open_store(url)
    original = await stored()
    first = store.create_run(RunRequest(question=original[0].question, method="trio"))
    store.append_all(first, original)
    point = at(1, "insufficient", first)
    events = await forked(original, point, TWO_ROUNDS | {"judge": TWO_ROUNDS["judge"][1:]})
    second = store.create_run(RunRequest(question=original[0].question, method="trio", fork=point))
    store.append_all(second, events)
    assert list(store.events(second)) == events and store.run(second).request.fork == point
    shared, own = (store.item_by_hash(v.item.content_hash) for v in of(events, Verdict))
    assert [v.run_id for v in store.verdicts_for(shared.id)] == [first]
    assert [v.run_id for v in store.verdicts_for(own.id)] == [first, second]  # both runs found the same pool in round 2
    store.close()
