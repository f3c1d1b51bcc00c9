"""The learned order of candidates: tables over facts, and a curve to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.files.stored_model import StoredModel
from polyseme.machine.brief import briefly
from polyseme.ordering.facts import FACTS, PLACE_OF, Candidates
from polyseme.ordering.name_words import NameWords

__all__ = ["TABLES", "CountedOrdering", "LabelOrdering", "places_between"]

# The facts of each table. What belongs together has one of two facts; a length says nothing alone,
# since all candidates of a document have the same.
TABLES: tuple[tuple[str, ...], ...] = (
    ("path",),
    ("slot",),
    ("count",),
    ("reached",),
    ("tempered",),
    ("product",),
    ("path", "slot"),
    ("count", "slot"),
    ("count", "path"),
    ("length", "count"),
    ("reached", "slot"),
    ("name",),
    ("count", "name"),
)
N_CURVE = 4
LEAST_LOG_ODDS = -80.0  # of what is found: single precision still tells it from impossible
LARGEST = 1e6  # of any number in a sound ordering

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelOrdering:
    """Puts the candidates of a document in order and says how likely each is right.

    What speaks for a label is the logarithm of its product plus a number from each of the
    `TABLES`, straight between the knots of their facts and level beyond. The probability is a
    logistic curve of that, of the same for all candidates together, and of the document's length.

    Attributes
    ----------
    knots : tuple of ndarray of float32
        Of each fact, ascending, one at least; of 'name' none where names tell nothing.
    tables : tuple of ndarray of float32
        One for each of `TABLES`; the axes are the knots of its facts, so that some may be empty.
    curve : ndarray of float32, shape (4,)
        Factors of the label's value, of the logarithm of the sum of all candidates' exponentials,
        and of the length; and a constant.
    n_documents : int
        What it was learned from.
    """

    knots: tuple[Floats, ...]
    tables: tuple[Floats, ...]
    curve: Floats
    n_documents: int = 0

    __repr__ = briefly

    def values(self, facts: npt.NDArray[Any]) -> Doubles:
        """Return what speaks for each label.

        Parameters
        ----------
        facts : ndarray, shape (..., n_facts)

        Returns
        -------
        ndarray of float64, shape (...)
        """
        by_name = {name: facts[..., i] for i, name in enumerate(FACTS)}
        places = {
            name: places_between(by_name[name], knots)
            for name, knots in zip(FACTS, self.knots, strict=True)
            if len(knots)
        }
        found: Doubles = by_name["product"].astype(np.float64)
        for names, table in zip(TABLES, self.tables, strict=True):
            if table.size == 0:
                continue
            (below, above, share), *others = (places[name] for name in names)
            if others:
                low, high, other_share = others[0]
                left, right = (
                    _between(table[row, low], table[row, high], other_share)
                    for row in (below, above)
                )
            else:
                left, right = (table[row].astype(np.float64) for row in (below, above))
            found = found + _between(left, right, share)
        return found

    def ordered(
        self, candidates: Candidates, lengths: Floats, bonus: Floats | None = None
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the labels of each document in order, and their probabilities.

        Parameters
        ----------
        candidates : Candidates
            Labels that are none may be given as well: those stay behind, as they are, none above
            the one before it, so that what comes first does not depend on their number.
        lengths : ndarray of float32, shape (n_documents,)
        bonus : ndarray of float32, shape (n_labels,), optional
            Puts candidates in order by the logarithm of their probability and this.

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, n)
            Padded with -1.
        probabilities : ndarray of float32, shape (n_documents, n)
            0 in the places of -1.
        """
        is_label, is_candidate = candidates.labels >= 0, candidates.is_candidate
        values = np.where(is_label, self.values(candidates.facts), -np.inf)
        together = np.logaddexp.reduce(np.where(is_candidate, values, -np.inf), axis=1)
        together = np.where(is_label.any(axis=1), together, 0)
        least = np.where(is_candidate, values, np.inf).min(axis=1, initial=np.inf)
        others = np.where(is_candidate, np.inf, np.minimum(values, least[:, np.newaxis]))
        values = np.where(is_candidate, values, np.minimum.accumulate(others, axis=1))
        offset = self.curve[1] * together + self.curve[2] * lengths + self.curve[3]
        log_odds = self.curve[0] * values + offset[:, np.newaxis]
        probabilities = 1 / (1 + np.exp(-np.clip(log_odds, LEAST_LOG_ODDS, 80)))
        rank_by = values
        if bonus is not None:
            of_label = bonus[np.maximum(candidates.labels, 0)]
            rank_by = of_label - np.logaddexp(0, -log_odds)
        # Labels that are no candidates come after these, as they are.
        place = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        ties = np.where(is_candidate, candidates.labels, place)
        rank_by = np.where(is_candidate, rank_by, -np.inf)
        order = np.lexsort((ties, -rank_by, ~is_candidate), axis=1)
        probabilities = np.where(is_label, probabilities, 0)
        return (
            np.take_along_axis(candidates.labels, order, axis=1),
            np.take_along_axis(probabilities, order, axis=1).astype(np.float32),
        )

    @property
    def knows_names(self) -> bool:
        """Whether it matters how much of a label's name stands in a document."""
        return len(self.knots[PLACE_OF["name"]]) > 0

    @property
    def is_bounded(self) -> bool:
        """Whether all numbers are such as can be stored."""
        arrays = (*self.knots, *self.tables, self.curve)
        return all(bool((np.abs(array) < LARGEST).all()) for array in arrays)

    # Files

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learned, as plain numbers."""
        sizes = [len(knots) for knots in self.knots]
        return {
            "knot_starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "knots": np.concatenate(self.knots),
            "values": np.concatenate([table.ravel() for table in self.tables]),
            "curve": self.curve,
        }

    @classmethod
    def restore(
        cls, stored: StoredModel, n_documents: int, n_facts: int = len(FACTS)
    ) -> LabelOrdering:
        """Return what was stored, after checking all of it.

        Earlier formats had fewer facts, the first `n_facts`.
        """
        knots = stored.array("knots", np.float32, (None,))
        starts = stored.starts("knot_starts", last=len(knots), length=n_facts + 1)
        if (np.diff(starts)[: PLACE_OF["name"]] < 1).any():
            raise stored.damaged("a fact of its ordering has no knots")
        stored.in_range("knots", -LARGEST, LARGEST)
        of_fact = tuple(np.split(knots, starts[1 : len(FACTS)]))
        if any((np.diff(own) <= 0).any() for own in of_fact):
            raise stored.damaged("the knots of its ordering must ascend")
        shapes = table_shapes(of_fact)
        n_values = sum(int(np.prod(shape)) for shape in shapes)
        values = stored.array("values", np.float32, (n_values,))
        curve = stored.array("curve", np.float32, (N_CURVE,))
        for name in ("values", "curve"):
            stored.in_range(name, -LARGEST, LARGEST)
        if curve[0] <= 0:
            raise stored.damaged("the curve of its ordering must rise")
        return cls(of_fact, split_tables(values, shapes), curve, n_documents)


class CountedOrdering(NamedTuple):
    """An ordering and what it has to know of each label.

    Attributes
    ----------
    ordering : LabelOrdering
    counts : ndarray of float32, shape (n_labels,)
        See `polyseme.ordering.facts.log_counts`.
    bonus : ndarray of float32, shape (n_labels,), optional
        See `LabelOrdering.ordered`.
    words : NameWords, optional
        The words of their names.
    """

    ordering: LabelOrdering
    counts: Floats
    bonus: Floats | None = None
    words: NameWords | None = None

    def native(self) -> _native.LabelOrdering:
        """Return the native twin."""
        return _native.LabelOrdering(
            **self.ordering.to_arrays(),
            label_counts=self.counts,
            label_bonus=self.bonus,
            names=None if self.words is None else self.words.native(),
        )


def table_shapes(knots: tuple[Floats, ...]) -> list[tuple[int, ...]]:
    """Return the shape of each table."""
    n_knots = {name: len(own) for name, own in zip(FACTS, knots, strict=True)}
    return [tuple(n_knots[name] for name in names) for names in TABLES]


def split_tables(
    values: npt.NDArray[Any], shapes: list[tuple[int, ...]]
) -> tuple[npt.NDArray[np.float32], ...]:
    """Return the tables whose values stand one after the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(values.astype(np.float32, copy=False), ends[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def places_between(
    values: npt.NDArray[Any], knots: Floats
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Doubles]:
    """Return the knots below and above each value, and how far it is on the way between them."""
    last = len(knots) - 1
    below = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, last)
    above = np.minimum(below + 1, last)
    low, high = knots[below].astype(np.float64), knots[above].astype(np.float64)
    share = np.clip((values - low) / np.where(high > low, high - low, 1), 0, 1)
    return below, above, np.where(high > low, share, 0)


def _between(low: npt.NDArray[Any], high: npt.NDArray[Any], share: Doubles) -> Doubles:
    found: Doubles = low + (high.astype(np.float64) - low) * share
    return found
