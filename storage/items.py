"""Label items: stored once per content, with every place where they were seen, verdicts and gold labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, bindparam, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.database import Database, reads, writes
from storage.questions import question_hash
from storage.state import refresh
from storage.tables import GoldRow, ItemRow, SourceRow, VerdictRow
from storage.values import BinaryLabel, GoldLabel, ItemSource, LabelItem, MachineVerdict
from trio_core.errors import InputError, StoreError
from trio_core.values import JudgeItem, Message, PoolEntry

_POOL: TypeAdapter[tuple[PoolEntry, ...]] = TypeAdapter(tuple[PoolEntry, ...])
_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
# Read for each label that somebody gives: built once, and without the ORM's objects.
_ID = bindparam("item", type_=ItemRow.id.type)
_QUESTION = select(ItemRow.question).where(ItemRow.id == _ID)
_ITEM = select(*ItemRow.__table__.c).where(ItemRow.id == _ID)
_SOURCES = select(*(getattr(SourceRow, name) for name in ItemSource.model_fields)).where(SourceRow.item_id == _ID).order_by(SourceRow.id)
_GOLD = select(*GoldRow.__table__.c).where(GoldRow.item_id == _ID)
_VERDICTS = select(*VerdictRow.__table__.c).where(VerdictRow.item_id == _ID).order_by(VerdictRow.id)


class Items(Database):
    """Reading and adding label items."""

    @writes
    def add_item(self, session: Session, item: JudgeItem, source: str, method: str = "", dataset: str = "",
                 question_id: str = "", round: int = 0) -> int:
        """Stores an item that no run brought; the same item from the same place again changes nothing."""
        if source == "run":
            raise InputError("source 'run' is kept for items of runs; give another name")
        where = ItemSource(source=source, method=method, dataset=dataset, question_id=question_id, round=round)
        item_id = upsert_item(self, session, item)
        add_source(self, session, item_id, where)
        refresh(session, item_id)
        return item_id

    @writes
    def add_gold_label(self, session: Session, item_id: int, label: BinaryLabel, rule: str) -> GoldLabel:
        """Stores what gold evidence says. The same again changes nothing; another label for the item is refused."""
        return store_gold(self, session, item_id, label, rule)

    @reads
    def gold_label(self, session: Session, item_id: int) -> GoldLabel | None:
        """The gold label of an item, or None."""
        row = session.connection().execute(_GOLD, {"item": item_id}).one_or_none()
        return _gold(row) if row else None

    @reads
    def item(self, session: Session, item_id: int) -> LabelItem | None:
        """One item with its sources, or None."""
        return load_item(session, item_id)

    @reads
    def item_ids(self, session: Session) -> list[int]:
        """Ids of all items, oldest first."""
        return list(session.scalars(select(ItemRow.id).order_by(ItemRow.id)))

    @reads
    def datasets(self, session: Session) -> list[str]:
        """Names of the data sets that items come from, in order."""
        found = select(SourceRow.dataset).where(SourceRow.dataset != "").distinct()
        return sorted(session.scalars(found))

    @reads
    def item_by_hash(self, session: Session, content_hash: str) -> LabelItem | None:
        """The item with this content, or None."""
        item_id = session.scalar(select(ItemRow.id).where(ItemRow.content_hash == content_hash))
        return None if item_id is None else load_item(session, item_id)

    @reads
    def verdicts_for(self, session: Session, item_id: int) -> list[MachineVerdict]:
        """What judges said about an item, oldest first."""
        return [_verdict(row) for row in session.connection().execute(_VERDICTS, {"item": item_id})]


def upsert_item(store: Database, session: Session, item: JudgeItem) -> int:
    """The id of the item with this content; stored now if it is new. The caller refreshes its state."""
    return upsert_items(store, session, [item])[0]


def upsert_items(store: Database, session: Session, items: Sequence[JudgeItem]) -> list[int]:
    """`upsert_item` for many, in order, with two statements."""
    hashes, connection, now = [item.content_hash for item in items], session.connection(), store.clock()
    rows = {content_hash: {
        "content_hash": content_hash, "question": item.question, "question_hash": question_hash(item.question),
        "pool": _POOL.dump_json(item.pool).decode(), "messages": _MESSAGES.dump_json(item.messages).decode(), "created": now,
    } for content_hash, item in zip(hashes, items, strict=True)}
    insert = dialect.insert_for(connection)
    connection.execute(insert(ItemRow.__table__).on_conflict_do_nothing(), list(rows.values()))
    found = connection.execute(select(ItemRow.content_hash, ItemRow.id).where(ItemRow.content_hash.in_(rows)))
    ids = {content_hash: item_id for content_hash, item_id in found}
    return [ids[content_hash] for content_hash in hashes]


def store_gold(store: Database, session: Session, item_id: int, label: BinaryLabel, rule: str) -> GoldLabel:
    """`Items.add_gold_label` in an open transaction."""
    require_item(session, item_id)
    insert = dialect.insert_for(session.connection())
    session.execute(insert(GoldRow).values(item_id=item_id, label=label, rule=rule, created=store.clock()).on_conflict_do_nothing())
    row = session.get_one(GoldRow, item_id)
    if row.label != label:
        raise StoreError(f"item {item_id} has the gold label {row.label!r} already (rule: {row.rule}); {label!r} was not stored")
    refresh(session, item_id)
    return _gold(row)


def add_source(store: Database, session: Session, item_id: int, where: ItemSource) -> None:
    """Notes where an item was seen, once."""
    add_sources(store, session, [(item_id, where)])


def add_sources(store: Database, session: Session, seen: Sequence[tuple[int, ItemSource]]) -> None:
    """`add_source` for many, with one statement."""
    connection, now = session.connection(), store.clock()
    insert = dialect.insert_for(connection)
    connection.execute(insert(SourceRow.__table__).on_conflict_do_nothing(), [
        {"item_id": item_id, "key": _source_key(where), "created": now, **where.model_dump()} for item_id, where in seen])


def _source_key(where: ItemSource) -> str:
    if where.run_id:
        return f"run {where.run_id} {where.round}"
    return json.dumps([where.source, where.method, where.dataset, where.question_id, where.round], ensure_ascii=False)


def require_item(session: Session, item_id: int) -> str:
    """The item's question (its pool is large and not read here). Raises StoreError when there is no such item."""
    question = session.connection().scalar(_QUESTION, {"item": item_id})
    if question is None:
        raise StoreError(f"label item {item_id} does not exist in this store")
    return question


