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


class Opened(Value):
    """A figure that somebody opened: where it stands, what it says, and the runs behind it."""

    title: str
    text: str
    runs: tuple[str, ...]


class Analysis(Value):
    """All sections of a selection of runs."""

    runs: int
    finished: int
    cautions: tuple[str, ...] = ()
    encoder: str = ""
    """Empty = texts were not embedded."""
    sections: tuple[Section, ...]

    def behind(self, key: str) -> Opened | None:
        """The runs behind a cell (`sheet.row.column`) or a point (`section-plot.series.point`); None for anything else."""
        name, *numbers = key.split(".")
        if len(numbers) != 2 or not all(n.isdecimal() and len(n) < 6 for n in numbers):
            return None
        a, b = map(int, numbers)
        for section in self.sections:
            for sheet in section.sheets:
                if sheet.key == name and a < len(sheet.rows) and b < len(sheet.rows[a]):
                    row = sheet.rows[a]
                    return Opened(title=f"{sheet.title}: {row[0].text}, {sheet.header[b]}", text=row[b].text, runs=row[b].runs)
            for n, plot in enumerate(section.plots):
                if f"{section.key}-{n}" == name and a < len(plot.series) and b < len(plot.series[a].points):
                    series, point = plot.series[a], plot.series[a].points[b]
                    return Opened(
                        title=f"{plot.title}: {series.label}, {plot.x} {point.x}", text=shown(point.y, plot.percent), runs=point.runs
                    )
        return None


def shown(value: float | None, percent_: bool) -> str:
    """`42 %`, `0.42`, `12.3`, or `–`."""
    if value is None:
        return "–"
    return f"{100 * value:.0f} %" if percent_ else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


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
