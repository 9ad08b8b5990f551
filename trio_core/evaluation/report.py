"""A summary as tables, and the files of an evaluation's folder."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from trio_core.evaluation.stats import Estimate
from trio_core.evaluation.summary import EntrantSummary, Summary
from trio_core.evaluation.tables import Table, comma_separated, latex, markdown, table
from trio_core.values import Value

ROWS = "rows.jsonl"
NAMES = {
    "em": "EM", "em_careful": "EM (careful)", "f1": "F1", "f1_squad": "F1 (SQuAD)", "precision": "precision", "cover_sub": "Cover-EM (substring)",
    "cover_token_seq": "Cover-EM (token run)", "cover_token_any": "Cover-EM (any order)", "choice": "choice accuracy", "answer_tokens": "answer tokens",
    "recall_first": "recall, round 1", "recall_last": "recall, all rounds", "support_f1": "support F1", "support_precision": "support precision",
    "support_recall": "support recall", "rounds": "rounds", "calls": "calls", "retrievals": "retrievals", "prompt_tokens": "prompt tokens",
    "cached_tokens": "cached tokens", "completion_tokens": "written tokens", "seconds": "seconds",
}
MAIN = ("em", "f1", "f1_squad", "precision", "cover_sub", "cover_token_seq", "cover_token_any", "choice", "answer_tokens", "recall_first", "recall_last",
        "support_f1")
PACKAGES = ("xllamacpp", "faiss-cpu", "bm25s", "sentence-transformers", "torch", "openai", "numpy", "pydantic")


class About(Value):
    """How the figures came about."""

    command: str
    evaluation: str
    date: str
    machine: str
    versions: dict[str, str]
    profile: str
    models: dict[str, str] = {}
    index: dict[str, str] = {}
    judge: str = ""
    dataset: str = ""
    evidence: str = ""
    seed: str = ""
    notes: tuple[str, ...] = ()


def about(command: str, evaluation: str, profile: str, **more: object) -> About:
    """The facts of this moment and machine."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return About(command=command, evaluation=evaluation, date=date, machine=machine, versions=versions, profile=profile, **more)  # type: ignore[arg-type]


def tables(summary: Summary) -> list[Table]:
    """All tables; the first is the main one."""
    chosen = [name for name in MAIN if any(name in e.micro for e in summary.entrants)]
    single = len(summary.datasets) == 1
    scope = f"n = {sum(summary.datasets.values())} questions ({', '.join(f'{d} {n}' for d, n in summary.datasets.items())})"
    note = (f"{scope}. Brackets: 95 % bootstrap over questions, {summary.draws} draws, seed {summary.seed}. Failed runs count as wrong. "
            "Read Cover-EM beside the answer's length.")
    found = [table(
        "Answers" if single else "Answers, micro-average (every question counts the same)", ["method", "runs", "failed", *(NAMES[n] for n in chosen)],
        [[e.label, e.runs, e.failed, *(_shown(e.micro.get(n), n) for n in chosen)] for e in summary.entrants], note)]
    if not single:
        found.append(table("Answers, macro-average (every data set counts the same)", ["method", *(NAMES[n] for n in chosen)],
                           [[e.label, *(_shown(e.macro.get(n), n) for n in chosen)] for e in summary.entrants]))
        found += [_of_dataset(summary, dataset, chosen) for dataset in summary.datasets]
    found.append(_costs(summary))
    found += [t for t in (_pairs(summary), _by_type(summary), _by_hops(summary), _recall(summary), _rounds(summary), _reasons(summary)) if t.rows]
    return found


def write_report(folder: Path, summary: Summary, facts: About) -> str:
    """Writes summary.md, summary.json, table.csv and table.tex (each whole or not at all); the Markdown text."""
    parts = tables(summary)
    head = [f"# Evaluation {facts.evaluation}", "", f"`{facts.command}`", "", f"{facts.date} · {facts.machine} · profile {facts.profile}", ""]
    head += [f"- {name}: {text}" for name, text in _facts(facts) if text]
    text = "\n".join([*head, "", *(markdown(t) for t in parts)])
    body = {"about": facts.model_dump(mode="json"), "summary": summary.model_dump(mode="json")}
    _write(folder / "summary.md", text)
    _write(folder / "summary.json", json.dumps(body, ensure_ascii=False, indent=1) + "\n")
    _write(folder / "table.csv", comma_separated(parts[0]))
    _write(folder / "table.tex", "\n".join(latex(t) for t in parts[:2]))
    return text


