"""``polyseme datasets``: data sets by name: what is known of them, and fetching them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from polyseme.cli.errors import note
from polyseme.cli.shared import common_options, console, plain_table, print_json
from polyseme.datasets.arranging import sizes_in_words, sizes_of
from polyseme.datasets.cache import fetched_folder
from polyseme.datasets.catalogue import (
    CatalogueEntry,
    find,
    known_datasets,
    recognise,
)
from polyseme.datasets.download import OnProgress
from polyseme.datasets.fetch import fetch

__all__ = ["datasets"]


@click.group(epilog="Example: polyseme datasets fetch Wiki10-31K")
def datasets() -> None:
    """List public data sets, say what is known of one, or fetch it.

    A data set that was fetched can be given by its name wherever a verb takes DATA.
    """


@datasets.command("list", epilog="Example: polyseme datasets list")
@common_options(threads=False)
def list_all(n_threads: int | None, seed: int, as_json: bool) -> None:
    """List all data sets that are known by name."""
    if as_json:
        print_json([_as_json(entry) for entry in known_datasets()])
        return
    rows = [
        (
            entry.name,
            _count(entry.n_train),
            _count(entry.n_test),
            _count(entry.n_labels),
            _count(entry.n_features),
            "yes" if fetched_folder(entry).is_dir() else "",
        )
        for entry in known_datasets()
    ]
    columns = ("Data set", "Train", "Test", "Labels", "Features", "Fetched")
    console().print(plain_table(columns, rows, numbers=range(1, 5)))


@datasets.command(epilog="Example: polyseme datasets info Wiki10-31K")
@click.argument("name_or_folder", metavar="NAME")
@common_options(threads=False)
def info(name_or_folder: str, n_threads: int | None, seed: int, as_json: bool) -> None:
    """Show what is known of a data set, and what is published for it.

    NAME may also be a data folder, which is then recognised by its statistics.
    """
    entry = _find_or_recognise(name_or_folder)
    if as_json:
        print_json(_as_json(entry))
        return
    folder = fetched_folder(entry)
    rows = [
        ("about", entry.about),
        ("training documents", _count(entry.n_train)),
        ("test documents", _count(entry.n_test)),
        ("labels", _count(entry.n_labels)),
        ("features", _count(entry.n_features)),
        ("labels per document", _or_unknown(entry.labels_per_document)),
        ("documents per label", _or_unknown(entry.documents_per_label)),
        ("statistics from", _or_unknown(entry.statistics_from)),
        ("propensity constants", f"A = {entry.propensity_a:g}, B = {entry.propensity_b:g}"),
        ("licence", entry.licence or "not stated"),
        ("fetched", "yes" if folder.is_dir() else "no"),
    ]
    if entry.archive is not None:
        rows.insert(-1, ("size of the archive", _count(entry.archive.n_bytes)))
        rows.insert(-1, ("its SHA-256", _or_unknown(entry.archive.sha256)))
    out = console()
    out.print(plain_table(("Data set", entry.name), rows))
    # Outside the table, which would cut them.
    addresses = {"Page": entry.page, "Archive": entry.archive and entry.archive.url}
    if folder.is_dir():
        addresses["Folder"] = str(folder)
    for what, where in addresses.items():
        out.print(f"{what}: {where or 'none'}", markup=False, soft_wrap=True)
    sources = list(dict.fromkeys(figure.source for figure in entry.figures))
    for source in sources:
        figures = [figure for figure in entry.figures if figure.source == source]
        columns = ["Method", "P@1", "P@3", "P@5"]
        if any(figure.psp_at_1 is not None for figure in figures):
            columns += ["PSP@1", "PSP@3", "PSP@5"]
        n_percents = len(columns) - 1
        cells = [
            [figure.method, *map(_percent, figure.percents[:n_percents])] for figure in figures
        ]
        out.print()
        out.print(f"{source}, in percent:", markup=False, soft_wrap=True)
        out.print(plain_table(columns, cells, numbers=range(1, len(columns))))


@datasets.command("fetch", epilog="Example: polyseme datasets fetch Wiki10-31K")
@click.argument("name")
@click.option(
    "--archive",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Use this archive, downloaded by hand, instead of downloading one.",
)
@click.option("--again", is_flag=True, help="Replace what was fetched before.")
@common_options(threads=False)
def fetch_one(
    name: str, archive: Path | None, again: bool, n_threads: int | None, seed: int, as_json: bool
) -> None:
    """Download a data set into the cache, and unpack and check it.

    Ctrl-C keeps what has arrived; the same command goes on from there. The cache is the
    folder that the variable POLYSEME_CACHE names, or else the user's cache folder.
    """
    entry = find(name)
    try:
        with _progress_bar() as on_progress:
            folder = fetch(entry.name, archive=archive, again=again, on_progress=on_progress)
    except KeyboardInterrupt:
        note("stopped; what has arrived is kept, and the same command goes on from there.")
        raise
    if as_json:
        print_json({"name": entry.name, "folder": str(folder)})
        return
    console().print(str(folder), markup=False, soft_wrap=True)
    note(f'now take its name for DATA, as in "polyseme train {entry.name} -o MODEL".')


def _find_or_recognise(name_or_folder: str) -> CatalogueEntry:
    folder = Path(name_or_folder)
    if not name_or_folder or not folder.is_dir():  # an empty path would be this folder
        return find(name_or_folder)
    try:
        sizes = sizes_of(folder)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    entry = recognise(*sizes)
    if entry is None:
        raise ValueError(f"{folder} is no data set known by name: it has {sizes_in_words(sizes)}.")
    return entry


def _as_json(entry: CatalogueEntry) -> dict[str, Any]:
    folder = fetched_folder(entry)
    return {
        **dataclasses.asdict(entry),
        "archive": None if entry.archive is None else entry.archive._asdict(),
        "figures": [figure._asdict() for figure in entry.figures],
        "folder": str(folder) if folder.is_dir() else None,
    }


@contextmanager
def _progress_bar() -> Iterator[OnProgress]:
    """Show bytes on stderr while they come, if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def on_progress(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total, completed=done)
            bars.update(tasks[what], completed=done, total=total)

        yield on_progress


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _or_unknown(value: object) -> str:
    return "unknown" if value is None else str(value)


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"
