"""Evaluations that the app works on: ordered, stopped, continued by another app, refused; and what lies on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage import Store, open_store
from trio_core.errors import InputError
from trio_core.evaluation.order import Order
from trio_core.evaluation.service import EvaluationService, Standing
from trio_core.evaluation.wish import Wish
from trio_core.settings import Settings, load_settings
from trio_core.workbench import Workbench


@contextmanager
def app(folder: Path, *flags: str, script: dict[str, Any] | None = None) -> Iterator[tuple[EvaluationService, Store]]:
    if script is not None:
        (folder / "script.yaml").write_text(yaml.safe_dump(script))
        flags = (*flags, f"engine.script={folder / 'script.yaml'}")
    settings = load_settings("scripted", env={}, flags=[f"data_dir={folder / 'data'}", "retriever.kind=bm25", *flags])
    store = open_store(settings.database_url)
    bench = Workbench(settings, store)
    bench.bring_up(wait=True)
    service = EvaluationService(settings, store, bench)
    try:
        yield service, store
    finally:
        service.close()
        bench.close()
        store.close()


def order(*methods: str, corpus: str = "", concurrency: int = 2, **wish: Any) -> Order:
    chosen = Wish(**{"dataset": "demo", "methods": methods or ("no_retrieval",), "limit": 2, **wish})
    return Order(wish=chosen, corpus=corpus, concurrency=concurrency, by="ann", created=datetime.now(UTC))


def until(service: EvaluationService, name: str, fits: Callable[[Standing], bool]) -> Standing:
    end = time.monotonic() + 60
    while not fits(found := service.standing(name)):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def test_an_order_becomes_stored_runs_and_a_report(tmp_path: Path) -> None:
    with app(tmp_path) as (service, store):
        name = service.begin(order("no_retrieval", "naive:top_k=2"))
        done = until(service, name, lambda s: not s.active)
        assert (done.state, done.progress.done, done.progress.total, done.message) == ("done", 4, 4, "")
        runs = store.runs_of_group(name)
        assert {r.request.evaluation.label for r in runs if r.request.evaluation} == {"no_retrieval", "naive:top_k=2"}
        assert {r.run_id for r in service.results.rows(name)} == {r.id for r in runs}
        assert service.results.spent(name).calls == sum(r.calls or 0 for r in runs) == 4
        summary = service.results.summary(name, "f1", ("naive:top_k=2", "no_retrieval"))
        assert [e.label for e in summary.entrants] == ["naive:top_k=2", "no_retrieval"] and summary.metric == "f1"
        assert "--method no_retrieval,naive:top_k=2" in (service.folder(name) / "summary.md").read_text()
        assert [s.id for s in service.standings()] == [name]


WAITS = {"answer": [{"text": "Delft"}] + [{"text": "Delft", "delay_s": 600}] * 9}


def test_a_stop_and_another_app_goes_on(tmp_path: Path) -> None:
    with app(tmp_path, script=WAITS) as (service, _):
        name = service.begin(order("no_retrieval", limit=3, concurrency=1))
        until(service, name, lambda s: s.progress.done == 1)
        with pytest.raises(InputError, match="is at work; one evaluation works at a time"):
            service.begin(order("naive"))
        service.stop(name)
        assert service.standing(name).state == "stopped"
    with app(tmp_path, script={"answer": [{"text": "Delft"}] * 9}) as (service, store):
        before = service.standing(name)
        assert (before.state, before.progress.done, before.progress.total) == ("stopped", 1, 3)
        service.go_on(name)
        assert until(service, name, lambda s: not s.active).state == "done"
        runs = store.runs_of_group(name)
        assert len(runs) == 3 and {r.status for r in runs} == {"finished"}


def test_closing_the_app_stops_what_is_at_work(tmp_path: Path) -> None:
    with app(tmp_path, script=WAITS) as (service, store):
        name = service.begin(order("no_retrieval", limit=2, concurrency=2))
        until(service, name, lambda s: s.progress.running > 0)
        service.close()
        assert service.standing(name).state == "stopped" and {r.status for r in store.runs_of_group(name)} <= {"finished", "stopped"}
        assert not [t for t in threading.enumerate() if t.name == f"sitting of {name}"]


def test_a_failed_sitting_says_why_and_failed_runs_can_be_tried_again(tmp_path: Path) -> None:
    with app(tmp_path, script={"answer": [{"text": "Delft"}]}) as (service, _):
        name = service.begin(order("no_retrieval", limit=2))
        done = until(service, name, lambda s: not s.active)
        assert (done.state, done.progress.failed) == ("done", 1)
    with app(tmp_path, script={"answer": [{"text": "Delft"}]}) as (service, _):
        service.go_on(name, retry_failed=True)
        assert until(service, name, lambda s: not s.active).progress.failed == 0


def test_another_corpus_has_an_index_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "corpus.jsonl").write_text('{"id": "a", "contents": "\\"Delft\\"\\nDelft is a city."}\n')
    (tmp_path / "sets" / "mine.jsonl").write_text('{"id": "1", "question": "Which city?", "golden_answers": ["Delft"]}\n')
    with app(tmp_path, f"data_folders=[{tmp_path / 'sets'}]") as (service, store):
        name = service.begin(order("naive", dataset="mine.jsonl", corpus="corpus.jsonl"))
        done = until(service, name, lambda s: not s.active)
        assert (done.state, done.message, done.progress.done) == ("done", "", 1)
        (run,) = store.runs_of_group(name)
        assert store.events(run.id)[0].index["passages"] == 1 and run.em == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize(("made", "said"), [
    (lambda: order("nobody"), "nobody"), (lambda: order("trio:max_extensions=99"), "max_extensions"), (lambda: order(concurrency=99), "99 runs at once"),
    (lambda: order(dataset="/etc/passwd"), "data_folders"), (lambda: order(dataset="../../app.py"), "data_folders"),
    (lambda: order(corpus="/etc/passwd"), "data_folders"), (lambda: order(sample=True, limit=None), "needs a limit"),
])
def test_mistakes_are_told_at_once(tmp_path: Path, made: Callable[[], Order], said: str) -> None:
    with app(tmp_path) as (service, _):
        with pytest.raises(Exception, match=said):
            service.begin(made())
        assert service.standings() == []
        for name in ("eval-0", "../data", ""):
            with pytest.raises(InputError, match="does not exist"):
                service.standing(name)


def test_a_damaged_folder_does_not_take_the_list_down(tmp_path: Path) -> None:
    service = EvaluationService(Settings(data_dir=tmp_path), None, None)  # type: ignore[arg-type]
    for name, text in (("eval-1", "{"), ("eval-2", order().model_dump_json())):
        (service.root / name).mkdir(parents=True)
        (service.root / name / "order.json").write_text(text)
    (service.root / "eval-2" / "rows.jsonl").write_text("nonsense\n")
    assert {s.id: s.state for s in service.standings()} == {"eval-1": "failed", "eval-2": "failed"}
    assert all("no order" in s.message or "no row" in s.message for s in service.standings())


def test_a_data_set_that_cannot_be_read_is_a_failed_sitting(tmp_path: Path) -> None:
    sets = Settings(data_dir=tmp_path / "data").data_dir / "datasets"
    sets.mkdir(parents=True)
    (sets / "odd.jsonl").write_text('{"a": 1}\n')
    with app(tmp_path) as (service, _):
        name = service.begin(order(dataset="odd.jsonl"))
        failed = until(service, name, lambda s: not s.active)
        assert failed.state == "failed" and "no known format" in failed.message
