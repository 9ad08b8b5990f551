"""Many writers: nothing is lost, nothing is doubled, nobody sees `database is locked`."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url
from store_helpers import add_items, give, judge_item, record, request, sqlite_only, verdict

from storage import Store, open_store
from storage.values import StoredLabel
from trio_core.errors import StoreError
from trio_core.events import RoundStarted

ROOT = Path(__file__).parents[2]


def test_twenty_annotators_save_fifty_labels_each(store: Store) -> None:
    items = add_items(store, 50)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda name: [give(store, item, annotator=f"annotator {name}") for item in items], range(20)))
    labels = store.all_labels()
    assert len(labels) == len({label.client_uuid for label in labels}) == 1000


def test_one_person_in_many_tabs_keeps_one_unbroken_history(store: Store) -> None:
    [item] = add_items(store, 1)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: give(store, item), range(40)))
    history = store.history(item)
    assert [label.supersedes for label in history] == [None, *(label.id for label in history[:-1])]


def test_two_apps_write_to_one_store(url: str) -> None:
    stores = [open_store(url), open_store(url)]
    items = add_items(stores[0], 30)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: give(stores[i % 2], items[i % 30], annotator=f"a{i}"), range(120)))
        list(pool.map(lambda i: record(stores[i % 2], f"Question {i}?"), range(20)))
    assert len(stores[0].all_labels()) == 120 and stores[1].list_runs()[1] == 20
    for store in stores:
        store.close()


def test_five_runs_at_once_lose_and_double_no_event(store: Store) -> None:
    runs = [store.create_run(request(f"Question {i}?")) for i in range(5)]
    shared = judge_item("Shared?")

    def work(run_id: str) -> None:
        for seq in range(40):
            store.append(run_id, verdict(seq, shared, round=seq) if seq % 4 == 0 else RoundStarted(seq=seq, round=seq))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, runs))
    assert all([event.seq for event in store.events(run_id)] == list(range(40)) for run_id in runs)
    assert store.label_counts().items == 1 and len(store.verdicts_for(1)) == 50


def test_same_event_from_two_threads_is_stored_once(store: Store) -> None:
    run_id = store.create_run(request())
    start, refused = threading.Barrier(8), []

    def send(_: int) -> None:
        start.wait()
        try:
            store.append(run_id, RoundStarted(seq=0, round=1))
        except StoreError as error:
            refused.append(error)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(8)))
    assert (len(refused), len(store.events(run_id))) == (7, 1)


@sqlite_only
def test_waits_while_another_program_writes_and_says_so_when_that_takes_too_long(
        store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = sqlite3.connect(str(make_url(url).database), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.5, lambda: other.execute("COMMIT"))
    timer.start()
    run_id = record(store)
    timer.join()
    assert store.run(run_id) is not None
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("storage.database._TRIES", 1)
    with store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=50")
    with pytest.raises(StoreError, match="another program has kept it locked"):
        record(store)
    other.close()
    assert record(store)


def test_what_is_asked_as_one_is_one_transaction(store: Store) -> None:
    [item] = add_items(store, 1)

    def work() -> StoredLabel:
        stored = give(store, item)
        assert store.current_labels(item) == [stored], "it sees what it has written"
        with ThreadPoolExecutor(1) as other:
            assert other.submit(store.current_labels, item).result() == [], "nobody else does yet"
        return stored

    stored = store.as_one(work, writing=True)
    assert store.current_labels(item) == [stored]


def test_a_failure_in_it_undoes_all_of_it(store: Store) -> None:
    [item] = add_items(store, 1)
    with pytest.raises(StoreError, match="4711 does not exist"):
        store.as_one(lambda: (give(store, item), give(store, 4711)), writing=True)
    assert store.history(item) == [] and give(store, item)
    with pytest.raises(RuntimeError, match="without `writing`"):
        store.as_one(lambda: give(store, item))
    assert store.as_one(lambda: store.as_one(lambda: len(store.history(item)))) == 1


_WRITER = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
from storage import open_store
from store_helpers import record
store = open_store(sys.argv[1])
for i in range(8):
    record(store, f"{{sys.argv[2]}} {{i}}?")
"""


def test_two_processes_write_to_one_store(url: str) -> None:
    script = _WRITER.format(root=str(ROOT), here=str(Path(__file__).parent))
    started = [subprocess.Popen([sys.executable, "-c", script, url, name]) for name in "ab"]
    assert [process.wait(100) for process in started] == [0, 0]
    store = open_store(url)
    assert store.list_runs()[1] == store.label_counts().items == 16
    store.close()
