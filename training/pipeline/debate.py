"""Step 2: the retrieval debate on Q1 (appendix C), and one search for each question of Q2.

Whatever a side writes is kept word for word with how it was read; what is no action is `malformed`, counted, and ends the debate.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal, NamedTuple

from training.pipeline import records
from training.pipeline.context import Context, ask, engine, gathered, retriever, search
from training.pipeline.prompts import debate_prompts
from training.pipeline.questions import of_set
from training.pipeline.records import Debate, GradedQuestion, PoolSample, Turn
from trio_core.engines.base import Engine
from trio_core.parsing import parse_query, same_query, visible_text
from trio_core.pool import pool_text
from trio_core.retrieval.base import Retriever
from trio_core.values import PoolEntry

DEBATES = "debates.jsonl"
POOLS = "t1.jsonl"
SINGLE = "t2.jsonl"
_EXPANSION = re.compile(r"query\s+expansion\W*?:[\s*]*(.+)", re.IGNORECASE)
_CONCESSION = re.compile(r"(?:^|[\n.!?])\W*concede\W*$", re.IGNORECASE)


class Action(NamedTuple):
    """What a side's output does."""

    kind: Literal["expand", "concede", "malformed"]
    query: str = ""


def opponent_action(text: str, max_words: int = 16) -> Action:
    """The last `Query Expansion: [keywords]` (brackets may lack), or `Concede` at the end; anything else is malformed."""
    shown = visible_text(text).value
    found = _EXPANSION.findall(shown)
    if found:
        slot = re.search(r"\[([^\[\]]*)\]", found[-1])
        query = parse_query(slot.group(1) if slot else found[-1], max_words)
        return Action("expand", query.value) if query.value else Action("malformed")
    return Action("concede") if _CONCESSION.search(shown) else Action("malformed")


def moderator_action(text: str) -> Literal["proponent", "opponent", "malformed"]:
    """The one side that is named; both or none is malformed."""
    named = {word.lower() for word in re.findall(r"\b(proponent|opponent)\b", visible_text(text).value, re.IGNORECASE)}
    return named.pop() if len(named) == 1 else "malformed"  # type: ignore[return-value]


async def run(context: Context) -> dict[str, Any]:
    """Debates and single searches; the counts. Raises Stopped."""
    folder, asked = context.step("debate"), of_set(context, "q1")
    done = {debate.id: debate for debate in records.read(folder / DEBATES, Debate)}
    todo = [q for q in asked if q.id not in done]
    async with retriever(context) as found, engine(context, context.profile.rollouts.debate) as sides:
        for part in records.chunks(todo, context.profile.rollouts.parallel):
            context.stop.check()
            rows = await gathered(lambda q: debate_of(q, sides, found, context), part, context.profile.rollouts.parallel)
            records.append(folder / DEBATES, rows)
            done |= {row.id: row for row in rows}
            context.log.work("debate", len(done), len(asked), None)
        singles = await gathered(lambda q: _single(q, found, context), of_set(context, "q2"), context.profile.rollouts.parallel)
    debates = [done[q.id] for q in asked]
    records.write(folder / POOLS, [sample for debate in debates for sample in debate.snapshots])
    records.write(folder / SINGLE, singles)
    ends = Counter(debate.end for debate in debates)
    malformed = Counter(turn.role for debate in debates for turn in debate.turns if turn.action == "malformed")
    return {"debates": len(debates), "t1": sum(len(debate.snapshots) for debate in debates), "t2": len(singles),
            "ends": dict(ends), "malformed": dict(malformed)}


async def debate_of(question: GradedQuestion, sides: Engine, found: Retriever, context: Context) -> Debate:
    """One debate of at most `rounds` rounds; a pool that a round left as it was is no second sample."""
    settings = context.profile.debate
    hits = await search(found, question.question, settings.top_k)
    pool: tuple[PoolEntry, ...] = (PoolEntry(query=question.question, hits=hits),)
    turns: list[Turn] = []
    snapshots: list[PoolSample] = []
    end = "rounds"
    for number in range(1, settings.rounds + 1):
        argued = await _round(question, pool, number, sides, context)
        turns += argued
        stop, query = decide(argued, pool)
        if not stop:
            hits = await search(found, query, settings.top_k)
            stop = "" if hits else "no_hits"
            pool = (*pool, PoolEntry(query=query, hits=hits)) if hits else pool
        if not snapshots or snapshots[-1].pool != pool:
            snapshots.append(PoolSample(id=f"{question.id}#{number}", question=question.question, answers=question.answers, source="debate",
                                        round=number, pool=pool))
        if stop:
            end = stop
            break
    return Debate(id=question.id, turns=tuple(turns), end=end, snapshots=tuple(snapshots))  # type: ignore[arg-type]


def decide(argued: list[Turn], pool: tuple[PoolEntry, ...]) -> tuple[str, str]:
    """(why the debate ends, or "" and the next query). A concession ends it whoever wins, a malformed opponent or moderator too."""
    _, opponent, moderator = argued
    if opponent.action == "concede":
        return "concede", ""
    if "malformed" in (opponent.action, moderator.action):
        return "malformed", ""
    if moderator.action == "proponent":
        return "proponent", ""
    if any(same_query(opponent.value, entry.query) for entry in pool):
        return "repeat", ""
    return "", opponent.value


async def _round(question: GradedQuestion, pool: tuple[PoolEntry, ...], number: int, sides: Engine, context: Context) -> list[Turn]:
    """The two sides, which do not see each other, and the moderator."""
    settings, said = context.profile.debate, {}
    for role in ("proponent", "opponent", "moderator"):
        prompt = debate_prompts()[role]
        messages = prompt.render(question=question.question, pool=pool_text(pool), **(said if role == "moderator" else {}))
        temperature = 0.0 if role == "moderator" else settings.temperature
        made = await ask(sides, role, messages, prompt.max_tokens, temperature, context.profile.seed + number)
        said[role] = made.text
    action = opponent_action(said["opponent"], settings.max_query_words)
    argued = "argue" if visible_text(said["proponent"]).value else "malformed"
    return [Turn(round=number, role="proponent", text=said["proponent"], action=argued),
            Turn(round=number, role="opponent", text=said["opponent"], action=action.kind, value=action.query),
            Turn(round=number, role="moderator", text=said["moderator"], action=moderator_action(said["moderator"]))]


async def _single(question: GradedQuestion, found: Retriever, context: Context) -> PoolSample:
    hits = await search(found, question.question, context.profile.query.top_k)
    return PoolSample(id=question.id, question=question.question, answers=question.answers, source="single",
                      pool=(PoolEntry(query=question.question, hits=hits),))
