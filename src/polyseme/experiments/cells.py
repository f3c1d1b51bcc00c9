"""Finished cells, kept in a file that is whole at any time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import polyseme
from polyseme.experiments.measuring import Figures
from polyseme.experiments.statistics import are_hits
from polyseme.files.whole_files import written_beside

__all__ = ["Cell", "Results"]

FORMAT = 1
# Figures that are no single number, and what they are instead.
NO_NUMBERS: dict[str, type] = {
    "hits": str,
    "reaches_before": list,
    "reaches_after": list,
    "phase_seconds": dict,
    "examples": list,
    "reliability": list,
    "n_senses": dict,
    "tree_levels": list,
}


@dataclass(frozen=True)
class Cell:
    """One method with one seed, and what was measured.

    Attributes
    ----------
    method : str
    seed : int
    settings : dict
        See `Method.settings`.
    figures : dict
        Empty if it was skipped.
    skipped : str or None
        Why it was not run.
    seconds : float
        What all of it took, measuring included.
    n_threads : int
    polyseme : str
        The version that ran it.
    """

    method: str
    seed: int
    settings: Mapping[str, Any]
    figures: Figures = field(default_factory=dict)
    skipped: str | None = None
    seconds: float = 0.0
    n_threads: int = 1
    polyseme: str = polyseme.__version__

    def answers(self, settings: Mapping[str, Any], seed: int) -> bool:
        """Whether this is the finished cell of these settings and seed."""
        return self.skipped is None and self.seed == seed and self.settings == settings


@dataclass(frozen=True)
class Results:
    """The cells of an experiment on one data set.

    Attributes
    ----------
    experiment : str
    data : dict
        See `Problem.description`.
    cells : tuple of Cell
    """

    experiment: str
    data: Mapping[str, Any]
    cells: tuple[Cell, ...] = ()

    @property
    def methods(self) -> list[str]:
        """Names of the methods that have cells, in their order."""
        return list(dict.fromkeys(cell.method for cell in self.cells))

    @property
    def seeds(self) -> list[int]:
        """Seeds that have cells, ascending."""
        return sorted({cell.seed for cell in self.cells})

    def figures(self, method: str) -> dict[int, Figures]:
        """Return the figures of a method's finished cells, by ascending seed."""
        mine = [cell for cell in self.cells if cell.method == method and cell.skipped is None]
        return {cell.seed: cell.figures for cell in sorted(mine, key=lambda cell: cell.seed)}

    def values(self, method: str, figure: str) -> npt.NDArray[np.float64]:
        """Return one figure of a method by ascending seed; empty if it was not measured."""
        found = [figures.get(figure) for figures in self.figures(method).values()]
        return np.array([value for value in found if value is not None], dtype=np.float64)

    def paired(self, figure: str, ours: str, theirs: str) -> tuple[list[Any], list[Any]]:
        """Return a figure of two methods for the seeds that both have."""
        mine, other = self.figures(ours), self.figures(theirs)
        both = [s for s in mine if s in other and figure in mine[s] and figure in other[s]]
        return [mine[seed][figure] for seed in both], [other[seed][figure] for seed in both]

    def with_cell(self, cell: Cell) -> Results:
        """Return the results with a cell more, in the place of an older one if there is one."""
        others = [c for c in self.cells if (c.method, c.seed) != (cell.method, cell.seed)]
        return replace(self, cells=(*others, cell))

    def only(self, methods: Sequence[str], seeds: Sequence[int]) -> Results:
        """Return the cells of some methods and seeds, in that order."""
        place = {method: position for position, method in enumerate(methods)}
        kept = [cell for cell in self.cells if cell.method in place and cell.seed in seeds]
        return replace(
            self, cells=tuple(sorted(kept, key=lambda cell: (place[cell.method], cell.seed)))
        )

    def save(self, path: Path) -> None:
        """Write the file beside and move it into place."""
        content = {
            "format": FORMAT,
            "experiment": self.experiment,
            "data": self.data,
            "cells": [asdict(cell) for cell in self.cells],
        }
        text = json.dumps(content, indent=1, ensure_ascii=False, default=_from_numpy)
        with written_beside(path) as stream:
            stream.write(text.encode())

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read a file that `save` wrote; cells that have lost a figure are left out."""
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} is no regular file; move it away to begin anew.")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError("of another format")
            data = dict(content["data"])
            cells = [_cell(cell, data.get("n_test")) for cell in content["cells"]]
            return cls(
                experiment=_text(content["experiment"]),
                data=data,
                cells=tuple(_with_all_figures(cells)),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} is damaged or of another version of polyseme; move it away to begin anew."
            ) from error


def _cell(content: Any, n_test: Any) -> Cell:
    cell = Cell(**content)
    if not (
        isinstance(cell.method, str)
        and type(cell.seed) is int
        and isinstance(cell.settings, dict)
        and isinstance(cell.figures, dict)
        and isinstance(cell.skipped, str | None)
        and _is_number(cell.seconds)
        and type(cell.n_threads) is int
        and isinstance(cell.polyseme, str)
    ):
        raise ValueError("not a cell")
    for name, value in cell.figures.items():
        kind = NO_NUMBERS.get(name)
        if not (_is_number(value) if kind is None else isinstance(value, kind)):
            raise ValueError(f"{name} is of another kind")
    hits = cell.figures.get("hits")
    if hits is not None and not (len(hits) == n_test and are_hits(hits)):
        raise ValueError("hits of other documents")
    return cell


def _with_all_figures(cells: Sequence[Cell]) -> list[Cell]:
    """Leave out the cells that lack a figure which the same method has with another seed."""
    expected: dict[str, set[str]] = {}
    for cell in cells:
        expected.setdefault(_kind_of(cell), set()).update(cell.figures)
    return [
        cell
        for cell in cells
        if cell.skipped is not None or expected[_kind_of(cell)] == set(cell.figures)
    ]


def _kind_of(cell: Cell) -> str:
    """Return what is the same for cells that measure the same; versions may differ in that."""
    return json.dumps([cell.method, cell.settings, cell.polyseme], sort_keys=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**63)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _from_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")
