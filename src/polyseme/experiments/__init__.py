"""The experiments behind ``polyseme reproduce``: what each runs, measures, keeps and reports.

An `Experiment` is a list of `Method` objects; a *cell* is one method with one seed. The runner
walks all seeds and methods, keeps each finished cell in ``OUT/<experiment>.json`` and then makes
tables and a figure of them.

How to add one
--------------
A module of this package lists its experiments in ``EXPERIMENTS``, and `MODULES` below lists the
module. Methods that are settings of `polyseme.XRLinear` need nothing but the settings::

    def _methods(problem: Problem) -> list[Method]:
        return [
            Method("plain", {"copies": 1, "rounds": 0}),
            Method("copies 2", {"copies": 2}),
        ]

    EXPERIMENTS = (
        Experiment(
            name="my-question",
            summary="One line for --list.",
            methods=_methods,
            columns={"Accuracy": ACCURACY},     # tables: figures as mean and deviation
            baseline="plain",                   # the others are compared with it, seed by seed
        ),
    )

Code of its own, cell by cell
-----------------------------
A method's ``run(problem, method, seed)`` returns the figures of a cell: a dict that JSON can hold,
numbers by name; what is no number is listed in `cells.NO_NUMBERS`. The default,
`polyseme.experiments.measuring.fit_and_measure`, trains on the problem and measures everything.
One that changes the data makes another problem and does the rest with the same functions::

    @run_named("fused labels")
    def run_fused(problem: Problem, method: Method, seed: int) -> Figures:
        fused = fuse_labels(problem.Y_train, k=method.options["k"], seed=seed)
        changed = problem.with_labels(fused.of(problem.Y_train), fused.of(problem.Y_test))
        model = changed.fit(method.parameters, seed)
        return {**measure(model, changed), "purity": purity(model, changed, fused)}

    Method("easy, 2, ours", {"copies": 2}, options={"mode": "easy", "k": 2}, run=run_fused)

``parameters`` are those of the estimator (the memory guard reads them too), ``options`` whatever
``run`` wants to know besides; both are JSON and part of the cell's identity, and so is the name
that ``run_named`` gives ``run``: change one and the cell is run again.

* `Problem` (`problem.py`): ``X_train, Y_train, X_test, Y_test`` (SciPy), ``dataset`` (with names
  and texts), ``n_threads``, ``fit(parameters, seed)``, ``with_labels(Y_train, Y_test)``.
* `measuring.py`: ``measure(model, problem)``, and its parts ``accuracy(top_labels, problem)``,
  ``reach(model, problem)``, ``sizes(model)``, ``prediction_times(predict, X)``.
* The tree depends on the data, seed, branching and leaf size alone, so methods of one seed that
  agree in these have the same tree; this is what makes comparisons paired.
* ``Experiment.sections(results)`` returns what comes after the usual tables: tables of its own
  (`tables.Table`) and paragraphs of text. An experiment without ``columns`` has no usual tables.
* ``Experiment.draw(results)`` returns a matplotlib ``Figure`` (import it inside).
* `Results` (`cells.py`): ``values(method, figure)`` by seed, ``figures(method)``, ``methods``.
* ``Experiment.is_timed``: run every cell here and now, side by side; otherwise an equal cell that
  another experiment in the same folder has finished is taken over.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from polyseme.experiments.cells import Results
    from polyseme.experiments.definition import Experiment

__all__ = ["MODULES", "all_experiments", "reproduce"]

MODULES = (
    "published",
    "fused_labels",
    "example",
    "true_senses",
    "choices",
    "equal_cost",
    "tuning",
    "ordering",
    "names_in_texts",
    "edges",
    "trees",
    "expanded",
)


def all_experiments() -> dict[str, Experiment]:
    """Return the experiments by name."""
    modules = [import_module(f"polyseme.experiments.{name}") for name in MODULES]
    return {experiment.name: experiment for module in modules for experiment in module.EXPERIMENTS}


def reproduce(
    name: str,
    data: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    n_seeds: int = 3,
    n_threads: int | None = None,
) -> Results:
    """Run an experiment on a data set; leave results and tables in a folder.

    What is finished is kept, so that the same call goes on where an earlier one was stopped.

    Parameters
    ----------
    name : str
        One of `all_experiments`.
    data : str or path
        A data set with a test part: a folder, or the name of one that was fetched.
    folder : str or path
        Made if it is not there.
    n_seeds : int
        How often each method is trained.
    n_threads : int, optional
        All cores by default.
    """
    from pathlib import Path

    from polyseme import datasets
    from polyseme.experiments.memory_guard import MemoryGuard
    from polyseme.experiments.problem import Problem
    from polyseme.experiments.report import write_report
    from polyseme.experiments.runner import run_experiment

    known, place = all_experiments(), Path(folder)
    if name not in known:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(known)}.")
    dataset = datasets.load(data, n_threads=n_threads)
    called = datasets.resolve_dataset(data).resolve().name
    problem = Problem.of(called, dataset, n_threads=n_threads)
    place.mkdir(parents=True, exist_ok=True)
    guard = MemoryGuard(problem)
    results = run_experiment(known[name], problem, place, range(n_seeds), guard=guard)
    write_report(known[name], results, place)
    return results
