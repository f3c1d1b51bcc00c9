"""Tables of docs/ordering.md, from experiments/results; `benchmarks.figures` writes them."""

from __future__ import annotations

from benchmarks.figures_of_experiments import beside_one_another, precisions
from benchmarks.recorded import DATA
from polyseme.experiments.cells import Results

__all__ = ["BLOCKS"]

ALSO_METAMATH = (*DATA, "metamath")


def _both(of: Results, method: str) -> str:
    return f"{precisions(of, method)}<br>{precisions(of, method, 'PS')}"


def ordering() -> str:
    """Show what the order gains, and from what."""
    methods = {
        "product": "product",
        "tempered": "tempered",
        "**learned**": "learned",
        "learned, counts unknown": "learned, counts unknown",
        "learned, C = 1": "learned, C 1",
        "learned, 2 copies": "learned, copies 2",
        "learned, rows of both": "learned, rows of both",
        "learned, leaves of 200": "learned, leaves of 200",
    }
    return beside_one_another("ordering", "", methods, _both, ALSO_METAMATH)


def costs() -> str:
    """Show what C does, and what the one does that the data choose."""
    methods = {f"C = {value:g}": f"learned, C {value:g}" for value in (0.5, 1, 2)}
    methods["chosen from the data"] = "learned"
    return beside_one_another("ordering", "", methods, _both, ALSO_METAMATH)


def favour_rare() -> str:
    """Show what rare labels gain where they are favoured, and what that costs."""
    others = {f"{share:g}": f"learned, favour_rare {share}" for share in (0.25, 0.5, 1.0)}
    methods = {"0": "learned", **others}
    return beside_one_another("ordering", "", methods, _both, ALSO_METAMATH)


def names_in_texts() -> str:
    """Show what the names of labels add to the order of labels."""
    methods = {name: name for name in ("without names", "with names")}
    return beside_one_another("names-in-texts", "", methods, _both)


BLOCKS = {
    "ordering": ordering,
    "costs": costs,
    "favour-rare": favour_rare,
    "names-in-texts": names_in_texts,
}
