"""What a saved text model consists of, and how it is brought back to life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from polyseme.estimators.xr_linear import XRLinear
from polyseme.files import classifier_files
from polyseme.files.stored_model import (
    StoredModel,
    require_array,
    require_finite,
    require_range,
    require_starts,
)
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.text.calibration import Calibration
from polyseme.text.examples import Examples
from polyseme.text.features import TextFeatures

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["KIND", "contents_of", "restore"]

KIND = "TextModel"


def contents_of(
    model: TextModel,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, Names]]:
    """Return the description, the arrays and the names that make up a trained model.

    They are those of the classifier and a few more; its feature names are the vocabulary.
    """
    if not hasattr(model, "classifier_"):
        raise ValueError("the model is not trained yet; call fit before save.")
    classifier, arrays, names = classifier_files.contents_of(model.classifier_)
    description = {
        "kind": KIND,
        "classifier": classifier,
        "features": model.features_.describe(),
        "calibration": model.calibration_.method,
        "threshold": model.threshold_,
        "parameters": {
            "held_out": model.held_out,
            "refit": model.refit,
            "precision": model.precision,
            "examples": model.examples,
        },
        "report": model.report_,
        "reading": model.reading_,
        "n_without_labels": model.n_without_labels_,
        "phase_seconds": model.phase_seconds_,
    }
    arrays["features.idf"] = model.features_.idf_
    arrays["calibration.scores"] = model.calibration_.scores
    arrays["calibration.probabilities"] = model.calibration_.probabilities
    if model.slot_examples_ is not None:
        arrays["examples.starts"] = model.slot_examples_.starts
        arrays["examples.documents"] = model.slot_examples_.documents
        names["examples"] = model.slot_examples_.texts
    if model.training_data_ is not None:
        X, Y = model.training_data_
        arrays["training.features.starts"] = X.starts
        arrays["training.features.columns"] = X.columns
        arrays["training.features.values"] = X.values
        arrays["training.labels.starts"] = Y.starts
        arrays["training.labels.columns"] = Y.columns
    if model.label_uris_ is not None:
        names["uris"] = model.label_uris_
    return description, arrays, names


def restore(model: TextModel, stored: StoredModel, n_jobs: int | None) -> None:
    """Fill a fresh model with what was saved, after checking all of it."""
    facts = stored.description
    classifier_facts = facts.get("classifier")
    if not isinstance(classifier_facts, dict):
        raise _damaged(stored, "it has no classifier")
    classifier = XRLinear(n_jobs=n_jobs)
    classifier_files.restore(
        classifier, StoredModel(stored.path, classifier_facts, stored.arrays, stored.names)
    )
    n_features = classifier.n_features_in_
    idf = require_array(stored, "features.idf", np.float32, (n_features,))
    require_finite(stored, "features.idf")
    curve = [
        require_array(stored, f"calibration.{name}", np.float64, (None,))
        for name in ("scores", "probabilities")
    ]
    calibration = Calibration(str(facts.get("calibration")), *curve)
    uris = stored.names.get("uris")
    try:
        calibration.check()
        features = TextFeatures.restored(facts.get("features"), idf, stored.names.get("features"))
        if classifier.label_names_ is None:
            raise ValueError("its labels have no names")
        if uris is not None and len(uris) != classifier.n_labels_:
            raise ValueError(f"it has {len(uris)} URIs for {classifier.n_labels_} labels")
        for name, value in _parameters(facts.get("parameters")).items():
            setattr(model, name, value)
        model.check_parameters()
    except ValueError as error:
        raise _damaged(stored, str(error)) from None
    model.slot_examples_ = _examples(stored, classifier.clusters_.n_slots)
    model.training_data_ = _training_data(stored, classifier)
    model.keep_data = model.training_data_ is not None
    model.threshold_ = _threshold(stored)
    for name in ("report", "reading", "phase_seconds"):
        setattr(model, f"{name}_", _of_type(stored, name, dict))
    model.n_without_labels_ = _of_type(stored, "n_without_labels", int)
    model.features_, model.classifier_, model.calibration_ = features, classifier, calibration
    model.label_uris_ = uris
    # Whoever trains it again has the same settings.
    model.features, model.classifier = clone(features), clone(classifier)


def _damaged(stored: StoredModel, what: str) -> ValueError:
    return ValueError(f"the model {stored.path} is damaged: {what}")


def _examples(stored: StoredModel, n_slots: int) -> Examples | None:
    texts = stored.names.get("examples")
    if texts is None:
        return None
    starts, documents = (
        require_array(stored, f"examples.{name}", np.int64, (None,))
        for name in ("starts", "documents")
    )
    examples = Examples(starts, documents, texts)
    try:
        examples.check(n_slots)
    except ValueError as error:
        raise _damaged(stored, str(error)) from None
    return examples


def _training_data(
    stored: StoredModel, classifier: XRLinear
) -> tuple[SparseRows, SparsePattern] | None:
    if "training.features.starts" not in stored.arrays:
        return None
    n_rows, n_features = classifier.n_documents_ + 1, classifier.n_features_in_
    patterns = []
    for name, n_columns in (("features", n_features), ("labels", classifier.n_labels_)):
        columns = require_array(stored, f"training.{name}.columns", np.int32, (None,))
        require_range(stored, f"training.{name}.columns", 0, n_columns)
        starts = require_starts(
            stored, f"training.{name}.starts", last=len(columns), length=n_rows
        )
        patterns.append(SparsePattern(starts, columns, n_columns))
    X, Y = patterns
    values = require_array(stored, "training.features.values", np.float32, (X.n_stored,))
    require_finite(stored, "training.features.values")
    return SparseRows(X.starts, X.columns, values, n_features), Y


def _parameters(found: Any) -> dict[str, Any]:
    wanted = {
        "held_out": (int, float),
        "refit": (bool,),
        "precision": (int, float, type(None)),
        "examples": (int,),
    }
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise ValueError("its parameters are not those of a TextModel")
    for name, kinds in wanted.items():
        if type(found[name]) not in kinds:
            raise ValueError(f"{name} is {found[name]!r}")
    return found


def _threshold(stored: StoredModel) -> float:
    value = stored.description.get("threshold")
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _damaged(stored, f"threshold is {value!r}")
    return float(value)


def _of_type(stored: StoredModel, name: str, kind: type) -> Any:
    value = stored.description.get(name, kind())
    if type(value) is not kind:
        raise _damaged(stored, f"{name} is {value!r}")
    return value
