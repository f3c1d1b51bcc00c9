"""The figures that describe a model, shared by ``train`` and ``info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from polyseme import XRLinear

__all__ = ["summary_of"]


def summary_of(model: XRLinear) -> dict[str, Any]:
    """Return sizes, slots and parameters of a fitted model as plain JSON values."""
    clusters = model.clusters_
    n_labels_by_copies = np.bincount(clusters.copies)
    return {
        "n_labels": model.n_labels_,
        "n_features": model.n_features_in_,
        "n_clusters": clusters.n_clusters,
        "n_slots": clusters.n_slots,
        "cluster_sizes": {
            "smallest": int(clusters.sizes.min()),
            "median": float(np.median(clusters.sizes)),
            "largest": int(clusters.sizes.max()),
        },
        "labels_by_copies": {
            str(copies): int(n_labels)
            for copies, n_labels in enumerate(n_labels_by_copies)
            if n_labels
        },
        "has_label_names": model.label_names_ is not None,
        "has_feature_names": model.feature_names_ is not None,
        "parameters": model.get_params(),
    }
