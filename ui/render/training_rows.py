"""Rows of the data sets of a pipeline run: questions, debates round by round, samples, completions, queries, votes, training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from training.pipeline.answer import Rollout
from training.pipeline.data import DataPage, Row
from training.pipeline.query import ScoredQuery
from training.pipeline.records import Debate, GradedQuestion, PoolSample, Turn, VotedPool
from training.rows import TrainingRow
from trio_core.values import Hit, Message, PoolEntry, Value
from ui.render.base import esc, plural, tag
from ui.render.training_words import ENDS, PROBLEMS

MOST = 4_000
"""Characters of one text."""
SETS = {"q1": "Q1", "q2": "Q2", "dropped": "dropped"}
Samples = Mapping[str, PoolSample]


def rows_html(data: DataPage) -> str:
    """The rows of a page; those that cannot be read say so in their place."""
    if not data.rows:
        return '<p class="tr-none">No row yet.</p>'
    body = "".join(_row(row, data.samples) for row in data.rows)
    cut = "The last line is not whole: it is being written, or a kill cut it off; the step makes it anew."
    return f'<ol class="tr-rows">{body}</ol>' + (f'<p class="tr-mind">{cut}</p>' if data.cut else "")


def _row(row: Row, samples: Samples) -> str:
    if row.value is None:
        return f'<li class="tr-row"><p class="tr-bad">Row {row.number + 1:,} cannot be read: {esc(row.problem)}</p></li>'
    return f'<li class="tr-row">{_DRAW[type(row.value)](row.value, samples)}</li>'


def _question(q: GradedQuestion, _: Samples) -> str:
    dropped = q.set == "dropped"
    tags = tag(q.difficulty) + tag(SETS[q.set], "w" if dropped else "g", "easy: the base model knows it" if dropped else "")
    return (f'<p class="tr-q">{_text(q.question)}{tags}</p><p class="tr-soft">right in {q.right} of {q.rollouts} rollouts · '
            f"{esc(q.dataset)} · gold: {_golds(q.answers)}</p>")


def _debate(d: Debate, _: Samples) -> str:
    question = d.snapshots[0].question if d.snapshots else d.id
    wrong = sum(turn.action == "malformed" for turn in d.turns)
    rounds = max((turn.round for turn in d.turns), default=0)
    mark = tag(plural(wrong, "malformed action"), "f") if wrong else ""
    pools = {sample.round: sample for sample in d.snapshots}
    body = "".join(_round(n, [t for t in d.turns if t.round == n], pools, d.id) for n in range(1, rounds + 1))
    return (f'<details><summary><span class="tr-q">{_text(question)}</span>{mark}<span class="tr-soft"> {plural(rounds, "round")}, '
            f"{plural(len(d.snapshots), 'sample')}; ended: {esc(ENDS[d.end])}</span></summary>{body}</details>")


def _round(number: int, turns: Sequence[Turn], pools: Mapping[int, PoolSample], debate: str) -> str:
    said = "".join(_turn(turn) for turn in turns)
    sample, before = pools.get(number), max((r for r in pools if r < number), default=0)
    if sample is None:
        after = '<p class="tr-soft">The pool is as before: no new sample.</p>'
    else:
        known = {entry.query for entry in pools[before].pool} if before else set()
        carried = f'<p class="tr-soft">{plural(len(known), "query", "queries")} of earlier rounds carried on.</p>' if known else ""
        after = carried + _pool([e for e in sample.pool if e.query not in known])
    return f'<section class="tr-round"><h4>Round {number}</h4>{said}<h5>Query pool after round {number}</h5>{after}</section>'


def _turn(turn: Turn) -> str:
    wrong = turn.action == "malformed"
    action = f"{turn.action}: {turn.value}" if turn.value else turn.action
    return (f'<div class="tr-turn{" wrong" if wrong else ""}"><b>{esc(turn.role)}</b>{tag(action, "f" if wrong else "")}'
            f'<pre tabindex="0">{_text(turn.text)}</pre></div>')


def _sample(s: PoolSample, _: Samples) -> str:
    where = f"after round {s.round}" if s.source == "debate" else "one search"
    return (f'<details><summary><span class="tr-q">{_text(s.question)}</span><span class="tr-soft"> {esc(where)} · '
            f'{plural(len(s.pool), "query", "queries")} · {esc(s.id)}</span></summary><p class="tr-soft">gold: {_golds(s.answers)}</p>'
            f"{_pool(s.pool)}</details>")


def _rollout(r: Rollout, samples: Samples) -> str:
    return f'<p class="tr-out">{_reward(r.reward)}<span>{_text(r.output) or "<i>nothing</i>"}</span></p>{_about(r.sample, samples)}'


def _reward(value: float) -> str:
    return f'<b class="tr-reward">{value:.2f}</b>'


def _scored(q: ScoredQuery, samples: Samples) -> str:
    mark = tag(PROBLEMS.get(q.problem, q.problem), "f") if q.problem else ""
    change = "" if q.problem else f'<p class="tr-soft">answer before: <q>{_text(q.before)}</q> → after: <q>{_text(q.after)}</q></p>'
    output = _text(q.output) or "<i>nothing</i>"
    return f'<p class="tr-out">{_reward(q.reward)}<span>{output}</span>{mark}</p>{change}{_about(q.sample, samples)}'


def _vote(v: VotedPool, samples: Samples) -> str:
    words = {"sufficient": ("sufficient", "s"), "insufficient": ("insufficient", "i"), "mixed": ("mixed, dropped", "")}[v.label]
    share = 100 * v.right / v.votes if v.votes else 0
    bar = f'<span class="tr-bar" aria-hidden="true"><i style="width:{share:.0f}%"></i></span>'
    return (f'<div class="tr-vote"><span class="b {words[1]}">{words[0]}</span>{bar}<span>{v.right} of {v.votes} right</span></div>'
            f"{_about(v.id, samples)}")


def _training(r: TrainingRow, _: Samples) -> str:
    kind = "s" if r.label == "sufficient" else "i"
    label = f'<span class="b {kind}">{esc(r.label)}</span>'
    question = f'<span class="tr-q">{_text(r.question)}</span>'
    return f"<details><summary>{label} {question}{tag(r.source)}</summary>{_messages(r.messages)}</details>"


def _about(sample_id: str, samples: Samples) -> str:
    """The sample that a row is about: its question, gold answers and pool."""
    sample = samples.get(sample_id)
    if sample is None:
        return f'<p class="tr-soft">sample {esc(sample_id)}</p>'
    return (f'<details class="tr-more"><summary>{_text(sample.question)}</summary><p class="tr-soft">sample {esc(sample_id)} · gold: '
            f"{_golds(sample.answers)}</p>{_pool(sample.pool)}</details>")


def _pool(pool: Sequence[PoolEntry]) -> str:
    rows = "".join(f'<li><span class="tr-query">{_text(entry.query)}</span><ol class="tr-hits">{"".join(map(_hit, entry.hits))}</ol></li>'
                   for entry in pool)
    return f'<ol class="tr-pool">{rows}</ol>' if rows else '<p class="tr-soft">Empty.</p>'


def _hit(hit: Hit) -> str:
    score = f" {hit.score:.2f}" if hit.score is not None else ""
    title = _text(hit.passage.title or hit.passage.id)
    return f'<li><details><summary>{title}<span class="tr-soft">{score}</span></summary><p>{_text(hit.passage.text)}</p></details></li>'


def _messages(messages: Sequence[Message]) -> str:
    return "".join(f'<h5>{esc(m.role)}</h5><pre tabindex="0">{_text(m.content, 40_000)}</pre>' for m in messages)


def _golds(answers: Sequence[str]) -> str:
    return _text(" | ".join(answers)) or "none"


def _text(text: str, most: int = MOST) -> str:
    """Escaped, and cut with a word about it."""
    if len(text) <= most:
        return esc(text)
    return f'{esc(text[:most])} <span class="tr-soft">… {most:,} of {len(text):,} characters</span>'


_DRAW: dict[type[Value], Callable[..., str]] = {
    GradedQuestion: _question, Debate: _debate, PoolSample: _sample, Rollout: _rollout, ScoredQuery: _scored, VotedPool: _vote,
    TrainingRow: _training,
}
