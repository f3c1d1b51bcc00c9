"""Runs the cells of an experiment that are not finished yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.memory_guard import MemoryGuard
from polyseme.experiments.problem import Problem
from polyseme.machine.progress import Progress
from polyseme.machine.threads import count_threads

__all__ = ["results_file", "run_experiment"]


def results_file(folder: Path, experiment: str) -> Path:
    """Return where the results of an experiment are kept."""
    return folder / f"{experiment}.json"


def run_experiment(
    experiment: Experiment,
    problem: Problem,
    folder: Path,
    seeds: Sequence[int],
    *,
    guard: MemoryGuard | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Results:
    """Run what is not finished, keeping every cell as it comes.

    Returns the cells of these seeds, and of all others that are finished for every method.

    Seed by seed and not method by method: methods that are compared run soon after each other,
    and whoever stops early has whole seeds.

    Parameters
    ----------
    folder : Path
        Where the results are kept; it exists.
    seeds : sequence of int
    guard : MemoryGuard, optional
    progress : Progress, optional
    tell : callable
        Is given a line for each cell.
    """
    guard = guard or MemoryGuard(problem)
    progress = progress or Progress(enabled=False)
    file = results_file(folder, experiment.name)
    methods = _checked(experiment.methods(problem))
    results = _kept(file, experiment, problem, methods)
    wanted = [
        (method, seed)
        for seed in seeds
        for method in methods
        if seed not in results.figures(method.name)
    ]
    finished = [] if experiment.is_timed else [*results.cells, *_elsewhere(file, problem)]
    with progress.phase(experiment.name, len(wanted)) as step:
        for n_done, (method, seed) in enumerate(wanted):
            where = f"{method.name}, seed {seed}"
            settings = method.settings
            cell = next((cell for cell in finished if cell.answers(settings, seed)), None)
            if cell is None:
                with progress.phase(where):
                    cell = _run_cell(problem, method, seed, guard)
                taken = f"{cell.seconds:.1f} s" if cell.skipped is None else cell.skipped
                tell(f"{experiment.name}: {where}: {taken}")
                if not experiment.is_timed:
                    finished.append(cell)
            results = results.with_cell(replace(cell, method=method.name))
            results.save(file)
            step(n_done + 1)
    names = [method.name for method in methods]
    by_method = [results.figures(name) for name in names]
    whole = [seed for seed in results.seeds if all(seed in figures for figures in by_method)]
    return results.only(names, sorted({*seeds, *whole}))


def _checked(methods: Sequence[Method]) -> Sequence[Method]:
    names = [method.name for method in methods]
    assert len(set(names)) == len(names), "two methods of one name"
    return methods


def _kept(
    file: Path, experiment: Experiment, problem: Problem, methods: Sequence[Method]
) -> Results:
    """Return the finished cells of the methods as they are now."""
    fresh = Results(experiment.name, problem.description)
    if not file.exists():
        return fresh
    found = Results.load(file)
    if found.data != problem.description or found.experiment != experiment.name:
        raise ValueError(
            f"{file} holds results of other data ({found.data.get('name')}) or of other "
            "propensity constants; choose another folder with -o, or move it away."
        )
    settings = {method.name: method.settings for method in methods}
    cells = [
        cell
        for cell in found.cells
        if cell.method in settings and cell.answers(settings[cell.method], cell.seed)
    ]
    return replace(fresh, cells=tuple(cells))


def _elsewhere(file: Path, problem: Problem) -> list[Cell]:
    """Return what other experiments have finished on the same data."""
    cells: list[Cell] = []
    for other in sorted(file.parent.glob("*.json")):
        with suppress(ValueError, OSError):  # whoever needs that file will say what is wrong
            results = Results.load(other) if other != file else None
            if results is not None and results.data == problem.description:
                cells += results.cells
    return cells


def _run_cell(problem: Problem, method: Method, seed: int, guard: MemoryGuard) -> Cell:
    n_threads = count_threads(problem.n_threads)
    cell = Cell(method.name, seed, method.settings, n_threads=n_threads)
    objection = guard.objection(method.parameters)
    if objection is not None:
        return replace(cell, skipped=objection)
    began = time.perf_counter()
    try:
        figures = method.run(problem, method, seed)
    except MemoryError:
        return replace(cell, skipped="ran out of memory")
    return replace(cell, figures=figures, seconds=time.perf_counter() - began)
