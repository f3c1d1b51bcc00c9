"""From results to tables: figures by method, comparisons with a baseline, the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment
from polyseme.experiments.statistics import Comparison, compare_hits, compare_seeds
from polyseme.experiments.tables import (
    Column,
    Table,
    comparison_text,
    mean_text,
    to_markdown,
)
from polyseme.files.whole_files import written_beside

__all__ = ["compare", "comparison_table", "figure_table", "sections_of", "write_report"]

INTERVALS = (
    "Mean difference in percentage points, with its 95% interval over test documents and seeds "
    "(same tree, same documents); * where that is on one side of zero."
)
INTERVALS_OF_ONE_SEED = (
    "Difference in percentage points, with its 95% interval over test documents (same tree, same "
    "documents; how much another seed would change is not known); * where that is on one side of "
    "zero."
)


def figure_table(title: str, columns: Sequence[Column], results: Results) -> Table:
    """Return mean and standard deviation over seeds; columns that nobody has are left out."""
    shown = [
        column
        for column in columns
        if any(len(results.values(method, column.figure)) for method in results.methods)
    ]
    rows = [
        [method, *(_mean_in(results, method, column) for column in shown)]
        for method in results.methods
    ]
    return Table(title, ("", *(column.title for column in shown)), rows)


def _mean_in(results: Results, method: str, column: Column) -> str:
    values = results.values(method, column.figure)
    return mean_text(values.tolist(), column.digits, column.unit)


def compare(results: Results, ours: str, theirs: str, k: int) -> Comparison:
    """Compare P@k of two methods, by documents where their hits were kept, else by seeds."""
    hits = results.paired("hits", ours, theirs)
    if hits[0]:
        return compare_hits(*hits, k)
    return compare_seeds(*results.paired(f"P@{k}", ours, theirs))


def comparison_table(results: Results, baseline: str, ks: Sequence[int] = (1, 3, 5)) -> Table:
    """Hold all methods against one of them."""
    others = [method for method in results.methods if method != baseline]
    rows = [
        [method, *(comparison_text(compare(results, method, baseline, k)) for k in ks)]
        for method in others
    ]
    note = INTERVALS if len(results.seeds) > 1 else INTERVALS_OF_ONE_SEED
    return Table(f"Against {baseline}", ("", *(f"P@{k}" for k in ks)), rows, note)


def usual_sections(experiment: Experiment, results: Results) -> list[Table | str]:
    """Return a table for each group of columns, and the comparison with the baseline."""
    found: list[Table | str] = [
        figure_table(title, columns, results) for title, columns in experiment.columns.items()
    ]
    if experiment.baseline in results.methods and len(results.methods) > 1:
        found.insert(1, comparison_table(results, experiment.baseline))
    return found


def sections_of(experiment: Experiment, results: Results) -> list[Table | str]:
    """Return all that there is to say about the results of an experiment."""
    data = results.data
    seeds = ", ".join(map(str, results.seeds)) or "none"
    versions = ", ".join(sorted({cell.polyseme for cell in results.cells}))
    threads = " or ".join(map(str, sorted({cell.n_threads for cell in results.cells})))
    spread = (
        "Figures are means over seeds ± their standard deviation."
        if len(results.seeds) > 1
        else "Figures are of this one seed."
    )
    found: list[Table | str] = [
        f"{data['name']}: {data['n_train']:,} training and {data['n_test']:,} test documents, "
        f"{data['n_labels']:,} labels, {data['n_features']:,} features. Seeds: {seeds}; polyseme "
        f"{versions}, {threads} threads. {spread}"
    ]
    found += usual_sections(experiment, results)
    if experiment.sections is not None:
        found += experiment.sections(results)
    if experiment.notes:
        found.append(experiment.notes)
    found += experiment.paper
    skipped = [cell for cell in results.cells if cell.skipped is not None]
    found += [f"Skipped: {cell.method}, seed {cell.seed}: {cell.skipped}." for cell in skipped]
    return found


def write_report(experiment: Experiment, results: Results, folder: Path) -> Path:
    """Write the report as Markdown beside the results."""
    file = folder / f"{experiment.name}.md"
    sections = [f"# {experiment.name}\n", f"{experiment.summary}\n"]
    sections += map(to_markdown, sections_of(experiment, results))
    picture = folder / f"{experiment.name}.svg"
    if experiment.draw is not None and picture.exists():
        sections.append(f"![{experiment.name}]({picture.name})\n")
    with written_beside(file) as stream:
        stream.write("\n".join(sections).encode())
    return file
