"""PECOS' XR-Linear: trained by libpecos, imported from its folders, exported into them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import plain_matrix
from polyseme.adapters.other_packages import imported
from polyseme.adapters.pecos_folder import (
    LabelMap,
    PecosLevel,
    read_folder,
    read_label_map,
    write_folder,
)
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.estimators.predicting import check_k, top_k_of_rows
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.threads import count_jobs
from polyseme.partition.label_tree import LabelTree

__all__ = ["PecosXRLinear", "read_pecos", "write_pecos"]

# Post processors of PECOS, and what we call them.
ACTIVATIONS = {"l3-hinge": "l3-hinge", "sigmoid": "sigmoid", "noop": "none"}
MOST_SLOTS = 1 << 16  # in a cluster

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Self = TypeVar("Self", bound="PecosXRLinear")


# Importing


def read_pecos(
    folder: str | os.PathLike[str],
    *,
    beam_size: int | None = None,
    label_names: Any = None,
    feature_names: Any = None,
    n_jobs: int | None = None,
) -> XRLinear:
    """Import an XR-Linear model that PECOS has trained; libpecos is not needed.

    Weights, tree and scores are those of PECOS. The documents that it learned from are not known:
    it has counts of 0, no senses and no learned order of labels.

    Parameters
    ----------
    folder : path
        As ``XLinearModel.save`` writes it; nothing in it is ever run or unpickled.
    beam_size : int, optional
        By default what the folder says; needed if that differs from level to level.
    label_names, feature_names : sequence of str, optional
    n_jobs : int, optional
        Threads for prediction; by default one for each core.

    Returns
    -------
    XRLinear

    Raises
    ------
    FileNotFoundError, ValueError
        If files are missing or damaged, or the model does what ours do not: another post
        processor than l3-hinge, sigmoid and noop, or a part of a tree.
    """
    place = Path(folder)
    levels = read_folder(place)
    label_map = read_label_map(place, levels[-1].n_nodes)
    activation = _activation(levels, place)
    if beam_size is None:
        beam_size = _beam_size(levels, place)

    arrays: dict[str, npt.NDArray[Any]] = {}
    order = np.zeros(1, dtype=np.int64)
    for number, level in enumerate(levels):
        is_last = number == len(levels) - 1
        label_of = label_map.label_of_column if label_map and is_last else None
        starts, order = _in_order(level, order, label_of)
        if np.diff(starts).max() > MOST_SLOTS:
            raise ValueError(
                f"{place}: a node of level {number} has {np.diff(starts).max()} below it; at most "
                f"{MOST_SLOTS} are supported, so train it with smaller clusters."
            )
        weights = LinearWeights.from_rows(
            SparseRows.from_scipy(level.weights[:, order]), level.bias[order], starts
        )
        part = "ranker" if is_last else f"matcher.{number}"
        arrays.update({f"{part}.{name}": array for name, array in weights.to_arrays().items()})
        arrays["clusters.starts" if is_last else f"tree.{number}"] = starts
    labels = order if label_map is None else label_map.label_of_column[order]
    n_labels = levels[-1].n_nodes if label_map is None else label_map.n_labels
    n_features = int(levels[0].weights.shape[0])
    description = {
        "kind": XRLinear.kind,
        "parameters": {
            "copies": int(np.bincount(labels).max()),
            "rounds": 0,
            "beam_size": beam_size,
            "branching": max([2, *(_widest(level) for level in levels[:-1])]),
            "max_leaf_size": _widest(levels[-1]),
            "bias": levels[-1].bias_value,
            "activation": activation,
            "weight_bits": 32,
            "ordering": "product",
            "senses": "none",
            "merge": "sum" if label_map is None else label_map.merge,
        },
        "n_labels": n_labels,
        "n_sparse": n_features,
        "n_dense": 0,
        "n_sparse_seen": n_features,
        "n_dense_seen": 0,
        "n_documents": 0,
        "n_levels": len(levels) - 1,
        "assignments": [],
        "phase_seconds": {},
        "updates": [],
    }
    arrays.update(
        {
            "clusters.labels": labels.astype(np.int32),
            "label_counts": np.zeros(n_labels, dtype=np.int64),
            "slot_documents": np.zeros(len(labels), dtype=np.int64),
        }
    )
    names = {
        kind: _names(given, n, kind)
        for kind, given, n in (
            ("labels", label_names, n_labels),
            ("features", feature_names, n_features),
        )
        if given is not None
    }
    # Said in the words of our own format, it goes through all of its checks.
    return XRLinear.restored(StoredModel(place, description, arrays, names), n_jobs=n_jobs)


def _activation(levels: list[PecosLevel], folder: Path) -> str:
    found = sorted({level.post_processor for level in levels})
    if len(found) > 1 or found[0] not in ACTIVATIONS:
        raise ValueError(
            f"{folder} has the post processor {' and '.join(found)}; models with "
            f"{', '.join(ACTIVATIONS)} can be imported, the same on all levels."
        )
    return ACTIVATIONS[found[0]]


def _beam_size(levels: list[PecosLevel], folder: Path) -> int:
    found = sorted({level.beam_size for level in levels[:-1]} or {levels[-1].beam_size})
    if len(found) > 1:
        raise ValueError(
            f"{folder} has beams of {' and '.join(map(str, found))} on its levels; say which one "
            "is meant by beam_size."
        )
    return found[0]


def _in_order(
    level: PecosLevel,
    order_above: npt.NDArray[np.int64],
    label_of: npt.NDArray[np.int32] | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where the nodes below each node start, and the order that brings them there."""
    place_above = np.empty_like(order_above)
    place_above[order_above] = np.arange(len(order_above))
    above = place_above[level.above]
    order = np.lexsort((np.arange(level.n_nodes) if label_of is None else label_of, above))
    sizes = np.bincount(above, minlength=level.n_above)
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), order


