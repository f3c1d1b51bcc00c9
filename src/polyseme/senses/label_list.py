"""All labels of a model: found by a part of their names, or in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.inputs.name_search import Hit, NameSearch
from polyseme.senses.describe import ambiguity
from polyseme.senses.layer import SHOWN_FROM
from polyseme.senses.slots import division_scores, label_name, split_order

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier

__all__ = ["LabelList", "LabelSummary"]

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
    found_as : str or None
        The alternative name that a search found it by, if it was not its own.
    """

    label: int
    name: str | int
    n_documents: int
    n_senses: int
    ambiguity: float | None
    n_clusters: int
    found_as: str | None = None


class LabelList:
    """The labels of a model. Tables are made when first asked for.

    Parameters
    ----------
    model : estimator
    search : NameSearch, optional
        Knows more names than the model, such as a vocabulary's alternative ones.
    """

    def __init__(self, model: PartitionedClassifier, search: NameSearch | None = None) -> None:
        self._model, self._given_search = model, search

    def find(
        self, query: str = "", order: str = "best", limit: int = 20, offset: int = 0
    ) -> tuple[int, list[LabelSummary]]:
        """Return how many labels fit, and some of them.

        Parameters
        ----------
        query : str
            A part of the name, or some of its words, in any case and without accents; empty for
            all labels.
        order : {'best', 'documents', 'ambiguity'}
            How well the name fits, most documents, or most likely ambiguous; without a query the
            last has only labels that are shown with senses.
        limit, offset : int
            How many to return, and how many to pass over.
        """
        if query == "":
            all_labels = self.by_ambiguity if order == "ambiguity" else self._by_documents
            shown = all_labels[offset : offset + limit]
            return len(all_labels), [self.summary(int(i)) for i in shown]
        hits = self._search(query, order)
        return len(hits), [self._found(hit) for hit in hits[offset : offset + limit]]

    def _found(self, hit: Hit) -> LabelSummary:
        found_as = self._searched.name_at(hit.line) if hit.is_other else None
        return replace(self.summary(hit.owner), found_as=found_as)

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
    def _searched(self) -> NameSearch:
        if self._given_search is not None:
            return self._given_search
        names, n_labels = self._model.label_names_, self._model.n_labels_
        return NameSearch(range(n_labels)) if names is None else names.search

    def _search(self, query: str, order: str) -> list[Hit]:
        hits = self._searched.find(query)
        counts = self._model.label_counts_
        if order == "ambiguity":
            position = self._ambiguity_position
            return sorted(hits, key=lambda hit: (position[hit.owner], hit.owner))
        if order == "documents":
            return sorted(hits, key=lambda hit: (-counts[hit.owner], hit.owner))
        return sorted(hits, key=lambda hit: (hit.fit, hit.is_other, -counts[hit.owner], hit.owner))
