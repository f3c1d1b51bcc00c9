"""What the paper reports on its own data.

Liu, Chang, Yu, Hsieh, Dhillon: Label Disentanglement in Partition-based Extreme Multilabel
Classification (2021). Precisions are in percent.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyseme.experiments.tables import Table

__all__ = [
    "COPIES_CLAIM",
    "FUSED_P5",
    "LINEAR",
    "OVERHEAD",
    "RANDOM",
    "fused_table",
    "overhead_table",
    "precision_table",
]

Precisions = Mapping[str, Mapping[str, tuple[float, float, float]]]

# Table "Experiments with XR-Linear": P@1, P@3, P@5.
LINEAR: Precisions = {
    "Wiki10-31K": {
        "XR-Linear": (84.14, 72.85, 64.09),
        "no alternative update": (84.52, 74.23, 65.41),
        "alternative update": (84.57, 74.55, 65.59),
    },
    "AmazonCat-13K": {
        "XR-Linear": (92.53, 78.45, 63.85),
        "no alternative update": (90.63, 78.12, 63.86),
        "alternative update": (92.90, 79.04, 64.35),
    },
    "Amazon-670K": {
        "XR-Linear": (44.17, 39.14, 35.38),
        "no alternative update": (43.22, 38.19, 34.10),
        "alternative update": (44.82, 39.93, 36.34),
    },
    "Amazon-3M": {
        "XR-Linear": (46.74, 43.88, 41.72),
        "no alternative update": (46.95, 44.24, 42.18),
        "alternative update": (47.51, 44.76, 42.67),
    },
}

# Table "Comparing the random method": P@1, P@3, P@5.
RANDOM: Precisions = {
    "Wiki10-31K": {"random": (84.50, 73.15, 63.91), "closed form": (84.57, 74.55, 65.59)},
    "AmazonCat-13K": {"random": (92.01, 77.75, 63.26), "closed form": (92.90, 79.04, 64.35)},
    "Amazon-670K": {"random": (41.84, 37.17, 33.50), "closed form": (44.82, 39.93, 36.34)},
    "Amazon-3M": {"random": (44.14, 41.54, 39.57), "closed form": (47.51, 44.76, 42.67)},
}

# Table "Extra training time and inference time", as multiples of the baseline's; data set ->
# (training s, prediction ms per document) of the baseline, then extra of both for 1 and 2 copies.
OVERHEAD: Mapping[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "Wiki10-31K": ((30, 0.7), (2.32, 2.40), (5.58, 4.80)),
    "AmazonCat-13K": ((97, 0.2), (3.05, 0.71), (4.54, 1.59)),
    "Amazon-670K": ((90, 0.4), (0.47, 0.07), (0.96, 0.60)),
    "Amazon-3M": ((829, 0.5), (0.33, 1.12), (1.63, 2.51)),
}

# Figure "sensitivity" has no numbers in the text, only this.
COPIES_CLAIM = (
    "The paper has a figure of P@5 without numbers: more copies are generally better, the benefit "
    "diminishes quickly, and there is a plateau from 4 copies on; 2 are taken everywhere else."
)

# Table "Numbers for Figure (three modes)": mode -> labels fused -> (baseline, ours), P@5.
FUSED_P5: Mapping[str, Mapping[str, Mapping[int, tuple[float, float]]]] = {
    "Wiki10-31K": {
        "easy": {2: (64.22, 65.67), 5: (65.14, 66.78), 10: (67.26, 68.46), 20: (68.84, 69.79)},
        "medium": {2: (64.18, 65.42), 5: (64.65, 65.69), 10: (65.02, 65.77), 20: (65.10, 65.88)},
        "hard": {2: (64.19, 65.34), 5: (64.08, 65.57), 10: (64.56, 65.50), 20: (65.01, 65.59)},
    },
    "Amazon-670K": {
        "easy": {2: (35.20, 36.07), 5: (35.60, 36.60), 10: (35.77, 37.26), 20: (35.66, 37.15)},
        "medium": {2: (34.53, 35.45), 5: (34.06, 34.89), 10: (33.96, 35.16), 20: (34.20, 35.38)},
        "hard": {2: (32.67, 33.82), 5: (30.08, 31.67), 10: (28.56, 30.82), 20: (27.71, 32.26)},
    },
}


def precision_table(reported: Precisions, baseline: str) -> Table:
    """Lay precisions out, with the gain over a baseline."""
    rows = []
    for data, methods in reported.items():
        for method, precisions in methods.items():
            gains = [ours - base for ours, base in zip(precisions, methods[baseline], strict=True)]
            gain = "" if method == baseline else " / ".join(f"{gain:+.2f}" for gain in gains)
            rows.append([f"{data}: {method}", *(f"{p:.2f}" for p in precisions), gain])
    return Table(
        "What the paper reports on its data",
        ("", "P@1", "P@3", "P@5", f"over {baseline}"),
        rows,
    )


def overhead_table() -> Table:
    """Lay the extra times out."""
    rows = []
    for data, ((training, prediction), *extra) in OVERHEAD.items():
        rows.append([f"{data}: XR-Linear", f"{training:g} s", f"{1000 * prediction:g} us"])
        for copies, (more_training, more_prediction) in enumerate(extra, start=1):
            name = f"{data}: copies {copies}"
            rows.append([name, f"+{more_training:.2f}x", f"+{more_prediction:.2f}x"])
    return Table(
        "What the paper reports on its data", ("", "training", "prediction of a document"), rows
    )


def fused_table() -> Table:
    """Lay the precisions of fused labels out."""
    rows = []
    modes = next(iter(FUSED_P5.values()))
    for mode, numbers in modes.items():
        for n_fused in numbers:
            row = [f"{mode}, {n_fused} fused"]
            for reported in FUSED_P5.values():
                base, ours = reported[mode][n_fused]
                row += [f"{base:.2f}", f"{ours:.2f}", f"{100 * (ours / base - 1):+.2f}"]
            rows.append(row)
    titles = [
        f"{data}: {what}" for data in FUSED_P5 for what in ("XR-Linear", "ours", "relative %")
    ]
    return Table("What the paper reports on its data, P@5", ("", *titles), rows)