def _widest(level: PecosLevel) -> int:
    return int(np.bincount(level.above).max())


def _names(given: Any, n_expected: int, kind: str) -> Names:
    names = Names.from_list(given)
    if len(names) != n_expected:
        raise ValueError(f"the model has {n_expected} {kind}, but {len(names)} names are given.")
    return names


# Exporting


def write_pecos(
    model: XRLinear, folder: str | os.PathLike[str], *, expanded: bool = False
) -> None:
    """Export a linear model as a folder that ``XLinearModel.load`` of libpecos reads.

    PECOS multiplies scores as `ordering='product'` does; a learned order is left out, with a
    warning. Names and senses have no place there.

    Parameters
    ----------
    model : XRLinear
        Trained. Weights of 8 bits are written as the numbers that they stand for.
    folder : path
        New or empty; it is moved into place when it is whole.
    expanded : bool, default=False
        PECOS has one column a label. With this, labels with several slots get a column for each,
        and ``label_map.json`` says which label a column belongs to and how scores are merged;
        `read_pecos` reads it, libpecos does not. Without, such a model is refused.
    """
    check_is_fitted(model, "clusters_")
    matcher, ranker = model.matcher_, model.ranker_
    if not isinstance(matcher, LinearTreeMatcher) or not isinstance(ranker, LinearSlotRanker):
        raise ValueError(
            f"a {type(model).__name__} cannot be exported to PECOS; a linear model such as "
            "XRLinear can."
        )
    clusters, label_map = model.clusters_, None
    if clusters.copies.max() > 1:
        if not expanded:
            n_several = int((clusters.copies > 1).sum())
            raise ValueError(
                f"{n_several} labels are in several clusters, and PECOS has one column a label; "
                "give expanded=True for a column a slot, or train with copies=1."
            )
        label_map = LabelMap(clusters.labels, clusters.n_labels, model.merge)
    if model.ordering_ is not None:
        warnings.warn(
            "the learned order of labels is left out: PECOS puts them in the order of the bare "
            "product.",
            stacklevel=2,
        )
    post_processor = {ours: theirs for theirs, ours in ACTIVATIONS.items()}[model.activation]

    def level_of(
        trained: LinearWeights, above: npt.NDArray[Any], n_above: int, order: Any = slice(None)
    ) -> PecosLevel:
        return PecosLevel(
            weights=plain_matrix(trained.to_rows()).tocsc()[:, order],
            bias=trained.bias[order],
            above=above[order].astype(np.int64),
            n_above=n_above,
            bias_value=1.0,
            beam_size=model.beam_size,
            post_processor=post_processor,
        )

    tree = model.tree_
    levels = [
        level_of(trained, tree.parents[number], tree.n_nodes(number))
        for number, trained in enumerate(matcher.levels)
    ]
    by_label = slice(None) if label_map else np.argsort(clusters.labels, kind="stable")
    levels.append(
        level_of(ranker.trained, clusters.cluster_of_slot, clusters.n_clusters, by_label)
    )
    write_folder(Path(folder), levels, label_map)


# Training


