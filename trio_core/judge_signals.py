"""The signals that a calibrated head reads, from a judge's input alone: the same code fits and judges.

Names and meanings: `trio_core.judge_head.FEATURES`. A signal that cannot be known is left out.
"""

from __future__ import annotations

import math
import re

from trio_core.evidence import EvidenceReport
from trio_core.judge_chain import chain_signals, content_words
from trio_core.metrics import cover_token_seq, normalize
from trio_core.pool import pool_text
from trio_core.values import JudgeItem

CLIP = 1e-4
"""P is kept this far from 0 and 1, so that a very sure judge does not outweigh all else."""
CHARS_PER_TOKEN = 4
_COMPARES = re.compile(
    r"\b(both|same|either|which of|more|less|\w+er than|earlier|later|first|older|younger|longer|shorter|larger|bigger|smaller|"
    r"taller|higher|born first|died first|came out first|between|or)\b", re.IGNORECASE)
_RELATES = re.compile(r"\b(of|that|which|who|where|whose|whom)\b|['’]s\b", re.IGNORECASE)
_PAIR = re.compile(r"\b(or|and)\b", re.IGNORECASE)


def signals(item: JudgeItem, p: float | None, answers: EvidenceReport | None = None) -> dict[str, float]:
    """All signals that are known. `p` is the judge's own P(sufficient), `answers` the samples from this pool."""
    found = {**_pool(item), **_question(item)}
    found |= chain_signals(item, compares=bool(found["comparison"]))
    if p is not None:
        found["logit"] = logit(p)
    if answers is not None and answers.n:
        found |= _answers(item, answers)
    return found


def logit(p: float) -> float:
    """log(p / (1 - p)) of a clipped probability."""
    clipped = min(max(p, CLIP), 1 - CLIP)
    return math.log(clipped / (1 - clipped))


def _pool(item: JudgeItem) -> dict[str, float]:
    found = {"round": float(len(item.pool)), "pool_tokens": len(_text(item)) / CHARS_PER_TOKEN / 1000}
    scores = [h.score for entry in item.pool for h in entry.hits if h.score is not None]
    last = item.pool[-1].hits if item.pool else ()
    earlier = {h.passage.id for entry in item.pool[:-1] for h in entry.hits}
    found["new_passages"] = float(len({h.passage.id for h in last} - earlier))
    if scores:
        found["mean_score"] = sum(scores) / len(scores)
    if newest := [h.score for h in last if h.score is not None]:
        found["top_score"] = max(newest)
    return found


def _question(item: JudgeItem) -> dict[str, float]:
    words = content_words(item.question)
    passages = " ".join(f"{h.passage.title} {h.passage.text}" for entry in item.pool for h in entry.hits)
    present = words & set(normalize(passages).split())
    compares = bool(_COMPARES.search(item.question) and _PAIR.search(item.question))
    return {"comparison": float(compares), "question_in_pool": len(present) / len(words) if words else 0.0,
            "relations": float(len(_RELATES.findall(item.question)))}


def _answers(item: JudgeItem, answers: EvidenceReport) -> dict[str, float]:
    best = answers.answers[0]
    found = {"answer_in_pool": cover_token_seq(_text(item), best.answer) if best.key else 0.0}
    if answers.agreement is not None:
        found["agreement"] = answers.agreement
    if answers.mean_logprob is not None:
        found["answer_logprob"] = answers.mean_logprob
    return found


def _text(item: JudgeItem) -> str:
    return pool_text(item.pool, "reference")
