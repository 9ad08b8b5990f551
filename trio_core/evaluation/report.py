"""The files of an evaluation's folder: the summary as Markdown, JSON, CSV and LaTeX, with how the figures came about."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trio_core.evaluation.report_tables import tables
from trio_core.evaluation.summary import Summary
from trio_core.evaluation.tables import comma_separated, latex, markdown
from trio_core.values import Value

ROWS = "rows.jsonl"
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


def about(command: str, evaluation: str, profile: str, **more: Any) -> About:
    """The facts of this moment and machine; `more` = further fields."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return About(command=command, evaluation=evaluation, date=date, machine=machine, versions=_versions(), profile=profile, **more)


def write_report(folder: Path, summary: Summary, facts: About) -> str:
    """Writes summary.md, summary.json, table.csv and table.tex (each whole or not at all); the Markdown text."""
    parts = tables(summary)
    where = f"{facts.date} · {facts.machine} · profile {facts.profile}"
    head = [f"# Evaluation {facts.evaluation}", "", f"`{facts.command}`", "", where, ""]
    head += [f"- {name}: {text}" for name, text in _facts(facts) if text]
    text = "\n".join([*head, "", *(markdown(t) for t in parts)])
    body = {"about": facts.model_dump(mode="json"), "summary": summary.model_dump(mode="json")}
    _write(folder / "summary.md", text)
    _write(folder / "summary.json", json.dumps(body, ensure_ascii=False, indent=1) + "\n")
    _write(folder / "table.csv", comma_separated(parts[0]))
    _write(folder / "table.tex", "\n".join(latex(t) for t in parts[:2]))
    return text


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _facts(facts: About) -> list[tuple[str, str]]:
    joined = {name: ", ".join(f"{k} {v}" for k, v in getattr(facts, name).items()) for name in ("index", "versions")}
    return [("data", facts.dataset), ("gold evidence", facts.evidence), ("models", models_line(facts.models)), ("index", joined["index"]),
            ("judge", facts.judge), ("seed", facts.seed), ("versions", joined["versions"]), *(("note", n) for n in facts.notes)]


def models_line(models: Mapping[str, str]) -> str:
    """Which model served which role, each model once."""
    roles: dict[str, list[str]] = {}
    for role, model in models.items():
        roles.setdefault(model, []).append(role)
    if len(roles) == 1:
        return f"all roles: {next(iter(roles))}"
    return "; ".join(f"{', '.join(served)}: {model}" for model, served in roles.items())


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="")
    os.replace(part, path)
