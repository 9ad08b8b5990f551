"""Does a pool hold a chain of passages that could answer the question? Titles in texts, no model.

A multi-hop question that compares needs a passage on each thing that it names; any other needs a passage that it leads to and one
that this passage names (the hyperlink of HotpotQA, section 2 of its paper, read from the text).
"""

from __future__ import annotations

import re

from trio_core.metrics import normalize
from trio_core.values import JudgeItem, Passage

MOST_LINKS = 6
MOST_NAMED = 4
SHORTEST_TITLE = 3
"""Characters; shorter titles ("It", "M") stand in any text by chance."""
NEAR = 0.5
"""A passage is near the question where it holds this share of its content words."""
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_STOP = frozenset(re.findall(r"\w+", """
    a an the of in on at by for to from with and or is are was were be been do does did has have had which who whom whose what when
    where why how that this it its as than their his her
"""))


def content_words(text: str) -> frozenset[str]:
    """Normalized words but for function words."""
    return frozenset(word for word in normalize(text).split() if word not in _STOP)


def chain_signals(item: JudgeItem, *, compares: bool) -> dict[str, float]:
    """`links`, `chain` and `named_titles` as `trio_core.judge_head.FEATURES` says."""
    passages = list({h.passage.id: h.passage for entry in item.pool for h in entry.hits}.values())
    titles = [_title(p) for p in passages]
    texts = [f" {normalize(p.text)} " for p in passages]
    links = [(a, b) for a, text in enumerate(texts) for b, title in enumerate(titles) if a != b and _stands(title, text) and title != titles[a]]
    question = f" {normalize(item.question)} "
    named = {n for n, title in enumerate(titles) if _stands(title, question)}
    if compares:
        chain = len({titles[n] for n in named}) > 1
    else:
        words = content_words(item.question)
        near = {n for n, p in enumerate(passages) if words and len(words & content_words(f"{p.title} {p.text}")) >= NEAR * len(words)}
        chain = any(a in named | near for a, _ in links)
    asked = f"{question} {'  '.join(normalize(entry.query) for entry in item.pool)} "
    found = len({title for title in titles if _stands(title, asked)})
    return {"links": float(min(len(links), MOST_LINKS)), "chain": float(chain), "named_titles": float(min(found, MOST_NAMED))}


def _title(passage: Passage) -> str:
    """The title without what tells namesakes apart: `Casablanca (film)` is named Casablanca in texts."""
    return normalize(_BRACKETS.sub("", passage.title))


def _stands(title: str, text: str) -> bool:
    return len(title) >= SHORTEST_TITLE and f" {title} " in text
