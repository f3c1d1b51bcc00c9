"""What a model keeps of a vocabulary: its labels, and the concepts above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.files.stored_model import StoredModel
from polyseme.inputs.name_search import NameSearch
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.text.vocabularies.vocabulary import Concept, Vocabulary

__all__ = ["KeptVocabulary", "Related"]

MOST_LEVELS = 64  # above a label; what is deeper goes round in circles


class Related(NamedTuple):
    """A concept that is broader or narrower than a label.

    Attributes
    ----------
    label : int or None
        Its number, if it is a label of the model.
    name : str
    uri : str
    """

    label: int | None
    name: str
    uri: str


@dataclass(frozen=True, eq=False)
class KeptVocabulary:
    """Concepts by number: the labels of a model in their order, then those above them.

    Attributes
    ----------
    n_labels : int
    uris : Names, n_concepts
        What a label without a concept is called in the data.
    names : Names, n_concepts
        Empty where there is none.
    alternatives, notations : Names
        Of all concepts, one after the other.
    alternative_starts, notation_starts : ndarray of int64, shape (n_concepts + 1,)
        Where those of each start.
    broader : SparsePattern, n_concepts x n_concepts
    """

    n_labels: int
    uris: Names
    names: Names
    alternatives: Names
    alternative_starts: npt.NDArray[np.int64]
    notations: Names
    notation_starts: npt.NDArray[np.int64]
    broader: SparsePattern

    def __repr__(self) -> str:
        return f"<KeptVocabulary: {self.n_named:,} of {self.n_labels:,} labels have a name>"

    @classmethod
    def of(cls, vocabulary: Vocabulary, labels: Sequence[str]) -> KeptVocabulary:
        """Keep what a vocabulary knows of labels, and the concepts above them."""
        known, nothing = vocabulary.concepts, Concept(None)
        uris = [vocabulary.uri_of(label) or label for label in labels]
        number_of: dict[str, int] = {}
        for number, uri in enumerate(uris):
            number_of.setdefault(uri, number)
        kept = list(uris)
        for uri in kept:  # grows while it is walked through
            for above in known.get(uri, nothing).broader:
                if above in known and above not in number_of:
                    number_of[above] = len(kept)
                    kept.append(above)
        concepts = [known.get(uri, nothing) for uri in kept]
        pairs = [
            (number, number_of[above])
            for number, concept in enumerate(concepts)
            for above in concept.broader
            if above in number_of
        ]
        return cls(
            len(labels),
            Names.from_list(kept),
            Names.from_list([concept.name or "" for concept in concepts]),
            *_end_to_end(concept.alternatives for concept in concepts),
            *_end_to_end(concept.notations for concept in concepts),
            _pattern(pairs, len(kept)),
        )

    def to_vocabulary(self) -> Vocabulary:
        """Return the same by URI, to be joined with another."""
        found: dict[str, Concept] = {}
        for number, (uri, name) in enumerate(zip(self.uris, self.names, strict=True)):
            above = tuple(str(self.uris[i]) for i in self.broader.row(number).tolist())
            others, notations = self.other_names(number), self.notations_of(number)
            if name or others or notations or above:
                called = str(name) or None
                found[str(uri)] = Concept(called, tuple(others), tuple(notations), above)
        return Vocabulary(found)

    @cached_property
    def n_named(self) -> int:
        """How many labels have a name in the vocabulary."""
        return sum(bool(name) for name in self.names[: self.n_labels])

    def other_names(self, concept: int) -> list[str]:
        """Return the alternative names of a concept."""
        return _of(concept, self.alternatives, self.alternative_starts)

    def notations_of(self, concept: int) -> list[str]:
        """Return the codes of a concept."""
        return _of(concept, self.notations, self.notation_starts)

    def broader_than(self, label: int) -> list[Related]:
        """Return the concepts right above a label."""
        return [self._related(i) for i in self.broader.row(label).tolist()]

    def narrower_than(self, label: int) -> list[Related]:
        """Return the concepts right below a label that are labels or lead to some."""
        return [self._related(i) for i in self._narrower.row(label).tolist()]

    def _related(self, concept: int) -> Related:
        uri = str(self.uris[concept])
        number = concept if concept < self.n_labels else None
        return Related(number, str(self.names[concept]) or uri, uri)

    @cached_property
    def _narrower(self) -> SparsePattern:
        return self.broader.transpose()

    @cached_property
    def search(self) -> NameSearch:
        """Finds labels by name, alternative name or notation."""
        shown = [
            str(name) or str(uri)
            for name, uri in zip(
                self.names[: self.n_labels], self.uris[: self.n_labels], strict=True
            )
        ]
        others = (
            (label, other)
            for label in range(self.n_labels)
            for other in (*self.other_names(label), *self.notations_of(label))
        )
        return NameSearch(shown, others)

    @cached_property
    def has_broader(self) -> bool:
        """Whether any concept is broader than another."""
        return self.broader.n_stored > 0

    def with_ancestors(self) -> sp.csr_array:
        """Return for each label itself and all that is above it, shape (n_labels, n_concepts)."""
        above = self.broader.to_scipy().astype(np.float32)
        reached = sp.eye_array(len(self.uris), dtype=np.float32, format="csr")[: self.n_labels]
        for _ in range(MOST_LEVELS):
            further = reached + reached @ above
            further.data[:] = 1
            if further.nnz == reached.nnz:
                break
            reached = further
        return reached

    # In a model's folder

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to be stored."""
        return {
            "vocabulary.alternative_starts": self.alternative_starts,
            "vocabulary.notation_starts": self.notation_starts,
            "vocabulary.broader.starts": self.broader.starts,
            "vocabulary.broader.columns": self.broader.columns,
        }

    def to_names(self) -> dict[str, Names]:
        """Return the names to be stored."""
        return {
            "concept-uris": self.uris,
            "concept-names": self.names,
            "concept-alternatives": self.alternatives,
            "concept-notations": self.notations,
        }

    @classmethod
    def restored(cls, stored: StoredModel, n_labels: int) -> KeptVocabulary | None:
        """Return what was stored after checking it, None if that was nothing."""
        uris = stored.names.get("concept-uris")
        if uris is None:
            return None
        n_concepts = len(uris)
        if n_concepts < n_labels:
            raise stored.damaged(f"its vocabulary has {n_concepts} concepts")
        arrays = stored.part("vocabulary")

        def lists(kind: str) -> tuple[Names, npt.NDArray[np.int64]]:
            found = stored.names.get(f"concept-{kind}s")
            if found is None:
                raise stored.damaged(f"its vocabulary has no {kind}s")
            name = f"{kind}_starts"
            return found, arrays.starts(name, last=len(found), length=n_concepts + 1)

        names = stored.names_of("concept-names", n_concepts)
        if names is None:
            raise stored.damaged("its vocabulary has no names")
        broader = arrays.part("broader").pattern(n_concepts, n_concepts)
        return cls(n_labels, uris, names, *lists("alternative"), *lists("notation"), broader)


def _end_to_end(lists: Iterable[Sequence[str]]) -> tuple[Names, npt.NDArray[np.int64]]:
    all_lists = list(lists)
    starts = np.zeros(len(all_lists) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in all_lists], out=starts[1:])
    return Names.from_list(name for one in all_lists for name in one), starts


def _of(concept: int, names: Names, starts: npt.NDArray[np.int64]) -> list[str]:
    return [str(name) for name in names[int(starts[concept]) : int(starts[concept + 1])]]


def _pattern(pairs: Sequence[tuple[int, int]], n: int) -> SparsePattern:
    rows = np.array([row for row, _ in pairs], dtype=np.int64)
    columns = np.array([column for _, column in pairs], dtype=np.int64)
    ones = np.ones(len(pairs), dtype=np.float32)
    return SparsePattern.from_scipy(sp.coo_array((ones, (rows, columns)), shape=(n, n)).tocsr())
