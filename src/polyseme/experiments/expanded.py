"""Several places per label around a model that has one: what it gains if it knows no clusters."""

from __future__ import annotations

from polyseme.adapters import ExpandedLabels
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import KS, Figures, accuracy
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.tables import ACCURACY

__all__ = ["EXPERIMENTS"]

PLAIN = {"copies": 1, "rounds": 0}


@run_named("expanded labels")
def run_expanded(problem: Problem, method: Method, seed: int) -> Figures:
    """Train a plain model with a column per slot, and merge its answers."""
    model = ExpandedLabels(
        problem.estimator(method.parameters, seed),
        copies=method.options["copies"],
        positives=method.options["positives"],
        random_state=seed,
        n_jobs=problem.n_threads,
    ).fit(problem.X_train, problem.Y_train)
    top_labels, _ = model.predict_top_k(problem.X_test, max(KS))
    return accuracy(top_labels, problem)


def _methods(problem: Problem) -> list[Method]:
    return [
        Method("plain", PLAIN),
        *(
            Method(
                f"{positives} documents",
                PLAIN,
                options={"copies": 2, "positives": positives},
                run=run_expanded,
            )
            for positives in ("own", "all")
        ),
    ]


EXPERIMENTS = (
    Experiment(
        name="expanded-labels",
        summary="Several places per label around a model that knows no clusters.",
        methods=_methods,
        columns={"Accuracy": ACCURACY},
        baseline="plain",
        is_timed=True,  # the plain model is of today, as the others are
    ),
)
