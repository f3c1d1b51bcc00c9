"""All labels of a model: found by a part of their names, or in order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.senses.describe import ambiguity
from polyseme.senses.layer import SHOWN_FROM
from polyseme.senses.slots import division_scores, label_name, split_order

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier

__all__ = ["LabelList", "LabelSummary"]

MAX_HITS = 20_000  # of a search; to rank more would take long, and nobody reads them

Order = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelSummary:
    """A label with its figures.

    Attributes
    ----------
    label : int
    name : str or int
    n_documents : int
        Training documents that have it.
    n_senses : int
        One for a label that is not likely ambiguous.
    ambiguity : float or None
        How likely it is ambiguous; None if it has too few documents to be judged.
    n_clusters : int
        In how many clusters it is.
    """

    label: int
    name: str | int
    n_documents: int
    n_senses: int
    ambiguity: float | None
    n_clusters: int


class LabelList:
    """The labels of a model. Tables are made when first asked for."""

    def __init__(self, model: PartitionedClassifier) -> None:
        self._model = model

    def find(
        self, query: str = "", order: str = "best", limit: int = 20, offset: int = 0
    ) -> tuple[int, list[LabelSummary]]:
        """Return how many labels fit, and some of them.

        Parameters
        ----------
        query : str
            A part of the name, in any case; empty for all labels.
        order : {'best', 'documents', 'ambiguity'}
            How well the name fits, most documents, or most likely ambiguous; without a query the
            last has only labels that are shown with senses.
        limit, offset : int
            How many to return, and how many to pass over.
        """
        found: Sequence[int] | Order
        if query == "":
            found = self.by_ambiguity if order == "ambiguity" else self._by_documents
        else:
            found = self._search(query, order)
        return len(found), [self.summary(int(i)) for i in found[offset : offset + limit]]

    def summary(self, label: int) -> LabelSummary:
        """Return a label with its figures."""
        likely = float(self._ambiguity[label])
        return LabelSummary(
            label=label,
            name=label_name(self._model, label),
            n_documents=int(self._model.label_counts_[label]),
            n_senses=int(self._n_senses[label]),
            ambiguity=None if np.isnan(likely) else round(likely, 4),
            n_clusters=int(self._model.clusters_.copies[label]),
        )

    @cached_property
    def _ambiguity(self) -> npt.NDArray[np.float32]:
        return ambiguity(self._model)

    @cached_property
    def _n_senses(self) -> Order:
        layer, n_labels = self._model.senses_, self._model.n_labels_
        return np.ones(n_labels, np.int64) if layer is None else layer.senses_by_label(n_labels)

    @cached_property
    def by_ambiguity(self) -> Order:
        """The labels that are shown with senses, most likely ambiguous first."""
        likely = np.flatnonzero(self._ambiguity >= SHOWN_FROM)
        counts = self._model.label_counts_[likely]
        return likely[np.lexsort((likely, -counts, -self._ambiguity[likely]))]

    @cached_property
    def split(self) -> npt.NDArray[np.float64]:
        """The `division_scores` of the labels, shape (n_labels,)."""
        return division_scores(self._model)

    @cached_property
    def by_split(self) -> Order:
        """The labels in several clusters, most divided first."""
        return split_order(self._model, self.split)

    @cached_property
    def _by_documents(self) -> Order:
        return np.argsort(-self._model.label_counts_, kind="stable")

    @cached_property
    def _ambiguity_position(self) -> Order:
        """Where each label stands in `by_ambiguity`; those that do not come after all others."""
        position = np.full(self._model.n_labels_, self._model.n_labels_)
        position[self.by_ambiguity] = np.arange(len(self.by_ambiguity))
        return position

    @cached_property
    def _haystack(self) -> tuple[str, list[int]]:
        """All names in one string, since one search in it takes less than many; their starts."""
        names = self._model.label_names_
        all_names = map(str, range(self._model.n_labels_) if names is None else names)
        folded = [name.casefold().replace("\n", " ") for name in all_names]
        return "\n".join(folded), [0, *accumulate(len(name) + 1 for name in folded)]

    def _search(self, query: str, order: str) -> list[int]:
        needle = query.casefold().replace("\n", " ")
        text, starts = self._haystack
        ranked: list[tuple[tuple[bool, bool, bool], int]] = []
        at = text.find(needle)
        while at >= 0 and len(ranked) < MAX_HITS:
            label = bisect_right(starts, at) - 1
            start, end = starts[label], starts[label + 1] - 1
            is_word = at == start or not text[at - 1].isalnum()
            fit = (end - start != len(needle), at != start, not is_word)
            ranked.append((fit, label))
            at = text.find(needle, end)
        counts = self._model.label_counts_
        if order == "ambiguity":
            position = self._ambiguity_position
            ranked.sort(key=lambda hit: (position[hit[1]], hit[1]))
        elif order == "documents":
            ranked.sort(key=lambda hit: (-counts[hit[1]], hit[1]))
        else:
            ranked.sort(key=lambda hit: (hit[0], -counts[hit[1]], hit[1]))
        return [label for _, label in ranked]
