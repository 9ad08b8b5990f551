"""Servers that the app starts: crashes, restarts, the gate, the tie to the parent. Small programs stand in for models."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from trio_core.engines.gate import Gate
from trio_core.engines.process import ServerProcess, child_environment
from trio_core.engines.supervisor import CRASHES_ALLOWED, Supervisor
from trio_core.errors import EngineBroken, EngineError, EngineUnreachable

KILLED = "import os; os.kill(os.getpid(), 9)"
SERVE = "import time; print('address http://here', flush=True); time.sleep(600)"
FAIL = "import sys; sys.stderr.write('0.1 E failed to load model\\n'); sys.exit(1)"


def supervisor(*programs: str) -> tuple[Supervisor, list[str]]:
    """Runs the programs one after another, the last for ever; the list gets the addresses."""
    left, addresses = list(programs), []

    async def spawn() -> ServerProcess:
        program = left.pop(0) if len(left) > 1 else left[0]
        return await ServerProcess.spawn([sys.executable, "-c", program], child_environment({}))

    async def on_up(address: str) -> None:
        addresses.append(address)

    return Supervisor(spawn, on_up), addresses


async def crash(server: Supervisor) -> ServerProcess:
    process = await server.available()
    os.kill(process.pid, signal.SIGKILL)
    await process.ended()
    return process


async def settled(server: Supervisor, notices: int) -> None:
    async with asyncio.timeout(60):
        while len(server.notices) < notices:
            await asyncio.sleep(0.02)


async def test_a_crashed_server_comes_back_with_a_dated_notice() -> None:
    server, addresses = supervisor(SERVE)
    await server.start()
    old = await crash(server)
    await settled(server, 1)
    assert (await server.available()).pid != old.pid
    assert addresses == ["http://here", "http://here"]
    assert "signal 9" in server.notices[0] and "restarted" in server.notices[0] and server.notices[0].startswith("20")
    await server.stop("done")


async def test_a_call_under_way_is_told_of_the_crash() -> None:
    server, _ = supervisor(SERVE)
    await server.start()
    error = await server.explained(EngineBroken("connection lost"), await crash(server), "half")
    assert isinstance(error, EngineBroken) and "crashed (signal 9)" in str(error) and error.partial == "half"
    await server.stop("done")


async def test_a_server_that_keeps_crashing_stays_down_and_says_so() -> None:
    server, _ = supervisor(SERVE)
    await server.start()
    for n in range(1, CRASHES_ALLOWED + 2):
        await crash(server)
        await settled(server, n)
    with pytest.raises(EngineUnreachable, match="stays down; restart the app"):
        await server.available()


async def test_a_failed_start_shows_the_error_lines_of_the_log() -> None:
    server, _ = supervisor(FAIL)
    with pytest.raises(EngineError, match="failed to load model"):
        await server.start()
    assert server.status == "stopped"


async def test_a_server_that_is_killed_while_it_loads_is_started_again() -> None:
    server, addresses = supervisor(KILLED, SERVE, KILLED, SERVE)
    await server.start()
    await crash(server)
    await settled(server, 3)
    assert (await server.available()).returncode is None and addresses == ["http://here", "http://here"]
    assert "while it was loading (signal 9" in server.notices[0] and "was restarted" in server.notices[2]
    await server.stop("done")


async def test_a_server_that_is_always_killed_while_it_loads_is_given_up() -> None:
    server, _ = supervisor(KILLED)
    with pytest.raises(EngineError, match=r"did not come up \(signal 9\)"):
        await server.start()
    assert len(server.notices) == CRASHES_ALLOWED and server.status == "stopped"


async def test_a_restart_that_fails_is_told() -> None:
    server, _ = supervisor(SERVE, FAIL)
    await server.start()
    await crash(server)
    await settled(server, 1)
    with pytest.raises(EngineUnreachable, match="could not be restarted"):
        await server.available()


async def test_a_stop_of_ours_is_no_crash() -> None:
    server, _ = supervisor(SERVE)
    await server.start()
    process = await server.available()
    await server.stop("shut down")
    assert process.returncode is not None and server.notices == []
    with pytest.raises(EngineUnreachable, match="shut down"):
        await server.available()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's tie is Linux only")
async def test_a_tethered_program_ends_with_its_killed_parent() -> None:
    parent = ("import os, subprocess, sys, time; p = subprocess.Popen([sys.executable, '-m', 'trio_core.engines.tether', "
              "str(os.getpid()), 'sleep', '600']); print('address', p.pid, flush=True); time.sleep(600)")
    process = await ServerProcess.spawn([sys.executable, "-c", parent], child_environment({}))
    child = int(await process.announced)
    async with asyncio.timeout(60):
        while b"sleep" not in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0]:
            await asyncio.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        while alive(child):
            await asyncio.sleep(0.02)
    await process.stop()


def alive(pid: int) -> bool:
    """False for a process that is gone or a zombie that nobody has reaped yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_change_waits_for_calls_and_holds_new_ones_back() -> None:
    gate, order = Gate(), []

    async def change() -> None:
        async with gate.change():
            order.append("change")

    async def late_call() -> None:
        async with gate.call():
            order.append("late call")

    async with gate.call():
        tasks = [asyncio.create_task(change())]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(late_call()))
        await asyncio.sleep(0.01)
        order.append("first call")
    await asyncio.gather(*tasks)
    assert order == ["first call", "change", "late call"]


async def test_a_cancelled_change_opens_the_gate_again() -> None:
    gate = Gate()
    async with gate.call():
        task = asyncio.create_task(gate.change().__aenter__())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(20), gate.call():
        pass
