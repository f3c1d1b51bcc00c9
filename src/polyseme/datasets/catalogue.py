"""Data sets by name: their statistics, constants, sources and published figures."""

from __future__ import annotations

import difflib
import math
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Archive", "CatalogueEntry", "PublishedFigure", "find", "known_datasets", "recognise"]


class Archive(NamedTuple):
    """A file to download; its length and hash where its source states them."""

    url: str
    n_bytes: int | None = None
    sha256: str | None = None


class PublishedFigure(NamedTuple):
    """What a source reports for a method, in percent; ``None`` where it reports nothing."""

    method: str
    source: str
    p_at_1: float | None
    p_at_3: float | None
    p_at_5: float | None
    psp_at_1: float | None = None
    psp_at_3: float | None = None
    psp_at_5: float | None = None

    @property
    def percents(self) -> tuple[float | None, ...]:
        """P@1, P@3, P@5, then PSP@1, PSP@3, PSP@5."""
        precisions = (self.p_at_1, self.p_at_3, self.p_at_5)
        return (*precisions, self.psp_at_1, self.psp_at_3, self.psp_at_5)


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of a data set; ``None`` is unknown.

    Attributes
    ----------
    name, about : str
        What it is called, and what its documents and labels are.
    n_train, n_test, n_labels, n_features : int or None
        Training documents, test documents, labels, features.
    labels_per_document, documents_per_label : float or None
        Means, as published.
    statistics_from : str or None
        Who says so.
    propensity_a, propensity_b : float
        The constants of propensity-scored figures.
    page : str
        Where the data set is described and offered.
    archive : Archive or None
        What ``fetch`` downloads; ``None`` if there is nothing that it could.
    licence : str or None
        ``None`` if the source does not state one.
    figures : tuple of PublishedFigure
    """

    name: str
    about: str
    propensity_a: float
    propensity_b: float
    page: str
    n_train: int | None = None
    n_test: int | None = None
    n_labels: int | None = None
    n_features: int | None = None
    labels_per_document: float | None = None
    documents_per_label: float | None = None
    statistics_from: str | None = None
    archive: Archive | None = None
    licence: str | None = None
    figures: tuple[PublishedFigure, ...] = ()

    @property
    def sizes(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Training documents, test documents, labels and features."""
        return self.n_train, self.n_test, self.n_labels, self.n_features


@cache
def known_datasets() -> tuple[CatalogueEntry, ...]:
    """Return all data sets that are known by name: first those of the paper."""
    text = files("polyseme.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return tuple(_entry(values) for values in tomllib.loads(text)["dataset"])


def find(name: str) -> CatalogueEntry:
    """Return the data set of that name, whether in capitals or not."""
    for entry in known_datasets():
        if entry.name.lower() == name.lower():
            return entry
    near = nearest(name)
    advice = f"did you mean {near}?" if near else '"polyseme datasets list" names all.'
    raise ValueError(f"no data set is called {name!r}; {advice}")


def nearest(name: str) -> str | None:
    """Return the name of a data set that could have been meant."""
    names = {entry.name.lower(): entry.name for entry in known_datasets()}
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return names[close[0]] if close else None


def recognise(
    n_train: int, n_test: int | None, n_labels: int, n_features: int
) -> CatalogueEntry | None:
    """Return the data set that has exactly these sizes, if one does.

    Parameters
    ----------
    n_train, n_test : int
        Documents for training and for testing.
    n_labels, n_features : int
    """
    sizes = (n_train, n_test, n_labels, n_features)
    return next((entry for entry in known_datasets() if entry.sizes == sizes), None)


def _entry(values: dict[str, Any]) -> CatalogueEntry:
    figures = tuple(
        PublishedFigure(method, group["from"], *(None if math.isnan(p) else p for p in percents))
        for group in values.pop("figures", ())
        for method, *percents in group["rows"]
    )
    url = values.pop("archive_url", None)
    length, digest = values.pop("n_bytes", None), values.pop("sha256", None)
    archive = None if url is None else Archive(url, length, digest)
    return CatalogueEntry(**values, archive=archive, figures=figures)
