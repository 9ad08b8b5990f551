"""Old stores come up to date with all their rows, also when two apps open them at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, inspect, make_url, text
from store_helpers import give, judge_item, record, run_events

from storage import dialect, open_store
from storage.migrate import migrate
from storage.questions import question_hash
from trio_core.events import event_to_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def old(url: str, tmp_path: Path) -> str:
    """A store of revision 1 with a run, its events, an item and three labels."""
    parsed = make_url(url)
    if parsed.database and parsed.get_backend_name() == "sqlite":
        Path(parsed.database).parent.mkdir()
    migrate(parsed, "old", "0001")
    engine = create_engine(parsed)
    tables = MetaData()
    tables.reflect(engine)
    item = judge_item()
    rows: list[tuple[str, dict[str, Any]]] = [("run", {
        "id": "r1", "question": item.question, "method": "trio", "status": "finished", "origin": "live", "dataset": "",
        "question_id": "", "owner": "", "group_id": "", "request": '{"question": "Who wrote it?", "method": "trio"}',
        "search_text": "who wrote it?", "created": NOW, "heartbeat": NOW, "reason": "judge"})]
    rows += [("event", {"run_id": "r1", "seq": e.seq, "type": e.type, "t": e.t, "body": event_to_json(e), "created": NOW})
             for e in run_events()]
    rows.append(("label_item", {
        "content_hash": item.content_hash, "question": item.question, "question_hash": question_hash(item.question),
        "pool": "[]", "messages": '[{"role": "user", "content": "old prompt"}]', "created": NOW}))
    rows += [("label_event", {
        "item_id": 1, "annotator": name, "value": "sufficient", "reason": "", "note": "", "blind": False, "milliseconds": 0,
        "client_uuid": name, "source": "annotate", "created": NOW}) for name in ("ann", "bob", "cyd")]
    with engine.begin() as connection:
        for table, values in rows:
            connection.execute(tables.tables[table].insert().values(**values))
    engine.dispose()
    return url


def counts(url: str) -> dict[str, int]:
    """Rows by table."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()
                 for name in ("run", "event", "label_item", "label_event")}
        assert dialect.broken_references(connection) == []
    engine.dispose()
    return found


def test_rows_and_their_children_survive_up_and_down(old: str) -> None:
    kept = {"run": 1, "event": 4, "label_item": 1, "label_event": 3}
    assert counts(old) == kept
    migrate(make_url(old), "store")
    assert counts(old) == kept
    migrate(make_url(old), "store", "0001")
    assert counts(old) == kept
    engine = create_engine(old)
    assert "job" not in inspect(engine).get_table_names()
    engine.dispose()
    migrate(make_url(old), "store")
    assert counts(old) == kept


def test_old_store_works_after_opening(old: str) -> None:
    store = open_store(old)
    assert list(store.events("r1")) == run_events() and len(store.current_labels(1)) == 3
    assert store.item(1).item.messages[0].content == "old prompt"
    assert store.live_judge().name == "zero-shot"
    record(store)
    assert give(store, 1, "unsure").supersedes == 1
    store.close()


def test_many_apps_opening_an_old_store_at_once(old: str) -> None:
    start = threading.Barrier(6)

    def open_one(_: int) -> str:
        start.wait()
        store = open_store(old)
        name = store.live_judge().name
        store.close()
        return name

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(open_one, range(6))) == ["zero-shot"] * 6


def test_failed_migration_leaves_the_store_as_it_was(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = counts(old)
    monkeypatch.setattr(dialect, "broken_references", lambda connection: ["event"])
    with pytest.raises(Exception, match="parent row is missing; nothing was changed"):
        open_store(old)
    monkeypatch.undo()
    engine = create_engine(old)
    assert "job" not in inspect(engine).get_table_names()
    engine.dispose()
    assert counts(old) == before
