"""What matchers and rankers are asked to learn: pure descriptions, whoever does the work.

A task and a `Run` decide what is learned to the last bit, in however many pieces and wherever the
work is done. With `changed` only a part of it is to be learned: the rest is that of `start_from`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["MatchingTask", "RankingTask"]


@dataclass(frozen=True, eq=False)
class MatchingTask:
    """Find the clusters of documents.

    Attributes
    ----------
    targets : SparsePattern, shape (n_documents, n_clusters)
        The clusters of each document's labels.
    tree : LabelTree
        What lies above the clusters, for matchers that want it.
    is_draft : bool
        Whether this training only has to tell where labels belong, and is followed by another: it
        may then be done in haste.
    start_from : matcher or None
        One of the same kind that was trained for other targets, to be tuned rather than begun
        anew where the kind allows.
    changed : ndarray of bool, shape (n_clusters,), or None
        If given, only these clusters have other documents than `start_from` learned from: nodes
        above them are to be learned, all others stay bit for bit.
    """

    targets: SparsePattern
    tree: LabelTree
    is_draft: bool = False
    start_from: Any = None
    changed: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class RankingTask:
    """Tell the labels of a cluster apart.

    Attributes
    ----------
    labels : SparsePattern, shape (n_documents, n_labels)
    clusters : LabelClusters
        The slots; each gets a classifier of its own.
    rows : SparsePattern, shape (n_documents, n_clusters)
        The documents that the slots of each cluster are trained on.
    own_documents : SparsePattern, shape (n_documents, n_clusters), or None
        If given, a slot has only those positives that are listed here for its cluster.
    label_weights : ndarray of float32, shape (n_labels,), or None
        What a document of each label counts for its slots, 1 or more; 1 if not given. For rankers
        that know how.
    held_out : ndarray of bool, shape (n_documents,), or None
        If given, a ranker that can (see `polyseme.backbones.protocols.Drafts`) keeps a draft of
        itself that did not see these documents.
    is_draft : bool
        Whether this ranker only has to tell how scores of documents that it did not see look: it
        may then be trained in haste.
    start_from : ranker or None
        One of the same kind that was trained before.
    changed : ndarray of bool, shape (n_clusters,), or None
        If given, only these clusters are to be learned, and only they may have other slots than
        `start_from`; all others stay bit for bit.
    """

    labels: SparsePattern
    clusters: LabelClusters
    rows: SparsePattern
    own_documents: SparsePattern | None = None
    label_weights: npt.NDArray[np.float32] | None = None
    held_out: npt.NDArray[np.bool_] | None = None
    is_draft: bool = False
    start_from: Any = None
    changed: npt.NDArray[np.bool_] | None = None