class PecosXRLinear(BaseEstimator):  # type: ignore[misc]
    """XR-Linear as libpecos trains it, to compare with and to put into `ExpandedLabels`.

    Needs libpecos. The defaults are those of `polyseme.XRLinear`, where it has the same.

    Parameters
    ----------
    branching : int, default=32
        Children of a node.
    max_leaf_size : int, default=100
        Most labels in a cluster.
    beam_size : int, default=10
    min_weight : float, default=0.1
        Weights of smaller magnitude are dropped.
    C : float, default=1.0
        Weight of the loss against the regularisation.
    n_jobs : int, optional
    random_state : int, default=0

    Attributes
    ----------
    model_ : pecos.xmc.xlinear.model.XLinearModel
    """

    def __init__(
        self,
        branching: int = 32,
        max_leaf_size: int = 100,
        beam_size: int = 10,
        min_weight: float = 0.1,
        C: float = 1.0,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.beam_size = beam_size
        self.min_weight = min_weight
        self.C = C
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self: Self, X: Any, Y: Any) -> Self:
        """Train, in clusters of PECOS' own.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels)
        """
        xmc, base = _pecos("xmc"), _pecos("xmc.base")
        n_threads = count_jobs(self.n_jobs)
        features, labels = _matrices(X, Y)
        embedded = xmc.LabelEmbeddingFactory.create(
            labels, features, method="pifa", threads=n_threads
        )
        settings = base.HierarchicalKMeans.TrainParams(
            nr_splits=self.branching,
            max_leaf_size=self.max_leaf_size,
            seed=self.random_state,
            threads=n_threads,
        )
        return self._trained(features, labels, xmc.Indexer.gen(embedded, train_params=settings))

    def fit_in_clusters(
        self: Self,
        X: Any,
        Y: Any,
        tree: LabelTree,
        cluster_of_column: npt.NDArray[np.int32],
    ) -> Self:
        """Train, in clusters that are given.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_columns)
        tree : LabelTree
        cluster_of_column : ndarray of int32, shape (n_columns,)
            A leaf of the tree for each column of Y.
        """
        chain = _pecos("utils.cluster_util").ClusterChain(
            [
                _one_each(above, tree.n_nodes(level))
                for level, above in enumerate([*tree.parents, cluster_of_column])
            ]
        )
        return self._trained(*_matrices(X, Y), chain)

    def _trained(self: Self, X: Any, Y: Any, chain: Any) -> Self:
        base, linear = _pecos("xmc.base"), _pecos("xmc.xlinear.model").XLinearModel
        solver = base.MLModel.TrainParams(
            threshold=self.min_weight,
            Cp=self.C,
            Cn=self.C,
            solver_type="L2R_L2LOSS_SVC_DUAL",
            threads=count_jobs(self.n_jobs),
        )
        settings = linear.TrainParams(
            nr_splits=self.branching,
            hlm_args=base.HierarchicalMLModel.TrainParams(
                neg_mining_chain="tfn", model_chain=solver
            ),
        )
        prediction = {"beam_size": self.beam_size, "post_processor": "l3-hinge"}
        self.model_ = linear.train(X, Y, C=chain, train_params=settings, pred_kwargs=prediction)
        return self

    def predict_top_k(self, X: Any, k: int = 5) -> TopK:
        """Return the k best labels of each document, best first.

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, k)
            -1 where fewer were reached.
        scores : ndarray of float32, shape (n_documents, k)
        """
        check_is_fitted(self, "model_")
        k = check_k(k)
        found = self.model_.predict(
            _rows(X), beam_size=self.beam_size, only_topk=k, threads=count_jobs(self.n_jobs)
        )
        return top_k_of_rows(SparseRows.from_scipy(found), k)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write PECOS' own folder, which `read_pecos` imports."""
        check_is_fitted(self, "model_")
        self.model_.save(str(folder))


def _pecos(module: str) -> Any:
    return imported(f"pecos.{module}", "libpecos", " (which wants numpy before 2)")


def _rows(X: Any) -> sp.csr_matrix:
    return plain_matrix(check_features(X).all_sparse())


def _matrices(X: Any, Y: Any) -> tuple[sp.csr_matrix, sp.csc_matrix]:
    features = _rows(X)
    labels, _ = check_labels(Y, features.shape[0])
    return features, plain_matrix(labels).tocsc()


def _one_each(above: npt.NDArray[np.int32], n_above: int) -> sp.csc_matrix:
    ones, places = np.ones(len(above), dtype=np.float32), (np.arange(len(above)), above)
    return sp.csc_matrix((ones, places), shape=(len(above), n_above))
