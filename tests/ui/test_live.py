"""The feed of the boards: what a browser gets, and what it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage import Store, open_store
from storage.values import LabelInput
from tests.ui.traces import events_of, numbered
from trio_core.errors import InputError
from trio_core.events import BaseEvent, RunFinished, Totals
from trio_core.live_run import LiveText, Snapshot
from trio_core.runs import RunRequest
from trio_core.settings import Settings
from ui import live
from ui.context import UiContext
from ui.live import Feed, read_wish, run_ids, stored_runs


class StoredRuns:
    """A workbench that knows what the store knows, and one text being written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.writing: LiveText | None = None

    def poll(self, run_id: str, after: int = -1) -> Snapshot | None:
        info = self._store.run(run_id)
        return Snapshot(self._store.events(run_id, after), self.writing, info.status, 0) if info else None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 't.db'}")
    yield opened
    opened.close()


@pytest.fixture
def workbench(store: Store) -> StoredRuns:
    return StoredRuns(store)


@pytest.fixture
def feed(store: Store, workbench: Any) -> Feed:
    return Feed(UiContext(Settings(), store, workbench, None))  # type: ignore[arg-type]


def begin(store: Store, count: int = 99) -> tuple[str, list[BaseEvent]]:
    """A run with its first events; the rest of them."""
    run_id = store.create_run(RunRequest(question="Q?", method="maps"))
    store.set_status(run_id, "running")
    events = numbered([*events_of("x"), RunFinished(reason="enough", totals=Totals(rounds=1))])
    for event in events[:count]:
        store.append(run_id, event)  # type: ignore[arg-type]
    return run_id, events[count:]


def ask(feed: Feed, run_id: str, known: dict[str, str] | None = None, me: str = "") -> dict[str, Any]:
    return feed.answer(read_wish({"runs": [run_id], "known": known or {}, "me": me}))


def known_of(answer: dict[str, Any], before: dict[str, str] | None = None) -> dict[str, str]:
    return {**(before or {}), **{b["key"]: b["hash"] for b in answer["blocks"]}}


def test_a_browser_gets_each_block_once(store: Store, feed: Feed) -> None:
    run_id, _ = begin(store)
    first = ask(feed, run_id)
    assert {b["key"] for b in first["blocks"]} == {f"{run_id}:sum", f"{run_id}:1", f"{run_id}:1:fix", "row:1"}
    assert first["done"]
    assert ask(feed, run_id, known_of(first))["blocks"] == []


def test_only_what_changed_is_sent(store: Store, feed: Feed) -> None:
    run_id, rest = begin(store, 6)
    known = known_of(ask(feed, run_id))
    store.append(run_id, rest[0])  # type: ignore[arg-type]
    second = ask(feed, run_id, known)
    assert f"{run_id}:1" in {b["key"] for b in second["blocks"]}
    assert "row:1" not in {b["key"] for b in second["blocks"]} and not second["done"]


def test_a_text_being_written_touches_no_round(store: Store, feed: Feed, workbench: StoredRuns) -> None:
    run_id, _ = begin(store, 6)
    workbench.writing = LiveText(1, "refine", "One")
    known = known_of(ask(feed, run_id))
    workbench.writing = LiveText(1, "refine", "One two")
    assert [b["key"] for b in ask(feed, run_id, known)["blocks"]] == [f"{run_id}:live"]


def test_a_finished_round_is_rendered_with_its_state(store: Store, feed: Feed) -> None:
    run_id, rest = begin(store, 6)
    ask(feed, run_id)
    for event in rest:
        store.append(run_id, event)  # type: ignore[arg-type]
    blocks = {b["key"]: b["html"] for b in ask(feed, run_id)["blocks"]}
    assert "State carried on" in blocks[f"{run_id}:1"] and "Verdict" in blocks[f"{run_id}:1"]


def test_blocks_that_are_gone_are_named(store: Store, feed: Feed) -> None:
    run_id, _ = begin(store)
    answer = ask(feed, run_id, {"old": "x"})
    assert answer["gone"] and "old" not in answer["keys"]


def test_a_label_given_elsewhere_is_seen_by_a_new_browser(store: Store, feed: Feed) -> None:
    run_id, _ = begin(store)
    ask(feed, run_id)
    verdict = feed.views[run_id].round(1).verdict
    assert verdict is not None
    item = store.item_by_hash(verdict.item.content_hash)
    assert item is not None
    store.add_label(LabelInput(item_id=item.id, annotator="ann", value="unsure", client_uuid="u" * 10, source="trace"))
    store.add_label(LabelInput(item_id=item.id, annotator="ben", value="sufficient", client_uuid="v" * 10, source="trace"))

    def fix(me: str) -> str:
        return next(b["html"] for b in ask(feed, run_id, me=me)["blocks"] if b["key"].endswith(":fix"))

    anns = fix(feed.people.pass_of("ann"))
    assert "Unsure" in anns and "ben: Sufficient" in anns and anns.count('data-do="undo"') == 1
    for me in (feed.people.pass_of("eve"), "", "0" * 64 + ":ann", ":ann"):  # blind until one has answered; a forged pass is none
        assert "Unsure" not in fix(me).replace(">Unsure</button>", "") and "2 other people have labelled this" in fix(me)


def test_runs_of_different_questions_are_noted(store: Store, feed: Feed) -> None:
    first, _ = begin(store)
    other = store.create_run(RunRequest(question="Another?", method="trio"))
    answer = feed.answer(read_wish({"runs": [first, other]}))
    assert answer["notes"] == ["These runs answer different questions."]


@pytest.mark.parametrize("bad", [["<img>"], ["a b"], [1], ["x" * 65], ["a"] * 2, [f"r{n}" for n in range(9)], [""]])
def test_what_is_no_list_of_run_ids_is_refused(bad: list[Any]) -> None:
    with pytest.raises(InputError):
        run_ids(bad)


@pytest.mark.parametrize("junk", [None, 3, "x", [], {"known": 7}, {"runs": "a"}])
def test_junk_from_a_browser_asks_for_nothing(junk: object) -> None:
    assert read_wish(junk).runs == ()


async def test_an_unknown_run_is_an_answer_in_words(feed: Feed) -> None:
    assert "is not in this store" in (await feed.poll({"runs": ["nosuch"]}))["error"]


async def test_a_poll_waits_for_news(store: Store, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HOLD_S", 20.0)
    run_id, rest = begin(store, 6)
    known = known_of(await feed.poll({"runs": [run_id]}))
    waiting = asyncio.create_task(feed.poll({"runs": [run_id], "known": known}))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await asyncio.to_thread(store.append, run_id, rest[0])  # type: ignore[arg-type]
    assert (await waiting)["blocks"]


def test_an_address_names_stored_runs(store: Store, feed: Feed) -> None:
    run_id, _ = begin(store)
    context = UiContext(Settings(), store, None, None)  # type: ignore[arg-type]
    assert [i.id for i in stored_runs(context, f"{run_id},nosuch")] == [run_id]
    assert stored_runs(context, "<b>") == []
