"""What the steps of a pipeline run counted, in words: what they made, and what they left out and why. Plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from training.footprint import size
from training.pipeline.serving import AGENTS
from ui.render.base import number, plural

TITLES = {
    "questions": ("Questions", "graded by the base model's rollouts, split into Q1 and Q2"),
    "debate": ("Retrieval debate", "proponent, opponent and moderator over the pool of Q1; one search for Q2"),
    "answer": ("Answer agent", "GRPO in two stages on the debate's pools"),
    "query": ("Query agent", "GRPO; the reward is what a query does to the answer agent's F1"),
    "judge": ("Judge", "votes of the answer agent label the pools, then SFT"),
    "serving": ("Serving", "one base with three adapters, or a checkpoint for each agent"),
}
ENDS = {"proponent": "the moderator sided with the proponent", "concede": "the opponent conceded", "malformed": "an action was malformed",
        "repeat": "the query repeated an earlier one", "no_hits": "the query found nothing", "rounds": "the limit of rounds"}
PROBLEMS = {"empty": "empty", "too_long": "too long", "repeated": "repeats an earlier query", "not_keywords": "not keywords"}


class Report:
    """A step's report, read with care: it may be of another version, or edited by hand."""

    def __init__(self, data: object) -> None:
        self._data: Mapping[str, Any] = data if isinstance(data, Mapping) else {}

    def count(self, key: str) -> int:
        """A count; 0 where there is none."""
        value = self._data.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def figure(self, key: str) -> float | None:
        """A number, if it is one."""
        value = self._data.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def part(self, key: str) -> Report:
        """A section."""
        return Report(self._data.get(key))

    def counts(self) -> dict[str, int]:
        """All counts above 0."""
        return {str(k): v for k, v in self._data.items() if isinstance(v, int) and not isinstance(v, bool) and v > 0}

    def flag(self, key: str) -> bool:
        """Whether it is true."""
        return self._data.get(key) is True


def made(step: str, data: object) -> list[str]:
    """What a step made."""
    report = Report(data)
    if step == "questions":
        return [plural(report.count("questions"), "question"), f"Q1 {report.count('q1'):,}", f"Q2 {report.count('q2'):,}",
                f"hard {report.count('hard'):,}", f"medium {report.count('medium'):,}"]
    if step == "debate":
        ends = report.part("ends").counts()
        return [plural(report.count("debates"), "debate"), f"{plural(report.count('t1'), 'sample')} of Q1",
                f"{plural(report.count('t2'), 'sample')} of Q2", *(f"{n:,} ended: {ENDS.get(k, k)}" for k, n in ends.items())]
    if step == "answer":
        return [f"stage {n}: {_trained(report.part(f'stage{n}'))}" for n in (1, 2)]
    if step == "query":
        return [_trained(report), f"{plural(report.part('outputs').count('valid'), 'valid query', 'valid queries')}",
                f"{plural(report.count('answers_asked'), 'answer')} asked"]
    if step == "judge":
        return [f"{plural(report.count('candidates'), 'pool')} voted on", f"{report.count('sufficient'):,} sufficient",
                f"{report.count('insufficient'):,} insufficient", f"{plural(report.count('used'), 'row')} learned",
                *(f"{n:,} {words}" for words, n in _people(report) if n), *_loss(report)]
    return _footprint(report)


def left_out(step: str, data: object) -> list[str]:
    """What a step left out, and why."""
    report = Report(data)
    if step == "questions":
        return _told([(report.count("easy"), "easy: the base model knows them")])
    if step == "debate":
        return _told((n, f"malformed: {role}'s action") for role, n in report.part("malformed").counts().items())
    if step == "answer":
        return _told((report.part(f"stage{n}").count("too_long"), f"too long for the prompt limit (stage {n})") for n in (1, 2))
    if step == "query":
        wrong = {k: n for k, n in report.part("outputs").counts().items() if k != "valid"}
        return _told([(report.count("too_long"), "too long for the prompt limit"),
                      *((n, f"invalid query: {PROBLEMS.get(k, k)}") for k, n in wrong.items())])
    if step == "judge":
        return _told([(report.count("mixed"), "mixed: some sampled answers right, some wrong"),
                      (report.count("held_out_question"), "question held out by the snapshot"),
                      (report.count("too_long"), "too long for the token limit")])
    return []


def doubts(step: str, data: object) -> list[str]:
    """What should not be so: parameters that stood still, or moved and must not."""
    report = Report(data)
    found = []
    for name, part in (("stage 1", report.part("stage1")), ("stage 2", report.part("stage2"))) if step == "answer" else (("", report),):
        if part.count("trained") and not (part.count("moved") == part.count("trained") and part.flag("frozen_same")):
            frozen = "" if part.flag("frozen_same") else "; frozen parameters changed"
            found.append(f"{name} {part.count('moved')} of {part.count('trained')} adapter tensors moved{frozen}".strip())
    return found


def _trained(report: Report) -> str:
    first, last = report.figure("first_reward"), report.figure("last_reward")
    reward = f", reward {first:.3f} → {last:.3f}" if first is not None and last is not None else ""
    return f"{plural(report.count('used'), 'sample')}, {plural(report.count('steps'), 'step')}{reward}"


def _people(report: Report) -> list[tuple[str, int]]:
    return [("overruled by people", report.count("overruled_by_people")), ("agreed to by people", report.count("agreed_by_people")),
            ("added by people", report.count("added_by_people"))]


def _loss(report: Report) -> list[str]:
    first, last = report.figure("first_loss"), report.figure("last_loss")
    return [f"loss {first:.3f} → {last:.3f}"] if first is not None and last is not None else []


def _footprint(report: Report) -> list[str]:
    sides = [(words, report.part(key)) for key, words in (("shared", "one base with adapters"), ("separate", "a checkpoint each"))]
    sizes = [f"{words}: {size(part.count('disk'))} on disk, {size(part.count('memory'))} of weights" for words, part in sides
             if part.count("disk")]
    merged = [report.part("merged").part(name).figure("difference") for name in AGENTS]
    worst = max((value for value in merged if value is not None), default=None)
    return sizes + ([] if worst is None else [f"merged checkpoints written; logits differ by at most {worst:.1g} standard deviations"])


def _told(rows: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{number(n)} {words}" for n, words in rows if n]
