"""Items, runs with verdicts and gold labels in a store of a test."""

from __future__ import annotations

from storage import Store
from trio_core.events import RunFinished, RunStarted, Totals, Verdict
from trio_core.runs import RunRequest
from trio_core.values import Hit, JudgeItem, Message, Passage, PoolEntry

EVIL = '<img src=x onerror="alert(1)"><script>alert(2)</script> & "quoted" `tick` ${7*7} {{value}}'


def judge_item(question: str = "Who wrote it?", text: str = "A passage.", title: str = "Title", query: str | None = None) -> JudgeItem:
    hit = Hit(passage=Passage(id=f"p-{question}-{text}", title=title, text=text), score=1.0, rank=1)
    return JudgeItem(question=question, pool=(PoolEntry(query=query or question, hits=(hit,)),),
                     messages=(Message(role="system", content="Judge."), Message(role="user", content=f"{text}\n{question}")))


def judged(store: Store, item: JudgeItem, p: float, judge: str = "zero-shot") -> int:
    """Stores an item as a run brings it, with a verdict; the item's id."""
    run = store.create_run(RunRequest(question=item.question, method="trio"))
    label = "sufficient" if p >= 0.5 else "insufficient"
    store.append(run, RunStarted(seq=0, question=item.question, method="trio"))
    store.append(run, Verdict(seq=1, round=1, label=label, p_sufficient=p, p_method="script", judged_by=judge, item=item))
    store.append(run, RunFinished(seq=2, reason="judge", totals=Totals()))
    found = store.item_by_hash(item.content_hash)
    assert found is not None
    return found.id


def fill(store: Store, n: int = 6) -> list[int]:
    """`n` judged items with gold labels; p grows from 0.30, so the most uncertain come first in a known order."""
    ids = []
    for k in range(n):
        item_id = judged(store, judge_item(f"Question number {k}?", f"Passage number {k}."), 0.30 + 0.015 * k)
        store.add_gold_label(item_id, "sufficient" if k % 2 else "insufficient", "the rule of this test")
        ids.append(item_id)
    return ids
