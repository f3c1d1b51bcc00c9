"""Vocabularies: the names of labels that are URIs."""

from __future__ import annotations

import os
from pathlib import Path

from polyseme.text.corpora.delimited import DelimitedFile
from polyseme.text.corpora.lines import lines_of

__all__ = ["read_vocabulary", "uri_and_name"]

_RDF = {".ttl", ".rdf", ".xml", ".nt", ".owl", ".jsonld"}


def read_vocabulary(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the names of labels by URI.

    Parameters
    ----------
    path : path
        A TSV file as Annif has them, ``<uri>``, tab, name, perhaps more cells; or a CSV file with
        the columns ``uri`` and ``label``, or ``label_en`` and the like, of which the first counts.
    """
    place = Path(path)
    suffixes = {suffix.lower() for suffix in place.suffixes}
    if suffixes & _RDF:
        raise ValueError(
            f"{place} is RDF; give a TSV file, a URI and a name a line, as Annif can export it."
        )
    names = _from_csv(place) if ".csv" in suffixes else _from_tsv(place)
    if not names:
        raise ValueError(f"{place} is empty; give a URI and a name a line.")
    return names


def uri_and_name(line: str) -> tuple[str, str] | None:
    """Return the first two cells of a line of Annif's vocabularies, None if there are not two."""
    uri, _, rest = line.strip("\r\n").partition("\t")
    name = rest.split("\t", 1)[0].strip()
    uri = uri.strip().removeprefix("<").removesuffix(">")
    return (uri, name) if uri and name else None


def _from_tsv(path: Path) -> dict[str, str]:
    names: dict[str, str] = {}
    for number, line in enumerate(lines_of(path), start=1):
        if not line.strip():
            continue
        found = uri_and_name(line)
        if found is None:
            raise ValueError(f"{path}, line {number}: a URI, a tab and a name are expected.")
        names.setdefault(*found)
    return names


def _from_csv(path: Path) -> dict[str, str]:
    table = DelimitedFile(path)
    columns = table.columns()
    labels = [name for name in columns if name == "label" or name.startswith("label_")]
    if "uri" not in columns or not labels:
        raise ValueError(f"{path} must have the columns 'uri' and 'label', or 'label_en'.")
    names: dict[str, str] = {}
    for _, (uri, name) in table.rows(["uri", labels[0]]):
        if uri.strip() and name.strip():
            names.setdefault(uri.strip().removeprefix("<").removesuffix(">"), name.strip())
    return names