def judge_item(row: ItemRow | Row[Any]) -> JudgeItem:
    """The judge's input as it was stored."""
    return JudgeItem(question=row.question, pool=_POOL.validate_json(row.pool), messages=_MESSAGES.validate_json(row.messages))


def load_item(session: Session, item_id: int) -> LabelItem | None:
    """The item with all sources; None where there is no such item."""
    connection = session.connection()
    row = connection.execute(_ITEM, {"item": item_id}).one_or_none()
    if row is None:
        return None
    sources = tuple(ItemSource.model_validate(dict(source)) for source in connection.execute(_SOURCES, {"item": item_id}).mappings())
    return LabelItem(id=row.id, item=judge_item(row), content_hash=row.content_hash, question_hash=row.question_hash,
                     created=row.created, sources=sources)


def _gold(row: GoldRow | Row[Any]) -> GoldLabel:
    return GoldLabel.model_validate({"item_id": row.item_id, "label": row.label, "rule": row.rule, "created": row.created})


def _verdict(row: Row[Any]) -> MachineVerdict:
    return MachineVerdict.model_validate({
        "item_id": row.item_id, "judge": row.judge, "label": row.label, "p_sufficient": row.p, "p_method": row.p_method,
        "threshold": row.threshold, "run_id": row.run_id, "round": row.round, "deciding": row.deciding, "created": row.created,
    })
