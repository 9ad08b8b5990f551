"""A store as a laboratory has it after some weeks, and what must hold of it after many people have labelled."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from storage import Store
from storage.items import add_source, upsert_item
from storage.state import refresh
from storage.tables import VerdictRow
from storage.values import ItemSource
from tests.benchmarks.annotator_client import Log
from trio_core.runs import RunRequest
from trio_core.values import Hit, JudgeItem, Message, Passage, PoolEntry

BATCH = 250
TAKES_A_PLACE = ("sufficient", "insufficient", "unsure")


def fill(store: Store, items: int, seed: int) -> None:
    """So many judged items: 10 passages of about 100 words each, like a pool after two rounds."""
    rng = random.Random(seed)
    words = [f"{a}{b}" for a in ("film", "river", "king", "town", "song", "year", "born", "ship") for b in range(40)]
    run = store.create_run(RunRequest(question="items of the load test", method="trio"))

    def some(session: Session, first: int, last: int) -> None:
        for n in range(first, last):
            item = _item(n, rng, words)
            item_id = upsert_item(store, session, item)
            add_source(store, session, item_id, ItemSource(source="load test", method="trio", dataset="load", round=n % 4))
            p = rng.random()
            session.add(VerdictRow(item_id=item_id, run_id=run, seq=n, round=n % 4, judge="zero-shot", p=p, p_method="labels", threshold=0.5,
                                   label="sufficient" if p >= 0.5 else "insufficient", deciding=True, created=store.clock()))
            refresh(session, item_id)

    for first in range(0, items, BATCH):
        store.write(lambda session, lo=first: some(session, lo, min(items, lo + BATCH)))


def _item(n: int, rng: random.Random, words: Sequence[str]) -> JudgeItem:
    question = f"Which {' '.join(rng.choices(words, k=8))} belongs to number {n}?"
    hits = [Hit(passage=Passage(id=f"{n}-{k}", title=f"Title {n}-{k}", text=" ".join(rng.choices(words, k=100))), score=1.0 - k / 20, rank=k + 1)
            for k in range(10)]
    pool = (PoolEntry(query=question, hits=tuple(hits[:5])), PoolEntry(query=f"{question} again", hits=tuple(hits[5:])))
    text = "\n\n".join(hit.passage.text for hit in hits)
    return JudgeItem(question=question, pool=pool, messages=(Message(role="system", content="Judge."), Message(role="user", content=f"{text}\n{question}")))


def check(store: Store, logs: Sequence[Log], overlap: int) -> dict[str, Any]:
    """Counts of what must not be; all of `lost`, `changed`, `doubled`, `unknown`, `over_overlap` are to be 0.

    `over_overlap_late`: over it because a label came after its claim had run out, which is stored all the same.
    """
    stored = [label for label in store.all_labels() if label.value != "withdrawn"]
    forms = Counter(label.client_uuid for label in stored)
    by_form = {label.client_uuid: label for label in stored}
    acknowledged = {form: (log.name, *what) for log in logs for form, what in log.acknowledged.items()}
    sent = {form for log in logs for form in log.sent}
    found = {form: by_form[form] for form in acknowledged if form in by_form}
    current = Counter(label.item_id for label in store.all_current_labels() if label.value in TAKES_A_PLACE)
    over, late = {item for item, n in current.items() if n > overlap}, {item for log in logs for item in log.late}
    return {
        "acknowledged": len(acknowledged), "stored": len(stored), "withdrawn": len(store.all_labels()) - len(stored),
        "lost": len(acknowledged.keys() - by_form.keys()),
        "changed": sum((label.annotator, label.item_id, label.value) != acknowledged[form] for form, label in found.items()),
        "doubled": sum(n - 1 for n in forms.values()), "unknown": len(forms.keys() - sent),
        "over_overlap": len(over - late), "over_overlap_late": len(over & late), "items_labelled": len(current),
        "most_labels_of_an_item": max(current.values(), default=0),
    }