def _facts(facts: About) -> list[tuple[str, str]]:
    joined = {name: ", ".join(f"{k} {v}" for k, v in getattr(facts, name).items()) for name in ("models", "index", "versions")}
    return [("data", facts.dataset), ("gold evidence", facts.evidence), ("models", joined["models"]), ("index", joined["index"]),
            ("judge", facts.judge), ("seed", facts.seed), ("versions", joined["versions"]), *(("note", n) for n in facts.notes)]


def _shown(e: Estimate | None, name: str = "") -> str:
    if e is None or e.mean is None or e.low is None or e.high is None:
        return "n/a"
    digits = 1 if name in ("answer_tokens", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens") else 3
    return f"{e.mean:.{digits}f} [{e.low:.{digits}f}, {e.high:.{digits}f}]"


def _of_dataset(summary: Summary, dataset: str, chosen: Sequence[str]) -> Table:
    rows = [[e.label, *(_shown(e.by_dataset[dataset].get(n), n) for n in chosen)] for e in summary.entrants if dataset in e.by_dataset]
    return table(f"Answers, {dataset} (n = {summary.datasets[dataset]})", ["method", *(NAMES[n] for n in chosen)], rows)


def _costs(summary: Summary) -> Table:
    names = ("rounds", "calls", "retrievals", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")
    return table("Cost a question", ["method", *(NAMES[n] for n in names), "unparsed outputs in all"],
                 [[e.label, *(_shown(e.costs.get(n), n) for n in names), e.unparsed] for e in summary.entrants],
                 "Runs that ended by themselves. Seconds include waiting for other runs at the same time.")


def _pairs(summary: Summary) -> Table:
    name = NAMES.get(summary.metric, summary.metric)
    rows = []
    for p in summary.pairs:
        if p.test.mean is not None and p.test.low is not None and p.test.high is not None:
            rows.append([p.first, p.second, p.test.n, f"{p.test.mean:+.3f} [{p.test.low:+.3f}, {p.test.high:+.3f}]", p.test.wins, p.test.losses, p.test.ties,
                         f"{p.test.p_bootstrap:.4f}", f"{p.test.p_sign:.4f}"])
    return table(f"In pairs, {name}", ["method", "against", "n", "difference", "wins", "losses", "ties", "p (bootstrap)", "p (sign test)"], rows,
                 "On the questions that both have. p values are not corrected for the number of pairs. Which questions: summary.json.")


def _by_type(summary: Summary) -> Table:
    types = sorted({t for e in summary.entrants for t in e.by_type})
    rows = [[e.label, *(_counted(e.by_type.get(t)) for t in types)] for e in summary.entrants] if types else []
    return table(f"{NAMES.get(summary.metric, summary.metric)} by type of question", ["method", *types], rows)


def _by_hops(summary: Summary) -> Table:
    hops = sorted({h for e in summary.entrants for h in e.by_hops})
    rows = [[e.label, *(_counted(e.by_hops.get(h)) for h in hops)] for e in summary.entrants] if hops else []
    return table(f"{NAMES.get(summary.metric, summary.metric)} by number of hops", ["method", *map(str, hops)], rows)


def _counted(e: Estimate | None) -> str:
    return f"{_shown(e)} (n {e.n})" if e is not None and e.mean is not None else "n/a"


def _recall(summary: Summary) -> Table:
    longest = max((len(e.recall_by_round) for e in summary.entrants), default=0)
    rows = [[e.label, *(_shown(x) for x in e.recall_by_round), *[""] * (longest - len(e.recall_by_round))] for e in summary.entrants if e.recall_by_round]
    return table("Recall of gold passages after each round", ["method", *(f"round {n + 1}" for n in range(longest))], rows,
                 "A run that stopped earlier keeps its last recall.")


def _rounds(summary: Summary) -> Table:
    numbers = sorted({n for e in summary.entrants for n in e.rounds})
    return table("Runs by number of rounds", ["method", *map(str, numbers)], [[e.label, *(e.rounds.get(n, 0) for n in numbers)] for e in summary.entrants])


def _reasons(summary: Summary) -> Table:
    return table("Why runs stopped", ["method", "reasons"], [[e.label, _reason_list(e)] for e in summary.entrants])


def _reason_list(entrant: EntrantSummary) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in entrant.reasons.items())


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="")
    os.replace(part, path)
