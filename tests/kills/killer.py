"""Who kills, looks what becomes of it, and goes on as a person would: through the pages of the app."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import httpx

from storage.jobs import ACTIVE
from storage.values import Job
from tests.kills.people import AGAIN_S, PATIENCE_S, Page, Steadfast, page
from tests.kills.world import EPOCHS, World
from training import process
from training.jobs import INTERRUPTED
from training.progress import FILE
from trio_core.demo import questions
from trio_core.runs import ENDED

STAGES = ("loading", "before", "training", "after", "converting")


async def until(holds: Callable[[], Any], what: Callable[[], str]) -> Any:
    """Waits until `holds()` is true and returns it; `what()` says what did not come."""
    end = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end, what()
        await asyncio.sleep(0.05)
    return found


class Killer:
    """Kills one process at a time, and prints what was killed when."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world, self._rng = world, rng
        self._began = time.monotonic()
        self.checkers: list[Steadfast] = []
        self.runs: list[str] = []
        self.resumed = 0

    async def kill(self, kind: str) -> None:
        """Sees that a training is under way, waits for a random moment, kills, and waits until all is as it should be."""
        while True:
            job = await self._training()
            if await {"trainer": self._kill_trainer, "app": self._kill_app, "engine": self._kill_engine}[kind](job):
                break
        await until(lambda: not self._world.untrue_jobs(), lambda: str(self._world.untrue_jobs()))
        await self._usable()

    async def _training(self) -> Job:
        job = self._world.job()
        if job is not None and job.state in ACTIVE:
            return job
        async with page(self._world.url, "/judge") as judge:
            await judge.load()
            if job is None or job.state == "done":
                (said, *_) = await judge.press("jd-start", "click", [self._world.snapshot_id, EPOCHS, *[None] * 6])
            else:
                (said, *_) = await judge.press("jd-resume", "click")
                self.resumed += 1
        assert 'data-tone="good"' in said or "running" in said, said
        return self._world.store.jobs(limit=1)[0]

    async def _kill_trainer(self, job: Job) -> bool:
        """In a random stage. False where the job ended before."""
        folder, stage = self._world.job_folder(job), self._rng.randrange(len(STAGES))
        begun = (folder / FILE).stat().st_size if (folder / FILE).exists() else 0

        def reached() -> bool:
            with (folder / FILE).open("rb") if (folder / FILE).exists() else open(os.devnull, "rb") as file:
                file.seek(min(begun, file.seek(0, 2)))
                said = file.read().decode()
            return any(f'"stage": "{name}"' in said for name in STAGES[stage:]) or process.pid_of(folder) is None

        await until(reached, lambda: f"job {job.id} never came to {STAGES[stage]}")
        await asyncio.sleep(self._rng.uniform(0, 0.5))
        pid = process.pid_of(folder)
        if pid is None or not _killed(pid):
            return False
        self._note(f"the trainer while {STAGES[stage]}")
        after = await until(lambda: (now := self._world.store.job(job.id)).state not in ACTIVE and now,
                            lambda: f"job {job.id} is still called active")
        # A process that had written its result and only not ended yet is done all the same.
        assert (after.state, after.error) in (("failed", INTERRUPTED), ("done", "")), after
        return True

    async def _kill_app(self, job: Job) -> bool:
        """And starts it again."""
        await asyncio.sleep(self._rng.uniform(0, 2))
        assert self._world.app is not None
        self._world.app.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self._world.app.process.wait)
        self._note("the app")
        await asyncio.to_thread(self._world.start)
        return True

    async def _kill_engine(self, job: Job) -> bool:
        """Also one that is still loading its model."""
        pid = await until(self._world.engine, lambda: "no engine process came")
        await asyncio.sleep(self._rng.uniform(0, 2))
        async with page(self._world.url) as front:
            before = (await front.status()).count('class="notice"')
            if not _killed(pid):
                return False
            self._note("the engine")
            await until(lambda: self._world.engine() not in (None, pid), lambda: "the engine did not come back")
            status = await _shows(front, lambda html: html.count('class="notice"') > before)
            assert "signal 9" in status and ("was restarted" in status or "is started again" in status), status
        return True

    async def _usable(self) -> None:
        """The engine is ready, and a label is acknowledged."""
        async with page(self._world.url) as front:
            await _shows(front, lambda html: "dot ready" in html)
        checker = Steadfast(self._world.url, "checker", len(self.checkers), think_s=(0.0, 0.0))
        self.checkers.append(checker)
        await checker.work(float("inf"), acts=1)
        assert checker.log.faults == [] and checker.log.acts, checker.log

    async def ask_on(self) -> None:
        """One question after another, through all deaths."""
        while True:
            try:
                async with page(self._world.url) as explore:
                    self.runs.append(await ask(explore, self._rng.choice(questions()).question))
                life = self._world.lives
                while self._world.lives == life and (info := self._world.store.run(self.runs[-1])) and info.status not in ENDED:
                    await asyncio.sleep(0.2)
                await asyncio.sleep(self._rng.uniform(0, 2))
            except httpx.TransportError:
                await asyncio.sleep(AGAIN_S)

    async def settle(self) -> None:
        """The last job ends, resumed if need be."""
        job = self._world.job()
        assert job is not None
        if job.state != "done":
            job = await self._training()
        await until(lambda: self._world.store.job(job.id).state not in ACTIVE, lambda: f"job {job.id} does not end")
        assert self._world.store.job(job.id).state == "done", self._world.store.job(job.id)

    async def end_all_runs(self) -> dict[str, str]:
        """Run -> how it ended. All runs of the dead are called interrupted by themselves; those are continued."""
        def status() -> dict[str, str]:
            return {run_id: info.status if (info := self._world.store.run(run_id)) else "lost" for run_id in self.runs}

        def open_() -> list[str]:
            return [run_id for run_id, state in status().items() if state not in ENDED]

        await until(lambda: not open_(), lambda: f"runs are still called open: {open_()}")
        cut = [run_id for run_id, state in status().items() if state != "finished"]
        self._note(f"(nobody): {len(cut)} of {len(self.runs)} runs are continued")
        async with page(self._world.url) as explore:
            for run_id in cut:
                assert status()[run_id] == "interrupted", self._world.store.run(run_id)
                await explore.press("ts-board", "resume", [{"runs": [run_id], "url": ""}], {"run": run_id})
        await until(lambda: not open_(), lambda: f"runs do not end: {open_()}")
        return status()

    def _note(self, what: str) -> None:
        job = self._world.job()
        where = f"job {job.id} {job.state}, {job.progress.stage or 'no word yet'}, step {job.progress.step}" if job else "no job"
        print(f"{time.monotonic() - self._began:6.1f} s: {what} ({where})", flush=True)


async def ask(explore: Page, question: str) -> str:
    """Starts a run as the Explore page does; its id."""
    board, error = await explore.press("ts-run", "click", first=question)
    assert not error, error
    return str(board["runs"][0])


async def _shows(front: Page, wanted: Callable[[str], bool]) -> str:
    """Waits until the header's line is as wanted; that line, as HTML."""
    end = time.monotonic() + PATIENCE_S
    while not wanted(status := await front.status()):
        assert time.monotonic() < end, status
        await asyncio.sleep(AGAIN_S)
    return status


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False
