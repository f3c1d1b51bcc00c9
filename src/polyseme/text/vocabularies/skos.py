"""SKOS in any form of RDF, by pyoxigraph (extra ``skos``)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from polyseme.machine.extras import how_to_install
from polyseme.text.vocabularies.vocabulary import NO_LANGUAGE, Entry

__all__ = ["form_of", "read_skos"]

# Names of pyoxigraph's formats by the ending of a file.
_FORMS = {
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".xml": "RDF_XML",
    ".owl": "RDF_XML",
    ".skos": "RDF_XML",
    ".jsonld": "JSON_LD",
}
_SPOKEN = {"TURTLE": "Turtle", "N_TRIPLES": "N-Triples", "N_QUADS": "N-Quads", "TRIG": "TriG"}
_SPOKEN |= {"RDF_XML": "RDF/XML", "JSON_LD": "JSON-LD"}

_SKOS, _XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_OF_SKOS = ("prefLabel", "altLabel", "notation", "broader", "narrower")
_PREDICATES = {f"{_SKOS}{name}": name for name in _OF_SKOS}
_PREDICATES |= {f"{_XL}{name}": f"xl:{name}" for name in ("prefLabel", "altLabel", "literalForm")}
_PREDICATES |= {_TYPE: "type", _LABEL: "label"}


def read_skos(path: Path) -> dict[str, Entry]:
    """Return the concepts of a file by URI.

    Preferred and alternative names, also as SKOS-XL, notations, broader and narrower count.
    Where nothing is called a ``skos:Concept``, all that has a preferred name is one, or else all
    that has an ``rdfs:label``.
    """
    gathered = _Gathered()
    for subject, what, value, language in _statements(path):
        gathered.add(subject, what, value, language)
    found = gathered.concepts()
    if not found:
        raise ValueError(f"{path} has no concepts of SKOS with a name.")
    return found


class _Gathered:
    """What statements say of concepts, as they come."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._labels: dict[str, Entry] = {}  # by rdfs:label, should there be nothing better
        self._typed: set[str] = set()
        self._forms: dict[str, tuple[str, str]] = {}
        self._waiting: list[tuple[str, str, str]] = []  # names that are nodes of SKOS-XL

    def add(self, subject: str, what: str, value: str, language: str) -> None:
        if what == "type":
            if value == f"{_SKOS}Concept":
                self._typed.add(subject)
        elif what == "label":
            self._labels.setdefault(subject, Entry()).names.setdefault(language, value)
        elif what == "xl:literalForm":
            self._forms[subject] = value, language
        elif what.startswith("xl:"):
            self._waiting.append((subject, what.removeprefix("xl:"), value))
        elif what == "narrower":
            self._entry(value).broader.append(subject)
        elif what == "broader":
            self._entry(subject).broader.append(value)
        elif what == "notation":
            self._entry(subject).notations.append(value)
        else:
            self._name(subject, what, value, language)

    def _entry(self, uri: str) -> Entry:
        return self._entries.setdefault(uri, Entry())

    def _name(self, uri: str, what: str, name: str, language: str) -> None:
        if not name.strip():
            return
        if what == "prefLabel":
            self._entry(uri).add_name(language, name.strip())
        else:
            self._entry(uri).alternatives.setdefault(language, []).append(name.strip())

    def concepts(self) -> dict[str, Entry]:
        for uri, what, node in self._waiting:
            if node in self._forms:
                self._name(uri, what, *self._forms[node])
        if self._typed:
            found = {uri: self._entry(uri) for uri in self._entries if uri in self._typed}
            for uri in sorted(self._typed - set(found)):
                found[uri] = Entry()
            for uri, entry in found.items():
                entry.names = entry.names or self._labels.get(uri, entry).names
        else:
            found = {uri: entry for uri, entry in self._entries.items() if entry.names}
            found = found or self._labels
        found = {uri: entry for uri, entry in found.items() if not uri.startswith("_:")}
        return found if any(entry.names for entry in found.values()) else {}


def _statements(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield subject, short predicate, value and language of all that matters."""
    try:
        import pyoxigraph
    except ImportError:
        raise ValueError(
            f"{path} is RDF, which needs pyoxigraph; {how_to_install('skos')}, or give a TSV file "
            "with a URI and a name per line."
        ) from None
    form = form_of(path) or "TURTLE"
    with _opened(path) as file:
        try:
            parsed = pyoxigraph.parse(
                file, format=getattr(pyoxigraph.RdfFormat, form), lenient=True
            )
            for statement in parsed:
                what = _PREDICATES.get(statement.predicate.value)
                if what is not None:
                    found = statement.object
                    value = str(found) if _is_blank(found) else found.value
                    language = getattr(found, "language", None) or NO_LANGUAGE
                    subject = statement.subject
                    yield (
                        str(subject) if _is_blank(subject) else subject.value,
                        what,
                        value,
                        language,
                    )
        except (SyntaxError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}: not readable as {_SPOKEN[form]}: {_reason(error)}."
            ) from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(
                f"{path}: the gzip file is damaged ({error}); get it again."
            ) from None


def form_of(path: Path) -> str | None:
    """Return the form of RDF that a file has by its ending, None if it is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return _FORMS.get(suffixes[-1]) if suffixes else None


def _is_blank(node: Any) -> bool:
    return type(node).__name__ == "BlankNode"


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return open(path, "rb")


def _reason(error: Exception) -> str:
    said = str(error).rstrip(".")
    if "remote context" in said:
        return "its context is on the web; put it into the file, or give Turtle"
    return said
