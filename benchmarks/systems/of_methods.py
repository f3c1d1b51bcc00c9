"""Systems of `python -m benchmarks.methods` alone: each method, plain and with copies."""

from __future__ import annotations

from typing import Any

# As the authors made them: one cluster per label, no learned order, no senses.
PLAIN = {"ordering": "product", "senses": "none", "copies": 1, "rounds": 0}
COPIES = {**PLAIN, "copies": 2, "rounds": 1}
# The labels of a method that would take hours with all of them.
PART = {"frequent": 50, "rare": 50}

# family -> (class of polyseme, settings)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "parabel-1": ("Parabel", {"n_trees": 1}),
    "parabel-3": ("Parabel", {"n_trees": 3}),
    "bonsai-1": ("Bonsai", {"n_trees": 1}),
    "bonsai-3": ("Bonsai", {"n_trees": 3}),
    "plt": ("PLT", {}),
    "xr-linear": ("XRLinear", {"C": 1.0}),
    "one-vs-rest": ("OneVsRest", {}),
    "one-vs-rest-part": ("OneVsRest", {"part": PART}),
    "nearest-neighbours": ("NearestNeighbours", {}),
    "nearest-labels": ("NearestLabels", {}),
}

System = tuple[str, str, dict[str, Any], str]


def _ours(family: str, settings: dict[str, Any]) -> System:
    method, own = METHODS[family]
    return "polyseme_method", "PolysemeMethod", {"method": method, **own, **settings}, "polyseme"


# As `SYSTEMS` beside it.
METHOD_SYSTEMS: dict[str, System] = {
    **{family: _ours(family, PLAIN) for family in METHODS},
    **{f"{family}-copies2": _ours(family, COPIES) for family in METHODS},
    "xr-linear-defaults": _ours("xr-linear", {"C": None}),
    "omikuji-parabel-3": ("omikuji_tree", "OmikujiTree", {"n_trees": 3}, "omikuji"),
    "omikuji-bonsai-3": (
        "omikuji_tree",
        "OmikujiTree",
        {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3, "n_trees": 3},
        "omikuji",
    ),
    # scikit-learn has liblinear, so it runs where the harness runs.
    "liblinear-part": ("liblinear_part", "LiblinearPart", {"part": PART}, "polyseme"),
}
