"""Tables of docs/trees.md and docs/adapters.md, from experiments/results."""

from __future__ import annotations

from benchmarks.figures_of_experiments import beside_one_another, precisions, results
from benchmarks.recorded import DATA, markdown
from polyseme.experiments.cells import Results
from polyseme.experiments.trees import TREE_FEATURES, TREES

__all__ = ["BLOCKS"]


def trees() -> str:
    """Show what each kind of tree finds, and its shape."""
    found = {data: results("trees", data) for data in DATA}
    rows = [
        [f"`'{tree}'`", *(cell for of in found.values() for cell in _of_tree(of, tree))]
        for tree in TREES
    ]
    return markdown(["`tree`", *(head for data in found for head in (data, "its levels"))], rows)


def _of_tree(of: Results, tree: str) -> tuple[str, str]:
    levels = of.figures(tree)[0]["tree_levels"]
    return precisions(of, tree), ", ".join(map(str, levels))


def forests() -> str:
    """Show what forests find whose trees differ by what labels are compared by."""
    methods = {f"`'{by}'`": by for by in TREE_FEATURES}
    return beside_one_another("forests", "`tree_features`", methods, precisions)


def expanded() -> str:
    """Show what columns per slot do for a model that knows no clusters."""
    methods = {
        "plain `XRLinear`": "plain",
        "the same in `ExpandedLabels`, without knowing the clusters": "own documents",
        'the same with `positives="all"`': "all documents",
    }
    return beside_one_another("expanded-labels", "P@1 / 3 / 5", methods, precisions)


BLOCKS = {"trees": trees, "forests": forests, "expanded-labels": expanded}
