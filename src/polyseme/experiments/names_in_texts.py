"""What it gains that the order of labels goes by how much of a label's name stands in the text."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.tables import ACCURACY, PROPENSITY
from polyseme.text.features import TextFeatures

__all__ = ["EXPERIMENTS"]


@run_named("order with or without names")
def run_with_names(problem: Problem, method: Method, seed: int) -> Figures:
    """Train with or without the names of features and labels."""
    named, names = _with_feature_names(problem)
    told = names if method.options["names"] else {}
    model = named.estimator(method.parameters, seed).fit(named.X_train, named.Y_train, **told)
    return measure(model, named)


@lru_cache(maxsize=1)
def _with_feature_names(problem: Problem) -> tuple[Problem, dict[str, Any]]:
    """Return the problem with features that have names, and the names for `fit`.

    Where features have none, they are made anew of the texts, as a text model does.
    """
    data = problem.dataset
    names = {"label_names": data.label_names, "feature_names": data.feature_names}
    if not _has_texts(problem) or data.feature_names is not None:
        return problem, names
    features = TextFeatures().fit(data.train_texts or [])
    X_train, X_test = (
        features.transform(texts or []) for texts in (data.train_texts, data.test_texts)
    )
    return (
        replace(problem, X_train=X_train, X_test=X_test),
        {**names, "feature_names": features.vocabulary_},
    )


def _has_texts(problem: Problem) -> bool:
    return bool(problem.dataset.train_texts and problem.dataset.test_texts)


def _methods(problem: Problem) -> list[Method]:
    data = problem.dataset
    as_by_default = {"copies": 3, "C": None, "ordering": "learned"}
    methods = [Method("without names", as_by_default, {"names": False}, run_with_names)]
    if data.label_names and (data.feature_names or _has_texts(problem)):
        methods.append(Method("with names", as_by_default, {"names": True}, run_with_names))
    return methods


EXPERIMENTS = (
    Experiment(
        name="names-in-texts",
        summary="The order of labels, with and without what names in the text tell.",
        methods=_methods,
        columns={"Accuracy": ACCURACY, "Rare labels": PROPENSITY},
        baseline="without names",
        notes=(
            "Defaults of XRLinear. Names need labels.txt, and features.txt or texts (X.trn.txt, "
            "X.tst.txt) beside the matrices. Of texts, features are made anew, as a text model "
            "makes them: without features.txt figures cannot be compared with those of others."
        ),
    ),
)
