"""Documents on their way from Annif to polyseme, and the file in which they wait."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from polyseme.text import Record

__all__ = ["analyzer_of_file", "names_of_subjects", "records_of", "write_records"]


def records_of(
    documents: Iterable[Any], subjects: Any, prepare: Callable[[str], str]
) -> Iterator[Record]:
    """Yield those of Annif's documents that have subjects, by URI."""
    for document in documents:
        labels = tuple(sorted(_uris(document.subject_set, subjects)))
        if labels:
            yield Record(prepare(document.text), labels)


def _uris(subject_set: Iterable[int], subjects: Any) -> Iterator[str]:
    for subject_id in subject_set:
        try:
            yield subjects[subject_id].uri
        except IndexError:  # was removed from the vocabulary, or is excluded
            continue


def write_records(records: Iterable[Record], path: Path | str, analyzer: str, mode: str) -> None:
    """Write records as JSON lines; each says by what its text was taken apart."""
    with open(path, mode, encoding="utf-8") as stream:
        for record in records:
            line = {"text": record.text, "labels": record.labels, "analyzer": analyzer}
            stream.write(json.dumps(line) + "\n")


def analyzer_of_file(path: Path) -> str | None:
    """Return what the texts of a file were taken apart by."""
    with open(path, encoding="utf-8") as stream:
        for line in islice(stream, 1):
            return str(json.loads(line)["analyzer"])
    return None


def names_of_subjects(subjects: Any, language: str, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a name for each URI; a name that is not the only one of its kind gets its URI.

    Parameters
    ----------
    taken : iterable of str
        Names that are in use and do not count as free.
    """
    found = {
        subject.uri: subject.labels.get(language) or subject.uri for _, subject in subjects.active
    }
    n_with = Counter([*found.values(), *taken])
    return {uri: name if n_with[name] == 1 else f"{name} <{uri}>" for uri, name in found.items()}
