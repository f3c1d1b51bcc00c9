"""Vocabularies from files of every kind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from polyseme.partition.trees.given import LabelHierarchy
from polyseme.text.corpora.lines import NotUtf8Error
from polyseme.text.vocabularies.skos import form_of, read_skos
from polyseme.text.vocabularies.tables import read_table
from polyseme.text.vocabularies.vocabulary import Vocabulary

__all__ = ["read_hierarchy", "read_vocabulary"]


def read_vocabulary(
    path: str | os.PathLike[str], languages: Sequence[str] | str = ()
) -> Vocabulary:
    """Read what labels are called.

    Parameters
    ----------
    path : path
        SKOS as Turtle, N-Triples, RDF/XML or JSON-LD (by the extra ``skos``); TSV as Annif has
        it, ``<uri>``, tab, name, perhaps a notation; or CSV or TSV with a header that has the
        columns ``uri`` and ``label``, or ``label_en`` and the like, perhaps ``altLabel``,
        ``notation`` and ``broader``. Gzipped or not.
    languages : sequence of str
        Such as ``["en", "de"]``: a label has its name in the first of these that it has one in,
        and names in the others are alternatives. By default the language of most names.
    """
    place = Path(path)
    if not place.is_file():
        why = "is a folder" if place.is_dir() else "does not exist"
        raise FileNotFoundError(f"{place} {why}; give a file of SKOS, TSV or CSV.")
    try:
        entries = read_table(place) if form_of(place) is None else read_skos(place)
    except NotUtf8Error as error:  # there is an option for the encoding of texts alone
        raise ValueError(f"{str(error).partition('; ')[0]}; save it as UTF-8.") from None
    wanted = [languages] if isinstance(languages, str) else languages
    return Vocabulary.from_entries(entries, wanted, source=place)


def read_hierarchy(path: str | os.PathLike[str], *, others: str = "refuse") -> LabelHierarchy:
    """Read a tree of labels: a vocabulary of SKOS, or what `LabelHierarchy.from_file` takes."""
    place = Path(path)
    if form_of(place) is None:
        return LabelHierarchy.from_file(place, others=others)
    try:
        return read_vocabulary(place).hierarchy(others=others)
    except ValueError as error:
        said = str(error)
        raise ValueError(said if said.startswith(str(place)) else f"{place}: {said}") from None
