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
from polyseme.writing import written_beside

__all__ = ["Cell", "Results"]

FORMAT = 1


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
        """Read a file that `save` wrote."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError("of another format")
            return cls(
                experiment=_text(content["experiment"]),
                data=dict(content["data"]),
                cells=tuple(_cell(cell) for cell in content["cells"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} is damaged or of another version of polyseme; move it away to begin anew."
            ) from error


def _cell(content: Any) -> Cell:
    cell = Cell(**content)
    if not (
        isinstance(cell.method, str)
        and isinstance(cell.seed, int)
        and isinstance(cell.settings, dict)
        and isinstance(cell.figures, dict)
        and isinstance(cell.skipped, str | None)
    ):
        raise ValueError("not a cell")
    return cell


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _from_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")
