"""All analyses of a selection of runs, and their text forms."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.groups import cautions
from trio_core.analysis.reproduction import reproduction_section
from trio_core.analysis.sections import gain_section, hidden_section, repeats_section, stopping_section, switch_sections
from trio_core.analysis.sheets import Analysis, Section
from trio_core.analysis.text_sections import judge_section, momentum_section, similarity_section
from trio_core.analysis.vectors import Vectors, gold_texts
from trio_core.evaluation.tables import comma_separated, markdown

KEYS = ("stopping", "judge", "similarity", "momentum", "hidden", "repeats", "gain", "fixed_rounds", "noise", "reproduction")
"""Sections in the order in which they are shown."""


def analyse(
    runs: Sequence[RunFacts],
    vectors: Vectors | None = None,
    metric: str = "em",
    more_gold: Mapping[tuple[str, str], str] | None = None,
    only: Sequence[str] = KEYS,
) -> Analysis:
    """Without `vectors` nothing is embedded. `more_gold`: texts of gold passages that no run found, by (corpus, id).

    Raises RetrieverError or ModelFileError where the encoder cannot be used.
    """
    texts = gold_texts(runs, more_gold)
    if vectors is not None and {"similarity", "momentum"} & set(only):
        vectors.warm([r for r in runs if r.finished], texts)
    made: dict[str, Callable[[], Section]] = {
        "stopping": lambda: stopping_section(runs),
        "judge": lambda: judge_section(runs),
        "similarity": lambda: similarity_section(runs, vectors, texts),
        "momentum": lambda: momentum_section(runs, vectors),
        "hidden": lambda: hidden_section(runs),
        "repeats": lambda: repeats_section(runs),
        "gain": lambda: gain_section(runs),
        "fixed_rounds": lambda: switch_sections(runs, metric)[0],
        "noise": lambda: switch_sections(runs, metric)[1],
        "reproduction": lambda: reproduction_section(runs),
    }
    return Analysis(
        runs=len(runs),
        finished=sum(r.finished for r in runs),
        cautions=cautions(runs),
        encoder=vectors.name if vectors else "",
        sections=tuple(made[key]() for key in KEYS if key in only),
    )


def markdown_of(analysis: Analysis, title: str = "Analysis") -> str:
    """A report: sections, how to read them, tables."""
    parts = [
        f"# {title}",
        "",
        f"{analysis.runs:,} runs, {analysis.finished:,} ended by themselves. Encoder: {analysis.encoder or 'none'}.",
        "",
    ]
    parts += [f"- Mind: {_line(caution)}" for caution in analysis.cautions] + [""] * bool(analysis.cautions)
    for section in analysis.sections:
        parts += [f"# {section.title}", "", *(f"{_line(text)}\n" for text in section.about)]
        parts += [markdown(sheet.plain()) for sheet in section.sheets] or [f"{_line(section.empty)}\n"]
    return "\n".join(parts)


def csv_of(analysis: Analysis) -> str:
    """All tables one after the other, each under a line with its title."""
    return "\r\n".join(f"# {sheet.title}\r\n{comma_separated(sheet.plain())}" for section in analysis.sections for sheet in section.sheets)


def write_files(analysis: Analysis, folder: Path) -> list[Path]:
    """analysis.md, analysis.json, reproduction.md and one CSV a table; each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"analysis.md": markdown_of(analysis), "analysis.json": analysis.model_dump_json(indent=1) + "\n"}
    files |= {f"{sheet.key}.csv": comma_separated(sheet.plain()) for section in analysis.sections for sheet in section.sheets}
    if reproduced := [s for s in analysis.sections if s.key == "reproduction"]:
        files["reproduction.md"] = markdown_of(
            analysis.model_copy(update={"sections": tuple(reproduced)}), "The papers' figures beside ours"
        )
    for name, text in files.items():
        part = folder / (name + ".part")
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, folder / name)
    return [folder / name for name in files]


def _line(text: str) -> str:
    """Names in a caution come from files and servers."""
    return re.sub(r"[\\`*<>|\[\]]|(?<!\w)_|_(?!\w)", lambda m: "\\" + m[0], " ".join(text.split()))
