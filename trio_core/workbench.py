"""Everything a host of Trioscope needs, wired once: engine, retriever, hub, in one event loop of their own.

The web app, the command line and the benchmarks all build a `Workbench`. It comes up in the background (`bring_up`), so that
pages can be read while the model loads; a run that starts earlier waits for it and fails with the reason if it fails.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Any, Literal, TypeVar, cast

from trio_core import collector
from trio_core.answering import answer_agent, context_tokens
from trio_core.engines.base import Engine, JudgeAdapter
from trio_core.engines.build import build_engine
from trio_core.engines.seeded import SeededEngine
from trio_core.errors import EngineError, InputError, TrioscopeError
from trio_core.events import RunStarted
from trio_core.evidence import AnswerAgent, SampleSettings, VoteLabel
from trio_core.evidence_task import EvidenceTask
from trio_core.fork import fork_request, forked_events
from trio_core.hub import Prepared, RunHub
from trio_core.live_run import Snapshot
from trio_core.loop_thread import LoopThread
from trio_core.methods import Tools, build_method, method_type
from trio_core.methods.base import check_settings
from trio_core.prompting import load_prompts
from trio_core.retrieval.base import Retriever
from trio_core.retrieval.build import build_retriever
from trio_core.retrieval.progress import BuildStep
from trio_core.runs import RunRequest, RunStore
from trio_core.settings import Settings
from trio_core.values import Capabilities, ForkPoint, JudgeItem, Passage, Value

T = TypeVar("T")
State = Literal["starting", "ready", "failed"]


class Status(Value):
    """How far the workbench is, in words for a status line."""

    state: State
    message: str
    seconds: float = 0.0
    capabilities: Capabilities | None = None
    index: dict[str, Any] = {}
    judge: str = "zero-shot"
    notices: tuple[str, ...] = ()


class Workbench:
    """One engine, one retriever, one hub."""

    def __init__(self, settings: Settings, store: RunStore, judge: JudgeAdapter | None = None) -> None:
        self.settings = settings
        self.store = store
        self.engine: Engine = build_engine(settings)
        self.retriever: Retriever | None = None
        self.capabilities: Capabilities | None = None
        self._judge = judge
        self._loop = LoopThread()
        self._up: asyncio.Future[None] | None = None
        self._state: State = "starting"
        self._message = "starting"
        self._began = time.monotonic()
        self.hub = RunHub(self._prepare, store, settings.runs)

    def bring_up(self, wait: bool = False) -> None:
        """Opens the hub and brings engine and index up in the background. `wait` blocks and raises what went wrong."""
        collector.calm()
        self._loop.call(self.hub.open())
        future = self._loop.submit(self._bring_up())
        if wait:
            future.result()
            if self._state == "failed":
                raise EngineError(self._message)

    async def _bring_up(self) -> None:
        self._up = asyncio.get_running_loop().create_future()
        try:
            self._message = "opening the index"
            self.retriever = await asyncio.to_thread(build_retriever, self.settings, self._progress)
            await self._start_engine()
            self._state, self._message = "ready", "ready"
        except TrioscopeError as error:
            self._state, self._message = "failed", str(error)
        except Exception as error:  # shown on every page; the pages themselves stay usable
            self._state, self._message = "failed", f"{type(error).__name__}: {error}"
        self._up.set_result(None)

    async def _start_engine(self) -> None:
        self._message = "loading the model"
        await self.engine.start()
        await self.engine.use_judge(self._with_threshold(self._judge or JudgeAdapter()))
        self._message = "asking the model server what it can do"
        self.capabilities = await self.engine.probe()

    def _progress(self, step: BuildStep) -> None:
        self._message = f"building the index: {step}"

    async def ready(self) -> None:
        """Returns once engine and index are up. Raises EngineError with the reason when they cannot be."""
        while self._up is None:
            await asyncio.sleep(0.01)
        await asyncio.shield(self._up)
        if self._state == "failed":
            raise EngineError(f"the engine is not available: {self._message}")

    async def _prepare(self, request: RunRequest) -> Prepared:
        await self.ready()
        assert self.retriever is not None
        settings = self.method_settings(request.method, request.settings)
        prompts = load_prompts(request.method, self.settings.engine.roles)
        seed = request.evaluation.seed if request.evaluation else None
        engine = self.engine if seed is None else SeededEngine(self.engine, seed)
        tools = Tools(engine, self.retriever, prompts, context_tokens(self.settings, self.capabilities), self.answer_agent(),
                      zero_shot=self._with_threshold(JudgeAdapter()))
        method = build_method(request.method, settings, tools)
        started = RunStarted(
            question=request.question, method=request.method, settings=method.settings.model_dump(mode="json"),
            models={role: _served(self.engine, role, role in method.tools.bare) for role in method.roles},
            index=method.tools.retriever.identity(),
            prompt_version=prompts.version, gold=request.gold, forked_from=request.fork,
        )
        return Prepared(method, started)

    def answer_agent(self) -> AnswerAgent:
        """TRIO's answer agent as runs use it. Raises SettingsError."""
        return answer_agent(self.settings, self.engine, self.capabilities)

    def sample_evidence(self, item: JudgeItem, settings: SampleSettings | None = None, gold: Sequence[str] = ()) -> EvidenceTask:
        """Begins sampling what the answer agent answers from exactly this pool; look with `samples`, `report()`, `done`."""
        task = EvidenceTask(item, settings or SampleSettings(), gold)
        task.future = self._loop.submit(task.run(self._ready_agent))
        return task

    async def _ready_agent(self) -> AnswerAgent:
        await self.ready()
        return self.answer_agent()

    def method_settings(self, method: str, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
        """The profile's settings of a method with overrides on top, checked. Raises SettingsError, InputError."""
        merged = {**self.settings.methods.get(method, {}), **(overrides or {})}
        kind = method_type(method)
        return check_settings(kind.settings_type, merged, method).model_dump()

    def status(self) -> Status:
        """For the status line of every page."""
        return Status(
            state=self._state, message=self._engine_message() or self._message, seconds=time.monotonic() - self._began, capabilities=self.capabilities,
            index=self.retriever.identity() if self.retriever else {}, judge=self.engine.judge.name,
            notices=tuple(getattr(self.engine, "notices", ())),
        )

    def _engine_message(self) -> str:
        """What the engine itself says while it loads, restarts or is down; empty when it has nothing to say."""
        said = str(getattr(self.engine, "status", "ready"))
        return said if said not in ("ready", "not started") and self._state != "failed" else ""

    def start_run(self, request: RunRequest) -> str:
        """Checks the method's settings, then starts a run; its id. Raises InputError, SettingsError, StoreError."""
        self.method_settings(request.method, request.settings)
        return self._loop.call(self.hub.start(request))

    def fork_run(self, run_id: str, round_: int, verdict: VoteLabel, *, by: str = "", note: str = "",
                 settings: dict[str, Any] | None = None, group: str = "") -> str:
        """Continues a stored run from a round with a person's verdict, as a run of its own; its id.

        `sufficient` = answer from there, `insufficient` = go on. `settings` change the method's from there on.
        Raises InputError (no such run or round, no way on), SettingsError, StoreError.
        """
        info = self.store.run(run_id)
        if info is None:
            raise InputError(f"run {run_id!r} does not exist")
        events = self.store.events(run_id)
        point = ForkPoint(run_id=run_id, round=round_, verdict=verdict, by=by, note=note)
        request = fork_request(info.request, events, point, settings or {}, group)
        prompts = load_prompts(request.method, self.settings.engine.roles)
        # Tried here without the retriever, so that what is wrong is said before a run exists.
        method = build_method(request.method, request.settings, Tools(self.engine, cast(Retriever, self.retriever), prompts))
        forked_events(method, RunStarted(question=request.question, method=request.method), events, point)
        return self._loop.call(self.hub.start(request))

    def stop_run(self, run_id: str) -> None:
        """Stops a run and returns once the stop is stored."""
        self._loop.call(self.hub.stop(run_id))

    def resume_run(self, run_id: str) -> None:
        """Continues an interrupted, stopped or failed run."""
        self._loop.call(self.hub.resume(run_id))

    def wait_run(self, run_id: str, timeout: float | None = None) -> None:
        """Blocks until a run has ended."""
        self._loop.call(self.hub.wait(run_id), timeout)

    def poll(self, run_id: str, after: int = -1) -> Snapshot | None:
        """See `RunHub.poll`."""
        return self.hub.poll(run_id, after)

    def use_judge(self, judge: JudgeAdapter) -> None:
        """Makes a judge version live; raises EngineError and keeps the old one when that fails."""
        self.call(self.engine.use_judge(self._with_threshold(judge)))

    def _with_threshold(self, judge: JudgeAdapter) -> JudgeAdapter:
        """A trained judge brings its own threshold; that of the bare model is a setting."""
        if judge.name != JudgeAdapter().name:
            return judge
        return judge.model_copy(update={"threshold": self.settings.judge.threshold})

    def passages(self, ids: list[str]) -> list[Passage]:
        """Passages by id."""
        return self.retriever.passages(ids) if self.retriever else []

    def call(self, work: Awaitable[T], timeout: float | None = None) -> T:
        """Runs a coroutine (engine or retriever) in the workbench's loop and waits for it."""
        return self._loop.call(work, timeout)  # type: ignore[arg-type]

    def close(self) -> None:
        """Interrupts runs, ends the engine. The store keeps everything."""
        self._loop.call(self.hub.close())
        self._loop.call(self.engine.close())
        if self.retriever is not None:
            self._loop.call(self.retriever.close())
        self._loop.close()


def _served(engine: Engine, role: str, bare: bool) -> str:
    """Model, adapter and judge of a role, as a run records them."""
    if bare:
        return f"{engine.describe('')[0]} (without the role's adapter)"
    model, adapter = engine.describe(role)
    name = f"{model} + {adapter}" if adapter else model
    return f"{name} ({engine.judge.name})" if role == "judge" else name
