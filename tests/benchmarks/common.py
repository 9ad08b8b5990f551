"""What the benchmarks share: which questions, a workbench over real parts, and where figures go.

Results are Markdown for people and raw JSON beside it: command, versions, n, date, every row.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trio_core import demo
from trio_core.events import Answered, LLMCalled, RunFailed, RunFinished, StoredEvent, Verdict
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.settings import PROJECT_ROOT, Settings, load_settings
from trio_core.workbench import Workbench

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("xllamacpp", "faiss-cpu", "sentence-transformers", "torch", "transformers", "trl", "peft", "gradio", "sqlalchemy")


def demo_questions(n: int | None, answerable: bool = True) -> list[demo.DemoQuestion]:
    """The first n of a fixed shuffle, so that 12 are a subset of 50 and every kind of question is among them."""
    chosen = [q for q in demo.questions() if q.answerable == answerable]
    random.Random(7).shuffle(chosen)
    return chosen[:n]


@contextmanager
def workbench(profile: str = "embedded", flags: Sequence[str] = ()) -> Iterable[Workbench]:  # type: ignore[misc]
    """A workbench that is up, over a store that forgets."""
    bench = Workbench(load_settings(profile, flags=flags), MemoryStore())
    try:
        bench.bring_up(wait=True)
        yield bench
    finally:
        bench.close()


def run_row(bench: Workbench, question: demo.DemoQuestion, method: str, record: Path | None = None) -> dict[str, Any]:
    """Runs one question to its end and gives its figures; with `record` the run's events are written into that folder."""
    request = RunRequest(question=question.question, method=method, gold=question.gold, dataset="demo", question_id=question.id)
    run_id = bench.start_run(request)
    bench.wait_run(run_id)
    snapshot = bench.poll(run_id)
    assert snapshot is not None
    if record is not None:
        _record(record / f"{question.id}-{method}.json", request, list(snapshot.events))
    return row_of(question, method, list(snapshot.events))


def _record(path: Path, request: RunRequest, events: list[StoredEvent]) -> None:
    """A run as `trio_core/demo/recorded` keeps it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"request": request.model_dump(mode="json") | {"origin": "recorded"}, "events": [e.model_dump(mode="json") for e in events]}
    path.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")


def row_of(question: demo.DemoQuestion, method: str, events: list[StoredEvent]) -> dict[str, Any]:
    """Figures of one run; a run that failed keeps its row with the reason."""
    end = events[-1]
    assert isinstance(end, (RunFinished, RunFailed))
    answer = next((e for e in events if isinstance(e, Answered)), None)
    calls = [e for e in events if isinstance(e, LLMCalled)]
    verdicts = [e for e in events if isinstance(e, Verdict)]
    return {
        "question_id": question.id, "type": question.type, "method": method,
        "reason": end.reason if isinstance(end, RunFinished) else f"{end.status}: {end.message}",
        "answer": answer.answer if answer else "", "gold": list(question.answers), "scores": (answer.scores if answer else None) or {},
        "totals": end.totals.model_dump(), "parse_failed": sum(c.parse == "failed" for c in calls),
        "verdicts": [[v.round, v.label, v.p_sufficient, _all_gold(question, v)] for v in verdicts],
        "load": os.getloadavg()[0], "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _all_gold(question: demo.DemoQuestion, verdict: Verdict) -> bool:
    return question.answerable and {h.passage_id for h in question.hops} <= verdict.item.passage_ids


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of an earlier, perhaps interrupted, run of the same benchmark."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """One row, at once, so that an interrupted benchmark goes on where it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def facts(settings: Settings | None = None) -> dict[str, Any]:
    """Command, date, machine, versions, settings."""
    return {
        "command": "python -m tests.benchmarks " + " ".join(sys.argv[1:]), "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "profile": settings.profile if settings else "",
        "methods": settings.methods if settings else {},
    }


def write_report(name: str, title: str, body: Sequence[str], raw: Mapping[str, Any], settings: Settings | None = None) -> None:
    """`results/<name>.md` and `.json`."""
    about = facts(settings)
    RESULTS.mkdir(parents=True, exist_ok=True)
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    head = [f"# {title}", "", f"`{about['command']}` · {about['date']} · {about['machine']}", "", f"Versions: {versions}", ""]
    (RESULTS / f"{name}.md").write_text(_public("\n".join([*head, *body, ""])), encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(_public(json.dumps({**about, **raw}, indent=1, ensure_ascii=False) + "\n"), encoding="utf-8")
    print("\n".join([*head, *body]))


def _public(text: str) -> str:
    """Without the paths of this machine."""
    return text.replace(sys.executable, "python").replace(f"{PROJECT_ROOT}/", "").replace(str(Path.home()), "~")


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A Markdown table."""
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(str(c) for c in row) + " |" for row in rows)]


def median(values: Iterable[float]) -> float:
    """The median, or nan of nothing."""
    found = list(values)
    return statistics.median(found) if found else float("nan")


def mean(values: Iterable[float]) -> float:
    """The mean, or nan of nothing."""
    found = list(values)
    return statistics.fmean(found) if found else float("nan")


def bootstrap(values: Sequence[float], draws: int = 2000, seed: int = 1) -> tuple[float, float]:
    """A 95 % percentile bootstrap interval of the mean."""
    if not values:
        return float("nan"), float("nan")
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws) - 1]
