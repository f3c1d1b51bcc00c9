"""What a saved estimator consists of, and how it comes back to life, whatever its backbone."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import ModelShape, Stores
from polyseme.estimators.parameters import check_parameters
from polyseme.files.origin import stored_origin
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.ordering.facts import FACTS
from polyseme.ordering.label_ordering import LabelOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.senses.layer import SenseLayer

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier

__all__ = ["contents_of", "restore"]

FACTS_OF_FORMAT_4 = 7  # all but names


def contents_of(model: PartitionedClassifier) -> Contents:
    """Return the description, the arrays and the names that make up a trained model."""
    parts = {"matcher": model.matcher_, "ranker": model.ranker_}
    arrays: dict[str, npt.NDArray[Any]] = {
        "clusters.starts": model.clusters_.starts,
        "clusters.labels": model.clusters_.labels,
        "label_counts": model.label_counts_,
        "slot_documents": model.slot_documents_,
    }
    arrays.update({f"tree.{i}": starts for i, starts in enumerate(model.tree_.levels)})
    for name, part in parts.items():
        if not model.kind or not isinstance(part, Stores):
            raise ValueError(
                f"{type(model).__name__} cannot be saved: "
                + (
                    f"its {name} has no to_arrays and restore."
                    if model.kind
                    else "its class has no kind, the name of its entry point."
                )
            )
        found = part.to_arrays()
        if not isinstance(found, dict) or not all(
            isinstance(array, np.ndarray) for array in found.values()
        ):
            raise ValueError(f"to_arrays of the {name} must give arrays by name.")
        arrays.update({f"{name}.{key}": array for key, array in found.items()})
    if model.ordering_ is not None:
        found = model.ordering_.to_arrays()
        arrays.update({f"ordering.{key}": array for key, array in found.items()})
    if model.name_words_ is not None:
        found = model.name_words_.to_arrays()
        arrays.update({f"ordering.names.{key}": array for key, array in found.items()})
    layer = model.senses_
    if layer is not None:
        arrays.update({f"senses.{key}": array for key, array in layer.to_arrays().items()})
    description = {
        "kind": model.kind,
        "parameters": {
            name: value
            for name, value in model.get_params().items()
            if name not in model.of_the_machine
        },
        "chosen": model.chosen(),
        "n_labels": model.n_labels_,
        "n_sparse": model.layout_[0],
        "n_dense": model.layout_[1],
        "n_sparse_seen": model.seen_layout_[0],
        "n_dense_seen": model.seen_layout_[1],
        "n_documents": model.n_documents_,
        "n_levels": model.tree_.n_levels,
        "assignments": model.assignments_,
        "phase_seconds": model.phase_seconds_,
        "updates": model.updates_,
        "origin": getattr(model, "origin_", {}),  # none of a model that was not trained here
        "ordering": None
        if model.ordering_ is None
        else {
            "n_documents": model.ordering_.n_documents,
            "has_names": model.name_words_ is not None,
        },
        "senses": None if layer is None else layer.describe(),
    }
    names = {"labels": model.label_names_, "features": model.feature_names_}
    return Contents(description, arrays, {k: v for k, v in names.items() if v is not None})


def restore(model: PartitionedClassifier, stored: StoredModel) -> None:
    """Fill a fresh estimator with what was saved; each size is compared before it is used."""
    _set_parameters(model, stored)
    model.take_chosen(_chosen(stored))
    model.n_documents_ = stored.whole_number("n_documents", 0)
    model.n_labels_ = n_labels = stored.whole_number("n_labels", 1)
    model.label_counts_ = _document_counts(stored, "label_counts", n_labels)
    model.layout_ = stored.whole_number("n_sparse", 0), stored.whole_number("n_dense", 0)
    model.seen_layout_ = (
        stored.whole_number("n_sparse_seen", 0),
        stored.whole_number("n_dense_seen", 0),
    )
    model.n_features_in_ = n_features = sum(model.layout_)
    model.assignments_ = _assignments(stored)
    model.phase_seconds_ = stored.seconds("phase_seconds")
    model.updates_ = _updates(stored)
    model.origin_ = stored_origin(stored)
    model.tree_ = _tree(stored, model.n_trees)
    model.clusters_ = _clusters(stored, n_labels, model.tree_.n_clusters)
    model.slot_documents_ = _document_counts(stored, "slot_documents", model.clusters_.n_slots)
    model.label_names_ = stored.names_of("labels", n_labels)
    model.feature_names_ = stored.names_of("features", n_features)

    model.ordering_, model.name_words_ = _ordering(stored, n_labels, model.layout_[0])
    model.senses_ = _senses(model, stored)

    model.matcher_, model.ranker_ = model.make_matcher(), model.make_ranker()
    for name, part, layout in (
        ("matcher", model.matcher_, model.layout_),
        ("ranker", model.ranker_, model.seen_layout_),
    ):
        if not isinstance(part, Stores):
            raise stored.damaged(f"{type(model).__name__} keeps no {name}")
        try:
            part.restore(stored.part(name), ModelShape(*layout, model.tree_, model.clusters_))
        except (ValueError, MemoryError):
            raise
        except Exception as error:  # of another package's backbone
            raise stored.damaged(f"its {name} cannot be brought back: {error!r}") from error


def _chosen(stored: StoredModel) -> dict[str, float]:
    """Return what training chose; models of before had nothing to choose."""
    if "chosen" not in stored.description:
        return {}
    found = stored.value("chosen", dict)
    if not all(type(number) is float and 0 < number < 1e30 for number in found.values()):
        raise stored.damaged("what its training chose are not numbers above 0")
    return found


def _set_parameters(model: PartitionedClassifier, stored: StoredModel) -> None:
    parameters = stored.value("parameters", dict)
    known = set(inspect.signature(type(model)).parameters) - set(model.of_the_machine)
    if not set(parameters) <= known:
        raise stored.damaged(f"its parameters are not those of a {type(model).__name__}")
    before = {"senses": "none", "ordering": "product"}  # a model from before there were any
    parameters = {**{name: before[name] for name in before.keys() & known}, **parameters}
    model.set_params(**parameters)
    try:
        check_parameters(model)
    except ValueError as error:
        raise stored.damaged(str(error)) from None


def _document_counts(stored: StoredModel, name: str, n: int) -> npt.NDArray[np.int64]:
    counts = stored.array(name, np.int64, (n,))
    stored.in_range(name, 0, stored.whole_number("n_documents", 0) + 1)
    return counts


def _tree(stored: StoredModel, n_trees: int) -> LabelTree:
    n_levels = stored.whole_number("n_levels", 0)
    names = [f"tree.{level}" for level in range(min(n_levels, len(stored.arrays) + 1))]
    try:
        return LabelTree(tuple(stored.starts(name) for name in names), n_trees)
    except ValueError as error:
        raise error if "damaged" in str(error) else stored.damaged(str(error)) from None


def _clusters(stored: StoredModel, n_labels: int, n_clusters: int) -> LabelClusters:
    labels = stored.array("clusters.labels", np.int32, (None,))
    starts = stored.starts("clusters.starts", last=len(labels), length=n_clusters + 1)
    stored.in_range("clusters.labels", 0, n_labels)
    try:
        clusters = LabelClusters(n_labels, starts, labels)
    except ValueError as error:
        raise stored.damaged(str(error)) from None
    if clusters.copies.min() == 0:
        raise stored.damaged(f"label {int(clusters.copies.argmin())} is in no cluster")
    return clusters


def _ordering(
    stored: StoredModel, n_labels: int, n_sparse: int
) -> tuple[LabelOrdering | None, NameWords | None]:
    described = stored.description.get("ordering")
    if described is None:  # left out, or of a format that knew none
        return None, None
    described = described if isinstance(described, dict) else {}
    n_documents = described.get("n_documents")
    has_names = described.get("has_names", False)
    if type(n_documents) is not int or n_documents < 0 or type(has_names) is not bool:
        raise stored.damaged("its description of the ordering is not one")
    part = stored.part("ordering")
    words = NameWords.restore(part.part("names"), n_labels, n_sparse) if has_names else None
    n_facts = len(FACTS) if "has_names" in described else FACTS_OF_FORMAT_4
    return LabelOrdering.restore(part, n_documents, n_facts), words


def _senses(model: PartitionedClassifier, stored: StoredModel) -> SenseLayer | None:
    described = stored.description.get("senses")
    if described is None:  # left out, or of a format that knew none
        return None
    if not isinstance(described, dict):
        raise stored.damaged("its description of senses is not one")
    return SenseLayer.restore(
        stored.part("senses"),
        described,
        n_labels=model.n_labels_,
        n_features=sum(model.seen_layout_),
        n_documents=model.n_documents_,
    )


def _updates(stored: StoredModel) -> list[dict[str, int]]:
    return _whole_numbers(stored, "updates", ("n_documents", "n_labels"))


def _assignments(stored: StoredModel) -> list[dict[str, int]]:
    return _whole_numbers(
        stored, "assignments", ("reached_before", "reached_after", "n_positives")
    )


def _whole_numbers(stored: StoredModel, name: str, keys: tuple[str, ...]) -> list[dict[str, int]]:
    found = stored.value(name, list)
    for entry in found:
        if not isinstance(entry, dict) or any(
            type(entry.get(key)) is not int or entry[key] < 0 for key in keys
        ):
            raise stored.damaged(f"one of its {name} is {str(entry)[:80]}")
    return found
