"""The tables of ``docs/datasets.md``: ``python -m polyseme.datasets.catalogue_page FILE``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from polyseme.datasets.catalogue import CatalogueEntry, PublishedFigure, known_datasets

__all__ = ["tables", "with_tables"]

BEGIN, END = "<!-- made from the catalogue -->\n", "<!-- end of what is made -->\n"


def tables() -> str:
    """Return what the catalogue knows as Markdown: statistics, sources and published figures."""
    return "\n".join(_sections())


def with_tables(page: str) -> str:
    """Return a page with the tables of today between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def _sections() -> Iterator[str]:
    known = known_datasets()
    yield "## Statistics and propensity constants\n"
    yield _table(
        "data set|train|test|labels|features|labels per document|documents per label|A|B",
        (_statistics(entry) for entry in known),
    )
    yield "\n## Sources\n"
    yield _table("data set|page|archive|licence|statistics from", map(_sources, known))
    yield "\n## Published figures\n"
    yield "In percent; an empty cell is a figure that the source does not give."
    for entry in known:
        for source in dict.fromkeys(figure.source for figure in entry.figures):
            figures = [figure for figure in entry.figures if figure.source == source]
            yield f"\n**{entry.name}**: {source}\n"
            yield _table("method|P@1|P@3|P@5|PSP@1|PSP@3|PSP@5", map(_percents, figures))


def _statistics(entry: CatalogueEntry) -> list[str]:
    counts = ["unknown" if size is None else f"{size:,}" for size in entry.sizes]
    means = [
        "unknown" if mean is None else f"{mean:g}"
        for mean in (entry.labels_per_document, entry.documents_per_label)
    ]
    return [entry.name, *counts, *means, f"{entry.propensity_a:g}", f"{entry.propensity_b:g}"]


def _sources(entry: CatalogueEntry) -> list[str]:
    archive = "none" if entry.archive is None else f"<{entry.archive.url}>"
    licence, statistics = entry.licence or "not stated", entry.statistics_from or "unknown"
    return [entry.name, f"<{entry.page}>", archive, licence, statistics]


def _percents(figure: PublishedFigure) -> list[str]:
    return [figure.method, *("" if p is None else f"{p:.2f}" for p in figure.percents)]


def _table(columns: str, rows: Iterable[list[str]]) -> str:
    names = columns.split("|")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
