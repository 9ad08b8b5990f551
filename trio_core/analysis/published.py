"""What the papers published, from `published.yaml`."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml

from trio_core.values import Value


class Paper(Value):
    """How a paper measured."""

    title: str
    model: str
    corpus: str
    retriever: str
    n: dict[str, int]
    passages: int | None = None


class PublishedFigure(Value):
    """One figure of a table. `setting` and `setting_value` where the table varies a setting."""

    paper: str
    table: str
    metric: str
    method: str
    variant: str = ""
    """Which of the paper's models: `TRIO-8B`."""
    dataset: str
    value: float
    setting: str = ""
    setting_value: str = ""


class Published(Value):
    """All of it. `steps`: method -> mean and shares of MAPS's stopping plot."""

    papers: dict[str, Paper]
    figures: tuple[PublishedFigure, ...]
    steps: dict[str, dict[str, float]]


@cache
def published() -> Published:
    """Read once."""
    data = yaml.safe_load(resources.files("trio_core.analysis").joinpath("published.yaml").read_text(encoding="utf-8"))
    return Published(papers=data["papers"], steps=data["steps"], figures=tuple(f for t in data["tables"] for f in _figures(t)))


def _figures(table: dict[str, Any]) -> list[PublishedFigure]:
    found = []
    for name, values in table["rows"].items():
        who, _, setting_value = str(name).partition(" / ")
        method, _, variant = who.partition(" (")
        found += [
            PublishedFigure(
                paper=table["paper"],
                table=table["table"],
                metric=table["metric"],
                method=method,
                variant=variant.rstrip(")"),
                dataset=dataset,
                value=value,
                setting=table.get("setting", ""),
                setting_value=setting_value,
            )
            for dataset, value in zip(table["columns"], values, strict=True)
            if value is not None
        ]
    return found
