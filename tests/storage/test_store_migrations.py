"""Old stores come up to date with all their rows, also when two apps open them at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, inspect, make_url, select, text
from store_helpers import give, judge_item, record, run_events

from storage import dialect, open_store
from storage.annotation_values import QueueFilter
from storage.migrate import migrate
from storage.questions import question_hash
from storage.state import state_of
from storage.tables import StateRow
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
    rows.append(("machine_verdict", {
        "item_id": 1, "run_id": "r1", "seq": 1, "round": 1, "judge": "zero-shot", "label": "insufficient", "p": 0.3,
        "p_method": "labels", "threshold": 0.5, "deciding": True, "created": NOW}))
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


def test_judges_of_revision_two_get_a_kind_and_claims_a_new_key(old: str) -> None:
    migrate(make_url(old), "store", "0002")
    engine = create_engine(old)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO judge_version (name, number, base_model, scores, threshold, state, created, promoted_by, "
                                "reason) VALUES ('judge-1', 1, 'base', '{}', 0.5, 'candidate', CURRENT_TIMESTAMP, '', '')"))
        connection.execute(text("INSERT INTO promotion (judge, previous, \"by\", reason, created) "
                                "VALUES ('judge-1', 'zero-shot', 'ann', '', CURRENT_TIMESTAMP)"))
    engine.dispose()
    store = open_store(old)
    assert {judge.name: judge.kind for judge in store.judge_versions()} == {"zero-shot": "model", "judge-1": "sft"}
    assert len(store.promotions()) == 1 and store.promote("judge-1", "ann").kind == "sft"
    assert [store.next_item(name, only=QueueFilter(overlap=None)).id for name in ("dan", "eve")] == [1, 1]
    store.close()
    engine = create_engine(old)
    with engine.begin() as connection, pytest.raises(Exception, match="(?i)unique"):
        connection.execute(text("UPDATE judge_version SET state = 'live'"))
    engine.dispose()
    migrate(make_url(old), "store", "0002")
    assert counts(old)["label_event"] == 3


def test_state_of_old_items_is_what_their_facts_give(old: str) -> None:
    store = open_store(old)
    kept = store.read(lambda session: tuple(session.execute(select(*StateRow.__table__.columns)).one()))
    assert kept == (1, pytest.approx(0.2), "insufficient", False, 3, "sufficient", "majority")
    assert kept == store.read(lambda session: tuple(session.execute(state_of(1)).one()))
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
