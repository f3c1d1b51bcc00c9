"""A vocabulary: what labels are called, in which languages, and which are broader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from polyseme.machine.quantities import counted
from polyseme.partition.trees.given import LabelHierarchy

__all__ = ["Concept", "Entry", "Vocabulary"]

NO_LANGUAGE = ""
N_LISTED = 8


@dataclass
class Entry:
    """A concept as a file has it, in all languages; '' stands for none.

    Attributes
    ----------
    names : dict of str to str
        The preferred name by language; the first counts.
    alternatives : dict of str to list of str
    notations, broader : list of str
        Codes; URIs of broader concepts.
    """

    names: dict[str, str] = field(default_factory=dict)
    alternatives: dict[str, list[str]] = field(default_factory=dict)
    notations: list[str] = field(default_factory=list)
    broader: list[str] = field(default_factory=list)

    def add_name(self, language: str, name: str) -> None:
        """Prefer the first name of a language, and keep others as alternatives."""
        if self.names.setdefault(language, name) != name:
            self.alternatives.setdefault(language, []).append(name)


class Concept(NamedTuple):
    """What a label is called, and what is broader.

    Attributes
    ----------
    name : str or None
    alternatives : tuple of str
        Other names.
    notations : tuple of str
        Codes, such as classes of a classification.
    broader : tuple of str
        URIs.
    """

    name: str | None
    alternatives: tuple[str, ...] = ()
    notations: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()


class Vocabulary(Mapping[str, str]):
    """Names of labels by URI, and what else is known of them.

    ``vocabulary[label]`` is the name of a label that is given by its URI, or else by a notation
    or a name that only one concept has. All of it walks through the URIs that have a name.

    Parameters
    ----------
    concepts : dict of str to Concept
        By URI.
    languages : dict of str to int
        How many names there are in each language; '' for none.
    chosen : sequence of str
        The languages that names were taken from, best first.
    """

    def __init__(
        self,
        concepts: Mapping[str, Concept],
        *,
        languages: Mapping[str, int] | None = None,
        chosen: Sequence[str] = (),
    ) -> None:
        self.concepts = dict(concepts)
        self.languages, self.chosen = dict(languages or {}), tuple(chosen)

    @classmethod
    def of(cls, names: Mapping[str, str]) -> Vocabulary:
        """Return names by URI as a vocabulary, which they may be already."""
        if isinstance(names, Vocabulary):
            return names
        return cls({uri: Concept(name) for uri, name in names.items()})

    @classmethod
    def from_entries(
        cls, entries: Mapping[str, Entry], wanted: Sequence[str] = (), *, source: object
    ) -> Vocabulary:
        """Choose names in the wanted languages.

        Parameters
        ----------
        entries : dict of str to Entry
            By URI.
        wanted : sequence of str
            Languages, best first: a name is in the first that has one, and names in the others
            are alternatives. By default the language of most names, of equals the first.
        source : path
            For messages.
        """
        languages = Counter(language for entry in entries.values() for language in entry.names)
        chosen = _chosen(languages, wanted, source)
        concepts = {uri: _concept(entry, chosen) for uri, entry in entries.items()}
        return cls(concepts, languages=languages, chosen=chosen)

    def __getitem__(self, label: str) -> str:
        uri = self.uri_of(label)
        name = None if uri is None else self.concepts[uri].name
        if name is None:
            raise KeyError(label)
        return name

    def __iter__(self) -> Iterator[str]:
        return (uri for uri, concept in self.concepts.items() if concept.name is not None)

    def __len__(self) -> int:
        return sum(concept.name is not None for concept in self.concepts.values())

    def __repr__(self) -> str:
        return f"<Vocabulary: {self.description}>"

    @property
    def description(self) -> str:
        """What is in it, for people."""
        concepts = self.concepts.values()
        sizes = {
            "alternative name": sum(len(one.alternatives) for one in concepts),
            "notation": sum(len(one.notations) for one in concepts),
            "broader relation": sum(len(one.broader) for one in concepts),
        }
        parts = [
            counted(len(self.concepts), "concept"),
            f"{counted(len(self), 'name')}{self._spoken()}",
        ]
        parts += [counted(n, what) for what, n in sizes.items() if n]
        return ", ".join(parts)

    def _spoken(self) -> str:
        tagged = [language for language in self.chosen if language != NO_LANGUAGE]
        others = set(self.languages) - set(self.chosen)
        others.discard(NO_LANGUAGE)
        if not tagged:
            return ""
        also = "" if not others else f"; also {_listed(Counter(self._counts(others)))}: --language"
        return f" ({', '.join(tagged)}{also})"

    def _counts(self, languages: Iterable[str]) -> dict[str, int]:
        return {language: self.languages[language] for language in languages}

    def uri_of(self, label: str) -> str | None:
        """Return the URI of the concept that a label stands for, None if there is none."""
        return label if label in self.concepts else self._uri_by_other_means.get(label)

    @cached_property
    def _uri_by_other_means(self) -> dict[str, str]:
        """From notations, then names, that only one concept has."""
        found: dict[str, str] = {}
        for called in (
            lambda concept: () if concept.name is None else (concept.name,),
            lambda concept: concept.notations,
        ):
            owners: dict[str, set[str]] = {}
            for uri, concept in self.concepts.items():
                for name in called(concept):
                    owners.setdefault(name, set()).add(uri)
            found |= {name: min(uris) for name, uris in owners.items() if len(uris) == 1}
        return found

    def add_name(self, uri: str, name: str) -> None:
        """Add a concept of which only the name is known, unless it is there."""
        self.concepts.setdefault(uri, Concept(name))

    def with_concepts(self, concepts: Mapping[str, Concept]) -> Vocabulary:
        """Return the same with other concepts, which count more than its own."""
        joined = {**self.concepts, **concepts}
        return Vocabulary(joined, languages=self.languages, chosen=self.chosen)

    def hierarchy(self, *, others: str = "refuse") -> LabelHierarchy:
        """Return the broader relations as a tree of labels; see `LabelHierarchy.from_skos`.

        Raises
        ------
        ValueError
            If there are none, or they go round in circles.
        """
        known = self.concepts
        pairs: list[tuple[str, str | None]] = [
            (uri, next((one for one in concept.broader if one in known), None))
            for uri, concept in known.items()
        ]
        if all(wider is None for _, wider in pairs):
            raise ValueError("the vocabulary has no broader relations, so it is no tree.")
        return LabelHierarchy.from_skos(pairs, others=others)


def _chosen(languages: Counter[str], wanted: Sequence[str], source: object) -> tuple[str, ...]:
    """Return the tags of languages to take names from, best first."""
    tagged = [language for language in languages if language != NO_LANGUAGE]
    if not wanted:  # of equals the one that comes first in the file
        return (*sorted(tagged, key=lambda language: -languages[language])[:1], NO_LANGUAGE)
    found: list[str] = []
    for language in (one.strip().lower().replace("_", "-") for one in wanted):
        of_it = [tag for tag in tagged if tag.lower() == language]
        of_it += [tag for tag in tagged if tag.lower().startswith(f"{language}-")]
        while not of_it and "-" in language:  # where there is no de-AT, de will do
            language = language.rpartition("-")[0]
            of_it = [tag for tag in tagged if tag.lower() == language]
        found += of_it
    if not found:
        has = f"it has {_listed(languages)}" if tagged else "its names have no language"
        raise ValueError(f"{source} has no names in {', '.join(wanted)}; {has} (--language).")
    return (*dict.fromkeys(found), NO_LANGUAGE)


def _listed(languages: Counter[str]) -> str:
    most = [f"{tag or 'none'} ({n:,})" for tag, n in languages.most_common(N_LISTED)]
    return ", ".join([*most, *["..."] * (len(languages) > N_LISTED)])


def _concept(entry: Entry, chosen: Sequence[str]) -> Concept:
    names = [entry.names[language] for language in chosen if language in entry.names]
    others = names[1:]
    for language in chosen:
        others += entry.alternatives.get(language, [])
    name = names[0] if names else None
    return Concept(
        name,
        tuple(other for other in dict.fromkeys(others) if other != name),
        tuple(dict.fromkeys(entry.notations)),
        tuple(dict.fromkeys(entry.broader)),
    )
