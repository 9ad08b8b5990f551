"""What an analysis looks like, for every place that shows it: sections of tables, whose cells know their runs, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from trio_core.analysis.figures import Figure
from trio_core.evaluation.tables import Table, table
from trio_core.values import Value


class Cell(Value):
    """A text; `runs` are the ids behind it."""

    text: str
    runs: tuple[str, ...] = ()


class Sheet(Value):
    """A table. `key` names it in addresses and files."""

    key: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def plain(self) -> Table:
        """Without the runs, for Markdown and CSV."""
        return table(self.title, self.header, [[c.text for c in row] for row in self.rows], self.note)


class Point(Value):
    """A value over a name of the x axis; null = nothing there."""

    x: str
    y: float | None
    n: int = 0
    runs: tuple[str, ...] = ()


class Series(Value):
    """One method of a plot; `dashed` for what is no measurement (a null model)."""

    label: str
    points: tuple[Point, ...]
    dashed: bool = False


class Plot(Value):
    """Bars or lines over the rounds. `percent`: y is a share."""

    title: str
    kind: Literal["bars", "lines"]
    x: str
    y: str
    series: tuple[Series, ...]
    percent: bool = False


class Section(Value):
    """One analysis; `about` says in plain words how to read it. Without sheets `empty` says what is missing."""

    key: str
    title: str
    about: tuple[str, ...]
    plots: tuple[Plot, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    empty: str = ""


class Analysis(Value):
    """All sections of a selection of runs."""

    runs: int
    finished: int
    cautions: tuple[str, ...] = ()
    encoder: str = ""
    """Empty = texts were not embedded."""
    sections: tuple[Section, ...]

    def cell(self, key: str) -> tuple[Sheet, Cell] | None:
        """`sheet.row.column` -> that cell; None for anything else."""
        name, _, rest = key.partition(".")
        row, _, column = rest.partition(".")
        for section in self.sections:
            for sheet in section.sheets:
                if sheet.key == name and row.isdecimal() and column.isdecimal() and int(row) < len(sheet.rows) and int(column) < len(sheet.rows[int(row)]):
                    return sheet, sheet.rows[int(row)][int(column)]
        return None


def words(text: object) -> Cell:
    """A cell with nothing behind it."""
    return Cell(text=str(text))


def cell(figure: Figure, digits: int = 2, with_n: bool = False) -> Cell:
    """`0.42`, or `0.42 (n 12)`; `–` where there is nothing."""
    if figure.value is None:
        return words("–")
    return Cell(text=f"{figure.value:.{digits}f}" + (f" (n {figure.n})" if with_n else ""), runs=figure.runs)


def percent(figure: Figure) -> Cell:
    """`42 % (5)`: a share and how many it is."""
    return words("–") if figure.value is None else Cell(text=f"{100 * figure.value:.1f} % ({figure.n})", runs=figure.runs)


def points(names: Sequence[str], figures: Sequence[Figure]) -> tuple[Point, ...]:
    """Figures over names of the x axis."""
    return tuple(Point(x=x, y=f.value, n=f.n, runs=f.runs) for x, f in zip(names, figures, strict=False))
