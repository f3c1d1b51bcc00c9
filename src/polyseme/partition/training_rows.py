"""Which documents the slots of a cluster are trained on."""

from __future__ import annotations

from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["TRAINING_ROWS", "choose_training_rows", "cluster_targets"]

TRAINING_ROWS = ("teacher-forcing", "matcher-aware", "both")


def cluster_targets(Y: SparsePattern, clusters: LabelClusters) -> SparsePattern:
    """Return the clusters of each document's labels: Binary(Y C).

    Parameters
    ----------
    Y : SparsePattern, shape (n_documents, n_labels)

    Returns
    -------
    SparsePattern, shape (n_documents, n_clusters)
    """
    return SparsePattern.from_scipy(Y.to_scipy() @ clusters.to_matrix())


def choose_training_rows(
    kind: str, targets: SparsePattern, matched: SparseRows | None
) -> SparsePattern:
    """Return the training rows of each cluster.

    Parameters
    ----------
    kind : str
        'teacher-forcing' takes the documents whose labels are in the cluster, 'matcher-aware'
        those that the matcher sent there, 'both' takes either.
    targets, matched : shape (n_documents, n_clusters)
        `matched` is needed except for teacher-forcing.
    """
    if kind == "teacher-forcing" or matched is None:
        return targets
    reached = matched.pattern()
    if kind == "matcher-aware":
        return reached
    return SparsePattern.from_scipy(targets.to_scipy() + reached.to_scipy())
