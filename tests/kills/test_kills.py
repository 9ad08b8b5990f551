"""kill -9 at random moments, 20 times, while people label, a judge is trained and questions are asked.

Killed are the trainer, the app, and the child process that runs the embedded engine. The trainer and the engine are brought back by the
app: it marks the job as interrupted (a click resumes it from its last checkpoint) and starts the engine again with a notice in the
header. The app itself is brought back from outside, by `restart: unless-stopped` (docker/compose.yaml) or by whoever types `make app`;
here the test does that, and nothing else: no file is repaired, no job or run is mended by hand.

Then every label that was acknowledged is stored exactly once, every job's state is what its process shows, a resumed training ends with
a whole curve and adapters that load, and every run is in the store, ended, and can be continued.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tests.benchmarks.annotator_store import check
from tests.e2e.conftest import end
from tests.kills.killer import Killer
from tests.kills.people import Steadfast
from tests.kills.world import OVERLAP, World
from training.service import TrainingService

SEED = int(os.environ.get("TRIOSCOPE_KILL_SEED", "") or 20261130)
KILLS = int(os.environ.get("TRIOSCOPE_KILLS", "") or 20)
PEOPLE, ACTS, ITEMS, THINK_S = 3, 100, 220, (1.5, 3.5)
MUST_BE_ZERO = ("lost", "changed", "doubled", "unknown")
"""Not the overlap: whoever undoes a skip may answer the item although others have its places by then; kills change nothing in that."""


def order_of(rng: random.Random) -> list[str]:
    """As many of each kind, shuffled; never four of the engine in one life of the app, which would leave it down (as it should)."""
    while True:
        order = [("trainer", "app", "engine")[n % 3] for n in range(KILLS)]
        rng.shuffle(order)
        if all(part.count("engine") < 4 for part in "".join(f"{kind} " for kind in order).split("app")):
            return order


@pytest.mark.slow
@pytest.mark.timeout(3000)
async def test_twenty_kills_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    print(f"TRIOSCOPE_KILL_SEED={SEED}")
    # Three processes compute on few cores: waiting threads must not burn the time of the working ones.
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    world = await asyncio.to_thread(World, tmp_path, ITEMS, SEED)
    killer = Killer(world, random.Random(SEED))
    await asyncio.to_thread(world.start)
    people = [Steadfast(world.url, f"annotator {n}", SEED + n, THINK_S) for n in range(PEOPLE)]
    work = [asyncio.create_task(person.work(float("inf"), acts=ACTS)) for person in people]
    asking = asyncio.create_task(killer.ask_on())
    try:
        for kind in order_of(random.Random(SEED)):
            await killer.kill(kind)
        asking.cancel()
        await killer.settle()
        for task in work:
            task.cancel()
        faults = [end for end in await asyncio.gather(*work, asking, return_exceptions=True) if isinstance(end, Exception)]
        assert faults == []
        runs = await killer.end_all_runs()
    finally:
        for task in (*work, asking):
            task.cancel()
        assert world.app is not None
        await asyncio.to_thread(end, world.app)
        world.end_jobs()
    logs = [person.log for person in (*people, *killer.checkers)]
    counted = check(world.store, logs, OVERLAP)
    assert {key: counted[key] for key in MUST_BE_ZERO} == dict.fromkeys(MUST_BE_ZERO, 0) and counted["acknowledged"] >= KILLS
    assert [fault for log in logs for fault in log.faults] == []
    done = [job for job in world.store.jobs() if job.state == "done"]
    assert done and [fault for job in done for fault in world.faults_of_done(job)] == []
    assert world.untrue_jobs() == [] and killer.resumed > 0
    assert runs and set(runs.values()) == {"finished"}
    await asyncio.to_thread(adapter_serves, world, done[0].id)
    world.store.close()


def adapter_serves(world: World, job_id: int) -> None:
    """The engine loads the adapter of a training that was killed again and again, and says what was measured at its end."""
    service = TrainingService(world.settings(), world.store, bench := world.workbench())
    try:
        name = next(version.name for version in world.store.judge_versions() if version.scores.get("job_id") == job_id)
        served = service.promote(name, by="the test", reason="to see whether it loads").scores["served"]
        assert served["warning"] == "" and served["difference"] < 0.05, served
    finally:
        service.close()
        bench.close()
