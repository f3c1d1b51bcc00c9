"""Tables of docs/ordering.md, from experiments/results; `benchmarks.figures` writes them."""

from __future__ import annotations

from benchmarks.figures_of_experiments import beside_one_another, precisions
from polyseme.experiments.cells import Results

__all__ = ["BLOCKS"]


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
    return beside_one_another("ordering", "", methods, _both)


def favour_rare() -> str:
    """Show what rare labels gain where they are favoured, and what that costs."""
    others = {f"{share:g}": f"learned, favour_rare {share}" for share in (0.25, 0.5, 1.0)}
    return beside_one_another("ordering", "", {"0": "learned", **others}, _both)


def names_in_texts() -> str:
    """Show what the names of labels add to the order of labels."""
    methods = {name: name for name in ("without names", "with names")}
    return beside_one_another("names-in-texts", "", methods, _both)


BLOCKS = {"ordering": ordering, "favour-rare": favour_rare, "names-in-texts": names_in_texts}
