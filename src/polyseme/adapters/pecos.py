"""PECOS' XR-Linear: trained by libpecos, imported from its folders, exported into them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import plain_matrix
from polyseme.adapters.pecos_folder import (
    LabelMap,
    PecosLevel,
    read_folder,
    read_label_map,
    write_folder,
)
from polyseme.adapters.pecos_training import PecosXRLinear
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows

__all__ = ["PecosXRLinear", "read_pecos", "write_pecos"]

# Post processors of PECOS, and what we call them.
ACTIVATIONS = {"l3-hinge": "l3-hinge", "sigmoid": "sigmoid", "noop": "none"}
MOST_SLOTS = 1 << 16  # in a cluster


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
        raise ValueError(
            f"the model has {n_expected:,} {kind}, but {len(names):,} names are given."
        )
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
        PECOS has one column per label. With this, labels with several slots get a column for each,
        and ``label_map.json`` says which label a column belongs to and how scores are merged;
        `read_pecos` reads it, libpecos does not. Without, such a model is refused.
    """
    check_is_fitted(model, "clusters_")
    matcher, ranker = model.matcher_, model.ranker_
    is_linear = isinstance(matcher, LinearTreeMatcher) and isinstance(ranker, LinearSlotRanker)
    if not is_linear or not isinstance(model, XRLinear):  # one-vs-rest has parts like these
        raise ValueError(
            f"{type(model).__name__} cannot be exported to PECOS; a linear model such as XRLinear "
            "can."
        )
    clusters, label_map = model.clusters_, None
    if clusters.copies.max() > 1:
        if not expanded:
            n_several = int((clusters.copies > 1).sum())
            raise ValueError(
                f"{n_several} labels are in several clusters, and PECOS has one column per label; "
                "give expanded=True for one column per slot, or train with copies=1."
            )
        label_map = LabelMap(clusters.labels, clusters.n_labels, model.merge)
    if model.ordering_ is not None:
        warnings.warn(
            "the learned order of labels is left out: PECOS puts them in the order of the bare "
            "product.",
            stacklevel=2,
        )
    post_processor = {ours: theirs for theirs, ours in ACTIVATIONS.items()}.get(model.activation)
    if post_processor is None:
        raise ValueError(f"PECOS has no activation {model.activation!r}; train with 'l3-hinge'.")

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
