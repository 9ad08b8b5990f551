"""P(sufficient) and sampled answers of label items by the served model; every value is kept at once, so a stopped job goes on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from training.stop import StopRequest
from trio_core.answering import answer_agent
from trio_core.engines.base import Engine, JudgeAdapter
from trio_core.engines.build import build_engine
from trio_core.evidence import (
    AnswerAgent,
    AnswerSample,
    EvidenceReport,
    SampleSettings,
    head_sampling,
    sample_answers,
    summarise,
)
from trio_core.judge_signals import signals
from trio_core.settings import Settings
from trio_core.values import ChatCall, JudgeItem

OnItem = Callable[[int, int, float], None]
"""Called after each item with items done, items in all and seconds left (estimated)."""


class Judged(NamedTuple):
    """What a judge says about an item. `p` is the head's where it has one; null = the server shows no log-probabilities."""

    p: float | None
    p_raw: float | None
    signals: Mapping[str, float]


class ScoreCache:
    """Values by key in a file of JSON lines; the last line of a killed process is skipped."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._known: dict[str, Any] = {}
        for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
            try:
                key, value = json.loads(line)
                self._known[key] = value
            except ValueError:
                continue

    def get(self, key: str) -> Any:
        """The value, or None."""
        return self._known.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a value and writes it out."""
        self._known[key] = value
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps([key, value]))  # a broken line before it does no harm

    @staticmethod
    def key(*parts: object) -> str:
        """sha256 over what a value hangs on."""
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False, default=str).encode()).hexdigest()


class Scorer:
    """Asks one engine of this process; `use` makes a judge its live one. Raises Stopped between two calls once `stop` is wanted."""

    def __init__(self, engine: Engine, agent: AnswerAgent, cache: ScoreCache, stop: StopRequest) -> None:
        self._engine = engine
        self._stop = stop
        self._agent = agent
        self._cache = cache

    async def use(self, judge: JudgeAdapter) -> None:
        """Serves this judge from now on. Raises EngineError."""
        if self._engine.judge != judge:
            await self._engine.use_judge(judge)

    async def p_raw(self, item: JudgeItem) -> float | None:
        """The served model's own P(sufficient)."""
        self._stop.check()
        live = self._engine.judge
        call = ChatCall(role="judge", messages=item.messages, max_tokens=8)
        key = ScoreCache.key("p", self._engine.describe("")[0], live.gguf or live.peft_dir, call.messages)
        known = self._cache.get(key)
        if known is None:
            known = (await self._engine.verdict(call)).p_sufficient
            if known is not None:
                self._cache.put(key, known)
        return known

    async def answers(self, item: JudgeItem, wanted: SampleSettings, gold: Sequence[str] = ()) -> EvidenceReport:
        """What the answer agent answers from exactly this pool."""
        prompt = await self._agent.messages(item)
        key = ScoreCache.key("answers", self._engine.describe("answer"), prompt.messages, wanted.model_dump(), gold)
        known = self._cache.get(key)
        if known is not None:
            return EvidenceReport.model_validate(known)
        samples: list[AnswerSample] = []
        async with aclosing(sample_answers(self._agent, prompt.messages, wanted, gold)) as found:  # type: ignore[type-var]
            async for sample in found:
                self._stop.check()
                samples.append(sample)
        report = summarise(samples, wanted.samples)
        self._cache.put(key, report.model_dump(mode="json"))
        return report

    async def judged(self, item: JudgeItem, samples: int = 0, temperature: float = 1.0) -> Judged:
        """The served judge's P and the signals of the item; `samples` answers are drawn for them (at least as many as its head reads)."""
        head = self._engine.judge.head
        if head is not None and head.samples:
            samples, temperature = head.samples, head.temperature
        raw = await self.p_raw(item)
        answers = await self.answers(item, head_sampling(samples, temperature)) if samples and raw is not None else None
        found = signals(item, raw, answers)
        return Judged(raw if head is None or raw is None else head.p(found), raw, found)


async def score_items(scorer: Scorer, items: Mapping[int, JudgeItem], on_item: OnItem, samples: int = 0,
                      temperature: float = 1.0) -> dict[int, Judged]:
    """item id -> what the served judge says."""
    found: dict[int, Judged] = {}
    began = time.monotonic()
    for number, (item_id, item) in enumerate(items.items(), 1):
        found[item_id] = await scorer.judged(item, samples, temperature)
        on_item(number, len(items), (time.monotonic() - began) / number * (len(items) - number))
    return found


@asynccontextmanager
async def scoring(settings: Settings, stop: StopRequest) -> AsyncIterator[Scorer]:
    """An engine of this process with the answer agent. A vLLM server of the app is attached to, never started again."""
    engine = build_engine(attached(settings))
    try:
        await engine.start()
        capabilities = await engine.probe()
        cache = ScoreCache(settings.data_dir / "training" / "scores.jsonl")
        yield Scorer(engine, answer_agent(settings, engine, capabilities), cache, stop)
    finally:
        await engine.close()


def attached(settings: Settings) -> Settings:
    """The settings without starting a vLLM server."""
    vllm = settings.engine.vllm.model_copy(update={"start": False})
    return settings.model_copy(update={"engine": settings.engine.model_copy(update={"vllm": vllm})})
