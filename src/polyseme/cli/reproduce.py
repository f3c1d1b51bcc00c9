"""``polyseme reproduce``: the paper's experiments, and some beyond, on any data set."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from polyseme import datasets
from polyseme.cli.errors import INTERRUPTED, note
from polyseme.cli.shared import common_options, console, plain_table, print_json
from polyseme.experiments import all_experiments
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment
from polyseme.experiments.figures import save_figure
from polyseme.experiments.memory_guard import MemoryGuard
from polyseme.experiments.problem import Problem
from polyseme.experiments.report import sections_of, write_report
from polyseme.experiments.runner import run_experiment
from polyseme.experiments.tables import Table
from polyseme.machine.progress import Progress
from polyseme.text.corpora import is_corpus

__all__ = ["reproduce"]

ALL = "all"
WIDE = 200  # columns of what is piped on: lines are not to be broken


@click.command(epilog="Example: polyseme reproduce linear --data data/eurlex --seeds 3")
@click.argument("name", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the experiments and stop.")
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="A data set with a test part: a folder or a name, as for train.",
)
@click.option(
    "--seeds",
    "n_seeds",
    type=click.IntRange(min=1),
    default=3,
    metavar="N",
    help="How often each method is trained; 3 by default.",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Folder for the results; experiments/results/<data> by default.",
)
@click.option(
    "-a",
    "--propensity-a",
    "a",
    type=float,
    help="Constant A of PSP; that of a data set that is known, or 0.55.",
)
@click.option(
    "-b",
    "--propensity-b",
    "b",
    type=float,
    help="Constant B of PSP; that of a data set that is known, or 1.5.",
)
@common_options(seed=True)
def reproduce(
    name: str | None,
    as_list: bool,
    data: Path | None,
    n_seeds: int,
    output: Path | None,
    a: float | None,
    b: float | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Run an experiment of the paper, or one beyond it, on a data set.

    NAME is one of those that --list shows, or "all". The command writes raw results
    (NAME.json), tables (NAME.md) and, where there is one, a figure (NAME.svg, NAME.png;
    needs matplotlib) to OUT. What is finished is kept: if you stop the command, the same
    one goes on from there, and tables have all seeds that are finished.
    """
    known = all_experiments()
    if as_list:
        _print_list(known, as_json)
        return
    if name is None or data is None:
        missing = "argument 'NAME'; see --list" if name is None else "option '--data'"
        raise click.UsageError(f"Missing {missing}.")
    chosen = _chosen(name, known)
    if seed < 0:
        raise ValueError(f"--seed is {seed}; it must be 0 or more.")
    if is_corpus(data):
        raise ValueError(f"{data} holds texts; experiments take matrices, such as X.trn.npz.")
    with Progress() as progress, progress.phase("Reading the data"):
        dataset = datasets.load(data, n_threads=n_threads)
    problem = Problem.of(
        datasets.resolve_dataset(data).resolve().name,
        dataset,
        n_threads=n_threads,
        propensity_a=a,
        propensity_b=b,
    )
    _ = problem.propensities  # refuses constants that cannot be
    folder = output or Path("experiments") / "results" / problem.name
    _make_folder(folder)
    _run(chosen, problem, folder, range(seed, seed + n_seeds), as_json)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"results cannot be kept in {folder} ({error.strerror}); give a folder with -o."
        ) from error


def _chosen(name: str, known: dict[str, Experiment]) -> list[Experiment]:
    name = name.lower()
    if name == ALL:
        # Timed ones run all of their cells; if they go first, others can take these over.
        return sorted(known.values(), key=lambda experiment: not experiment.is_timed)
    if name not in known:
        near = difflib.get_close_matches(name, [*known, ALL], n=1, cutoff=0.7)
        hint = f'did you mean "{near[0]}"?' if near else '"polyseme reproduce --list" shows them.'
        raise ValueError(f'there is no experiment "{name}"; {hint}')
    return [known[name]]


def _run(
    chosen: list[Experiment], problem: Problem, folder: Path, seeds: range, as_json: bool
) -> None:
    guard, finished, any_drawn = MemoryGuard(problem), {}, False
    # With bars on the terminal, lines would be noise.
    tell = (lambda sentence: None) if sys.stderr.isatty() else note
    try:
        for experiment in chosen:
            with Progress() as progress:
                results = run_experiment(
                    experiment, problem, folder, seeds, guard=guard, progress=progress, tell=tell
                )
            any_drawn |= _draw(experiment, results, folder)
            write_report(experiment, results, folder)
            finished[experiment.name] = results
            if not as_json:
                _print(experiment, results)
    except KeyboardInterrupt:
        note(
            f"interrupted. What was finished is kept in {folder}; give the same command again to "
            "go on."
        )
        raise click.exceptions.Exit(INTERRUPTED) from None
    if as_json:
        print_json({name: _as_json(results) for name, results in finished.items()})
    left = "results, tables and figures" if any_drawn else "results and tables"
    note(f"{left} are in {folder}.")


def _draw(experiment: Experiment, results: Results, folder: Path) -> bool:
    """Write the figure of an experiment; whether there is one."""
    try:
        return bool(save_figure(experiment, results, folder))
    except ImportError as error:
        note(str(error))
        return False


def _print(experiment: Experiment, results: Results) -> None:
    out = console() if sys.stdout.isatty() else Console(highlight=False, width=WIDE)
    out.print()
    out.print(f"{experiment.name}: {experiment.summary}", style="bold", markup=False)
    for section in sections_of(experiment, results):
        out.print()
        if isinstance(section, Table):
            numbers = range(1, len(section.columns))
            out.print(
                plain_table(section.columns, section.rows, title=section.title, numbers=numbers)
            )
            section = section.note
        out.print(section, markup=False)


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "data": results.data,
        "methods": {method: results.figures(method) for method in results.methods},
        "skipped": {
            f"{cell.method}, seed {cell.seed}": cell.skipped
            for cell in results.cells
            if cell.skipped is not None
        },
    }


def _print_list(known: dict[str, Experiment], as_json: bool) -> None:
    lines = {name: experiment.summary for name, experiment in known.items()}
    if as_json:
        print_json(lines)
        return
    console().print(plain_table(("Experiment", "What it does"), list(lines.items())))
