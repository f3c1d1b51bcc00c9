"""What a saved text model consists of, and how it comes back to life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from polyseme.files.kinds import kind_named
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters
from polyseme.text.calibration import Calibration
from polyseme.text.examples import Examples
from polyseme.text.features import TextFeatures
from polyseme.text.vocabularies.kept import KeptVocabulary

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["KIND", "contents_of", "restore"]

KIND = "text"


def contents_of(model: TextModel) -> Contents:
    """Return the description, the arrays and the names that make up a trained model.

    The classifier is a part of its own; its feature names are the vocabulary.
    """
    if not hasattr(model, "classifier_"):
        raise ValueError("the model is not trained yet; call fit before save.")
    model.check_parameters()
    description = {
        "kind": KIND,
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
    names = {}
    arrays: dict[str, npt.NDArray[Any]] = {
        "features.idf": model.features_.idf_,
        "calibration.scores": model.calibration_.scores,
        "calibration.probabilities": model.calibration_.probabilities,
    }
    if model.examples_ is not None:
        arrays["examples.meanings"] = model.examples_.meanings
        arrays["examples.starts"] = model.examples_.starts
        arrays["examples.documents"] = model.examples_.documents
        names["examples"] = model.examples_.texts
    if model.training_data_ is not None:
        X, Y = model.training_data_
        arrays |= {f"training.features.{name}": array for name, array in X.to_arrays().items()}
        arrays["training.labels.starts"] = Y.starts
        arrays["training.labels.columns"] = Y.columns
    if model.label_uris_ is not None:
        names["uris"] = model.label_uris_
    if model.vocabulary_ is not None:
        arrays |= model.vocabulary_.to_arrays()
        names |= model.vocabulary_.to_names()
    own = Contents(description, arrays, names)
    return own.with_part("classifier", model.classifier_.contents())


def restore(model: TextModel, stored: StoredModel, n_jobs: int | None) -> None:
    """Fill a fresh model with what was saved, after checking all of it."""
    facts, inside = stored.description, stored.model("classifier")
    classifier: Any = kind_named(inside.description.get("kind"), stored).restored(
        inside, n_jobs=n_jobs
    )
    n_features = classifier.n_features_in_
    idf = stored.array("features.idf", np.float32, (n_features,))
    stored.finite("features.idf")
    curve = [
        stored.array(f"calibration.{name}", np.float64, (None,))
        for name in ("scores", "probabilities")
    ]
    calibration = Calibration(str(facts.get("calibration")), *curve)
    uris = stored.names_of("uris", classifier.n_labels_)
    try:
        calibration.check()
        vocabulary = inside.names.get("features")
        features = TextFeatures.restored(facts.get("features"), idf, vocabulary)
        if classifier.label_names_ is None:
            raise ValueError("its labels have no names")
        for name, value in _parameters(facts.get("parameters")).items():
            setattr(model, name, value)
        model.check_parameters()
    except ValueError as error:
        raise stored.damaged(str(error)) from None
    model.examples_ = _examples(stored, classifier.clusters_)
    model.training_data_ = _training_data(stored, classifier)
    model.keep_data = model.training_data_ is not None
    model.threshold_ = _threshold(stored)
    model.report_ = _report(stored)
    model.reading_ = _reading(stored)
    model.phase_seconds_ = stored.seconds("phase_seconds")
    model.n_without_labels_ = stored.whole_number("n_without_labels", 0)
    model.features_, model.classifier_, model.calibration_ = features, classifier, calibration
    model.label_uris_ = uris
    model.vocabulary_ = KeptVocabulary.restored(stored, classifier.n_labels_)
    # Whoever trains it again has the same settings.
    model.features, model.classifier = clone(features), clone(classifier)


def _examples(stored: StoredModel, clusters: LabelClusters) -> Examples | None:
    texts = stored.names.get("examples")
    if texts is None:
        return None
    kept = stored.part("examples")
    documents = kept.array("documents", np.int64, (None,))
    kept.in_range("documents", 0, len(texts))
    starts = kept.starts("starts", last=len(documents))
    if "meanings" not in kept.arrays:  # of a format that knew no senses
        kept.array("starts", np.int64, (clusters.n_slots + 1,))
        return Examples.of_slots(starts, documents, texts, clusters)
    meanings = kept.starts("meanings", last=len(starts) - 1, length=clusters.n_labels + 1)
    if (meanings[1:] == meanings[:-1]).any():
        raise stored.damaged("a label of its examples has no meaning")
    return Examples(meanings, starts, documents, texts)


def _training_data(
    stored: StoredModel, classifier: Any
) -> tuple[SparseRows, SparsePattern] | None:
    if "training.features.starts" not in stored.arrays:
        return None
    n_documents, kept = classifier.n_documents_, stored.part("training")
    X = kept.part("features").rows(n_documents, classifier.n_features_in_)
    return X, kept.part("labels").pattern(n_documents, classifier.n_labels_)


def _report(stored: StoredModel) -> dict[str, Any]:
    """Return the report if it has what everybody reads of it; an empty one is none."""
    report = stored.value("report", dict)
    try:
        if report:
            _look_through(report)
    except (KeyError, TypeError, AttributeError) as error:
        raise stored.damaged(f"its report is not one: {error!r}") from None
    return report


def _look_through(report: dict[str, Any]) -> None:
    _require_numbers(report["n_documents"], report["n_labels"], *report["accuracy"].values())
    for name in ("n_documents", "n_training_documents"):
        if type(report.get(name, 0)) is not int or report.get(name, 0) < 0:
            raise TypeError(f"{name} is {str(report[name])[:80]!r}")
    for row in report["by_label_frequency"]:
        _require_numbers(row["least"], row["n_labels"], row["precision"], row["recall"])
        _require_numbers(row["most"] or 0)
    _require_numbers(report.get("reach", 0))
    if "reliability" in report:
        _require_numbers(report["reliability"]["calibration_error"])
    if "with_broader" in report:
        _require_numbers(*(report["with_broader"][name] for name in ("precision", "recall", "f1")))
    if "threshold" in report:
        cut = dict(report["threshold"])
        _require_numbers(cut.pop("wanted_precision", None) or 0)
        _require_numbers(cut["threshold"], cut["precision"], cut["recall"], *cut.values())
    for name in ("by_threshold", "by_label"):
        _require_columns(report.get(name, {}))


def _require_columns(columns: dict[str, list[Any]]) -> None:
    if len({len(column) for column in columns.values()}) > 1:
        raise TypeError("its columns are not of one length")
    for column in columns.values():
        _require_numbers(*column)


def _require_numbers(*values: Any) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{str(value)[:80]!r} is no number")


def _reading(stored: StoredModel) -> dict[str, Any]:
    """Return how texts were read: names, or lists of names."""
    reading = stored.value("reading", dict)
    for name, value in reading.items():
        names = value if isinstance(value, list) else [value]
        is_list = isinstance(value, list)
        if is_list != (name == "text_columns") or not all(
            isinstance(one, str) or (one is None and not is_list) for one in names
        ):
            raise stored.damaged(f"the {name[:80]!r} of its reading is {str(value)[:80]!r}")
    return reading


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
            raise ValueError(f"{name} is {found[name]!r:.80}")
    return found


def _threshold(stored: StoredModel) -> float:
    value = stored.description.get("threshold")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise stored.damaged(f"threshold is {value!r:.80}")
    return float(value)
