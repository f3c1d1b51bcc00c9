"""The senses of a model's labels: a layer over the model that it is kept with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.files.stored_model import StoredModel
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.judge import AmbiguityJudge

__all__ = ["SHOWN_FROM", "SenseLayer"]

SHOWN_FROM = 0.5  # probability of being ambiguous from which a label is said to have senses
EVIDENCE = ("labels", "embedding", "text")
MOST_CALIBRATION = 100_000  # characters of JSON

Array = npt.NDArray[Any]


def check_at_least(at_least: float) -> None:
    """Refuse what is no probability."""
    if type(at_least) is bool or not isinstance(at_least, int | float | np.number):
        raise ValueError(f"at_least must be a probability from 0 to 1, not {at_least!r}.")
    if not 0 <= at_least <= 1:
        raise ValueError(f"at_least must be a probability from 0 to 1, not {at_least}.")


@dataclass(frozen=True, eq=False)
class SenseLayer:
    """The senses of a model's labels.

    Every label with enough documents was split as well as its documents can be, and judged: is
    that split one of meanings? Only labels that are likely ambiguous are shown with senses; the
    splits of the others are kept for those who ask.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_judged,)
        The labels that were judged, ascending.
    probabilities : ndarray of float32, shape (n_judged,)
        How likely each of them is ambiguous.
    starts : ndarray of int64, shape (n_judged + 1,)
        The senses of ``labels[i]`` are ``starts[i]`` to ``starts[i + 1]``, two or more, the one
        with most documents first.
    counts : ndarray of int64, shape (n_senses,)
        Training documents of each sense.
    words : SparseRows, shape (n_senses, n_features)
        What the ranker sees of documents, summed over those of the sense; of unit length, without
        what is small.
    beside : SparseRows, shape (n_senses, n_labels)
        The other labels of these documents, rare ones counting more; the same form.
    typical : ndarray of int64, shape (n_senses, n_typical)
        Training documents that are nearest to the middle of the sense; -1 where there are none.
    evidence : str
        What told senses apart: the other 'labels' of documents, or, where documents have one
        label each, their 'embedding' or their 'text'.
    calibration : dict
        What probabilities were learned from, and how reliable they proved; plain JSON values.
    names : dict of int to str
        Names of senses that were asked for; see `polyseme.senses.sense_name`. Not stored.
    """

    labels: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    words: SparseRows
    beside: SparseRows
    typical: npt.NDArray[np.int64]
    evidence: str = "labels"
    calibration: dict[str, Any] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return (
            f"<SenseLayer: {self.n_shown:,} of {self.n_judged:,} labels that were judged are "
            "likely ambiguous>"
        )

    @property
    def n_judged(self) -> int:
        """Number of labels that were judged."""
        return len(self.labels)

    @property
    def n_senses(self) -> int:
        """Number of senses of all judged labels."""
        return len(self.counts)

    @cached_property
    def n_shown(self) -> int:
        """Number of labels that are shown with senses."""
        return int(np.count_nonzero(self.probabilities >= SHOWN_FROM))

    def label_place(self, sense: int) -> int:
        """Return which of the judged labels a sense belongs to."""
        return int(np.searchsorted(self.starts, sense, side="right")) - 1

    def labels_of(self, senses: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the label of each of some senses."""
        return self.labels[np.searchsorted(self.starts, senses, side="right") - 1]

    def place_of(self, sense: int) -> int:
        """Return which of its label's senses a sense is, from 0."""
        return sense - int(self.starts[self.label_place(sense)])

    def with_calibration(self, evidence: str, calibration: dict[str, Any]) -> SenseLayer:
        """Return the same with what its probabilities rest on."""
        return replace(self, evidence=evidence, calibration=calibration, names={})

    def probability_of(self, label: int) -> float | None:
        """Return how likely a label is ambiguous; None if it was not judged."""
        place = self._place(label)
        return None if place is None else float(self.probabilities[place])

    def senses_of(self, label: int, at_least: float = SHOWN_FROM) -> range:
        """Return the numbers of a label's senses; none if it is less likely ambiguous."""
        check_at_least(at_least)
        place = self._place(label)
        if place is None or self.probabilities[place] < at_least:
            return range(0)
        return range(int(self.starts[place]), int(self.starts[place + 1]))

    def _place(self, label: int) -> int | None:
        place = int(np.searchsorted(self.labels, label))
        found = place < len(self.labels) and self.labels[place] == label
        return place if found else None

    def has_senses(
        self, labels: npt.NDArray[Any], at_least: float = SHOWN_FROM
    ) -> npt.NDArray[np.bool_]:
        """Return which of some labels are shown with senses; an array of the same shape."""
        check_at_least(at_least)
        if self.n_judged == 0:
            return np.zeros(labels.shape, dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.labels, labels), self.n_judged - 1)
        found: npt.NDArray[np.bool_] = self.labels[place] == labels
        return found & (self.probabilities[place] >= at_least)

    def senses_by_label(
        self, n_labels: int, at_least: float = SHOWN_FROM
    ) -> npt.NDArray[np.int64]:
        """Return how many senses each label has, shape (n_labels,): 1 where none are shown."""
        found = np.ones(n_labels, dtype=np.int64)
        shown = self.probabilities >= at_least
        found[self.labels[shown]] = np.diff(self.starts)[shown]
        return found

    def merged_with(self, newer: SenseLayer, only: npt.NDArray[np.bool_]) -> SenseLayer:
        """Return the senses of a newer layer for some labels, and the present ones of all others.

        What is kept stays bit for bit, and so do evidence and calibration.

        Parameters
        ----------
        newer : SenseLayer
            Of a model with as many labels or more, whose first training documents are those of
            this layer.
        only : ndarray of bool, shape (n_labels,)
            The labels whose senses are those of `newer`.
        """
        width = max(self.typical.shape[1], newer.typical.shape[1])
        parts = [
            self._taken(np.flatnonzero(~only[self.labels]), newer.beside.n_columns, width),
            newer._taken(np.flatnonzero(only[newer.labels]), newer.beside.n_columns, width),
        ]
        labels = np.concatenate([part.labels for part in parts])
        together = replace(
            self,
            labels=labels,
            probabilities=np.concatenate([part.probabilities for part in parts]),
            starts=np.append(parts[0].starts, parts[0].starts[-1] + parts[1].starts[1:]),
            counts=np.concatenate([part.counts for part in parts]),
            words=SparseRows.stack([part.words for part in parts]),
            beside=SparseRows.stack([part.beside for part in parts]),
            typical=np.concatenate([part.typical for part in parts]),
        )
        return together._taken(np.argsort(labels), newer.beside.n_columns, width)

    def _taken(self, places: npt.NDArray[np.int64], n_labels: int, n_typical: int) -> SenseLayer:
        """Return the layer of some of the judged labels, with as many labels and columns."""
        counts = np.diff(self.starts)[places]
        starts = np.append(0, np.cumsum(counts))
        senses = np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], counts)
        typical = np.full((len(senses), n_typical), -1, dtype=np.int64)
        typical[:, : self.typical.shape[1]] = self.typical[senses]
        return replace(
            self,
            labels=self.labels[places],
            probabilities=self.probabilities[places],
            starts=starts,
            counts=self.counts[senses],
            words=self.words.take(senses),
            beside=replace(self.beside.take(senses), n_columns=n_labels),
            typical=typical,
            names={},
        )

    # Files

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays by name, to be stored."""
        arrays: dict[str, Array] = {
            "labels": self.labels,
            "probabilities": self.probabilities,
            "starts": self.starts,
            "counts": self.counts,
            "typical": self.typical,
        }
        for name, rows in (("words", self.words), ("beside", self.beside)):
            arrays.update({f"{name}.{key}": array for key, array in rows.to_arrays().items()})
        return arrays

    def describe(self) -> dict[str, Any]:
        """Return all else, as JSON values."""
        return {"evidence": self.evidence, "calibration": self.calibration}

    @classmethod
    def restore(
        cls,
        stored: StoredModel,
        description: dict[str, Any],
        *,
        n_labels: int,
        n_features: int,
        n_documents: int,
    ) -> SenseLayer:
        """Return what was stored, after checking all of it."""
        labels = stored.array("labels", np.int32, (None,))
        stored.in_range("labels", 0, n_labels)
        if (labels[1:] <= labels[:-1]).any():
            raise stored.damaged("the labels of its senses must ascend")
        stored.array("probabilities", np.float32, (len(labels),))
        counts = stored.array("counts", np.int64, (None,))
        stored.in_range("counts", 0, n_documents + 1)
        starts = stored.starts("starts", last=len(counts), length=len(labels) + 1)
        if (np.diff(starts) < 2).any():
            raise stored.damaged("a label of its senses has fewer than two")
        is_first = np.zeros(len(counts), dtype=np.bool_)
        is_first[starts[:-1]] = True
        if ((counts[1:] > counts[:-1]) & ~is_first[1:]).any():
            raise stored.damaged("the senses of a label must have the one of most documents first")
        typical = stored.array("typical", np.int64, (len(counts), None))
        stored.in_range("typical", -1, n_documents)
        evidence, calibration = description.get("evidence"), description.get("calibration")
        if evidence not in EVIDENCE or not isinstance(calibration, dict):
            raise stored.damaged("its description of senses is not one")
        _check_plain(stored, calibration)
        return cls(
            labels=labels,
            probabilities=stored.in_range("probabilities", 0, 1 + 1e-6),
            starts=starts,
            counts=counts,
            words=_unit_rows(stored.part("words"), len(counts), n_features),
            beside=_unit_rows(stored.part("beside"), len(counts), n_labels),
            typical=typical,
            evidence=evidence,
            calibration=calibration,
        )


def _unit_rows(stored: StoredModel, n_rows: int, n_columns: int) -> SparseRows:
    rows = stored.rows(n_rows, n_columns)
    stored.in_range("values", -1.001, 1.001)  # of rows of unit length
    if not rows.pattern().ascends():
        raise stored.damaged(f"the columns of {stored.within[:-1]!r} must ascend in each row")
    return rows


def _check_plain(stored: StoredModel, calibration: dict[str, Any]) -> None:
    """Refuse what cannot be shown to people, or be stored again."""
    try:
        is_short = len(json.dumps(calibration, allow_nan=False)) <= MOST_CALIBRATION
    except (ValueError, RecursionError):
        is_short = False
    if not is_short:
        raise stored.damaged("the calibration of its senses is too long, or has no finite numbers")
    try:
        AmbiguityJudge.from_json(calibration)
    except ValueError as error:
        raise stored.damaged(str(error)) from None
