"""A pipeline run's folder as the steps leave it, written by their own writers: three steps done, one begun, one damaged."""

from __future__ import annotations

import json
from pathlib import Path

from training.pipeline import manifest, records
from training.pipeline.answer import Rollout
from training.pipeline.command import remember
from training.pipeline.profile import load_profile
from training.pipeline.query import ScoredQuery
from training.pipeline.records import Debate, GradedQuestion, PoolSample, Turn, VotedPool
from training.pipeline.run import PROFILE, STEPS, step_settings
from training.progress import ProgressLog
from trio_core.values import Hit, Passage, PoolEntry

QUESTIONS = 25
KINDS = ("hard", "medium", "easy")


def entry(query: str, text: str) -> PoolEntry:
    passages = [Passage(id=f"{query} {n}", title=f"Title {n}", text=f"{text} {n}. " * 8) for n in (1, 2)]
    return PoolEntry(query=query, hits=tuple(Hit(passage=passage, score=1.0 / n, rank=n) for n, passage in enumerate(passages, 1)))


def debate(n: int, text: str) -> Debate:
    """Two rounds; the second opponent writes what is no action."""
    question = f"Who wrote book {n}? {text}"
    pool = (entry(question, text), entry(f"book {n} author", text))
    turns = [
        Turn(round=1, role="proponent", text=f"Enough. {text}", action="argue"),
        Turn(round=1, role="opponent", text=f"Query Expansion: [book {n} author]", action="expand", value=f"book {n} author"),
        Turn(round=1, role="moderator", text="Opponent", action="opponent"),
        Turn(round=2, role="proponent", text="Enough now.", action="argue"),
        Turn(round=2, role="opponent", text=f"I am not sure. {text}", action="malformed"),
        Turn(round=2, role="moderator", text="Proponent", action="proponent")]
    first = PoolSample(id=f"q{n}#1", question=question, answers=(f"Author {n}", text), source="debate", round=1, pool=pool)
    return Debate(id=f"q{n}", turns=tuple(turns), end="malformed", snapshots=(first,))


def make_run(folder: Path, text: str = "Plain text") -> Path:
    """Writes the folder; `text` goes into every field that a model, a corpus or a person fills."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = load_profile("cpu-smoke")
    records.write_json(folder / PROFILE, profile.model_dump(mode="json"))
    remember(folder, profile="cpu-smoke", recipe=["debate.rounds=2"])
    for name in ("questions", "debate", "answer/stage1", "answer/stage2/adapter", "query", "judge"):
        (folder / name).mkdir(parents=True)
    graded = [GradedQuestion(id=f"q{n}", question=f"Who wrote book {n}? {text}", answers=(f"Author {n}", text), dataset="demo", rollouts=4,
                             right=n % 3, difficulty=KINDS[n % 3], set=("q1", "q2", "dropped")[n % 3]) for n in range(QUESTIONS)]
    records.write(folder / "questions" / "questions.jsonl", graded)
    debates = [debate(n, text) for n in range(12)]
    records.append(folder / "debate" / "debates.jsonl", debates)
    samples = [sample for found in debates for sample in found.snapshots]
    records.write(folder / "debate" / "t1.jsonl", samples)
    records.write(folder / "debate" / "t2.jsonl", [
        PoolSample(id=f"q{n}", question=f"Who wrote book {n}? {text}", answers=(text,), source="single", pool=(entry(text, text),))
        for n in range(3)])
    for stage in (1, 2):
        place = folder / "answer" / f"stage{stage}"
        rollouts = [Rollout(sample=f"q{n}#1", output=f"Author {n} {text}", reward=n / 4 - 0.5) for n in range(6)]
        records.append(place / "rollouts.jsonl", rollouts)
        lines = [{"step": n, "reward": n / 10 - 0.2, "reward_std": 0.3, "kl": n / 1000, "completions/mean_length": 5.0 + n, "loss": 0.1}
                 for n in range(1, 7)]
        (place / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "answer" / "stage2" / "adapter" / "README.md").write_text(f"# Answer agent\n\n{text}\n")
    records.append(folder / "query" / "scored.jsonl", [
        ScoredQuery(sample="q1", output=f"book author {text}", query="book author", problem="", before=text, after="Author 1", reward=0.5),
        ScoredQuery(sample="q2", output=f"who wrote it? {text}", query="", problem="not_keywords", reward=-1.0)])
    labels = ("sufficient", "insufficient", "mixed")
    records.append(folder / "judge" / "votes.jsonl", [
        VotedPool(id=sample.id, right=(4, 0, 2)[n % 3], votes=4, label=labels[n % 3]) for n, sample in enumerate(samples)])
    outcome = {"steps": 6, "seconds": 31.0, "used": 12, "too_long": 3, "moved": 28, "trained": 28, "frozen_same": True,
               "first_reward": -0.1, "last_reward": 0.4}
    reports = {
        "questions": {"questions": 25, "hard": 9, "medium": 8, "easy": 8, "q1": 9, "q2": 8, "dropped": 8},
        "debate": {"debates": 12, "t1": 12, "t2": 3, "ends": {"malformed": 12}, "malformed": {"opponent": 12}},
        "answer": {"stage1": outcome, "stage2": outcome}}
    done: dict[str, manifest.StepManifest] = {}
    for step in STEPS[:3]:
        done[step.name] = manifest.make(step.name, folder / step.name, step_settings(step, profile, None),
                                        {name: done[name].outputs_hash for name in step.needs}, reports[step.name], "tiny", "cpu", 12.5)
    (folder / "judge" / "manifest.json").write_text('{"step": "judge", "sett')
    log = ProgressLog(folder)
    log.work("query agent", 1, 3)
    log.close()
    return folder
