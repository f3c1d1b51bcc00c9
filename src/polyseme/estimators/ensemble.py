"""Several models of one kind that answer together: the mean of what they say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from polyseme.backbones.neural.together import agreed
from polyseme.estimators.predicting import check_k, joined_rankings, top_k_of_rows
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.loading import load
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.metrics import evaluate, propensities
from polyseme.training.held_out import ROWS_AT_ONCE

__all__ = ["AVERAGES", "Ensembling", "with_first_members_arrays"]

Self = TypeVar("Self", bound="Ensembling")
TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
NEVER = 1e-6  # what the geometric mean takes for the score of a label that was not reached


def _mean(scores: Sequence[sp.csr_array]) -> sp.csr_array:
    return sum(scores[1:], start=scores[0]) / len(scores)


def _geometric_mean(scores: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return the root of the product; what one does not reach counts as hardly likely."""
    above = [one.copy() for one in scores]
    for one in above:
        one.data = np.log(np.maximum(one.data, NEVER)) - np.log(NEVER)  # 0 where it is not stored
    mean = _mean(above)
    mean.data = np.exp(mean.data + np.log(NEVER))
    return mean


def _mean_of_ranks(scores: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return the mean of 1 / place, for scores that cannot be compared."""
    ranked = []
    for one in scores:
        row_of_entry = np.repeat(np.arange(one.shape[0]), np.diff(one.indptr))
        order = np.lexsort((one.indices, -one.data, row_of_entry))
        places = np.empty(len(order))
        places[order] = np.arange(len(order)) - one.indptr[row_of_entry[order]]
        ranked.append(sp.csr_array((1 / (1 + places), one.indices, one.indptr), shape=one.shape))
    return _mean(ranked)


AVERAGES: Mapping[str, Callable[[Sequence[sp.csr_array]], sp.csr_array]] = {
    "mean": _mean,
    "geometric": _geometric_mean,
    "ranks": _mean_of_ranks,
}


class Ensembling(XRLinear):
    """The part of an estimator that may be several of its kind, each with parameters of its own.

    Clusters, slots, senses and explanations are those of the first member.

    Attributes
    ----------
    members_ : list of estimators
        All members, the first included; empty for a single model.
    """

    ensemble: Sequence[Sequence[str]] | None
    average: str
    work_folder: str | None
    members_: list[Any]
    features_: Any

    @property
    def why_no_update(self) -> str:
        """Why it cannot be updated; empty if it can."""
        if not getattr(self, "members_", None):
            return ""
        return (
            "an ensemble cannot be updated: its members have clusters of their own; fit it again."
        )

    def _parameters_of_member(self, member: Sequence[str]) -> dict[str, Any]:
        """Return the parameters that a member has of its own."""
        raise TypeError(f"{type(self).__name__} does not say what its members differ in.")

    def _fit_members(self: Self, X: Any, Y: Any, order_from: Any, **others: Any) -> Self:
        """Train members one after the other; those that were trained and kept are read."""
        documents = check_features(X)
        found = []
        for place, own in enumerate(self.ensemble or ()):
            member: Any = clone(self)
            member.set_params(ensemble=None, **self._parameters_of_member(own))
            kept = None if order_from is not None else self._place_of(member, documents, Y, others)
            if kept is not None and agreed((kept / "model.json").exists()):
                member = load(kept, n_jobs=self.n_jobs)
            else:
                before = order_from.members_[place] if order_from is not None else None
                member.fit(documents, Y, order_from=before, **others)
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    member.save(kept)
            found.append(member)
        for name, value in vars(found[0]).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.members_ = found
        self.trained_parameters_ = self._lasting_parameters()
        self.phase_seconds_ = _added([member.phase_seconds_ for member in found])
        self._make_walk()
        return self

    def _place_of(
        self, member: Any, documents: Documents, Y: Any, others: Mapping[str, Any]
    ) -> Path | None:
        """Return where a member is kept: by its parameters and by what it learns from."""
        if self.work_folder is None:
            return None
        labels, names = check_labels(Y, documents.n_rows, label_names=others.get("label_names"))
        digest = hashlib.sha256(json.dumps(member._lasting_parameters(), sort_keys=True).encode())
        arrays = [labels.starts, labels.columns]
        if documents.sparse is not None:
            arrays += documents.sparse.to_arrays().values()
        if documents.dense is not None:
            arrays.append(documents.dense)
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        features = others.get("feature_names")
        told = (documents.texts, names, features)
        for text in (str(one) for part in told if part is not None for one in part):
            digest.update(hashlib.blake2b(text.encode()).digest())
        folder = Path(self.work_folder).expanduser()
        return folder / "members" / digest.hexdigest()[:24]

    def of_members(self: Self, places: Sequence[int]) -> Self:
        """Return the same with some of its members only, which must be trained.

        Parameters
        ----------
        places : sequence of int
            Counted from 0, in the order of `ensemble`.
        """
        if not self.members_:
            raise ValueError("this model has no members; give it an ensemble before fit.")
        n_members = len(self.members_)
        if not len(places) or not all(0 <= place < n_members for place in places):
            raise ValueError(f"members are numbered from 0 to {n_members - 1}, not {places!r}.")
        chosen: Self = clone(self)
        chosen.set_params(ensemble=[self.ensemble[place] for place in places])  # type: ignore[index]
        first = self.members_[places[0]]
        for name, value in vars(first).items():
            if name.endswith("_") or name == "_walk":
                setattr(chosen, name, value)
        chosen.label_names_, chosen.feature_names_ = self.label_names_, self.feature_names_
        chosen.members_ = [self.members_[place] for place in places]
        chosen.trained_parameters_ = chosen._lasting_parameters()
        return chosen

    def member_figures(
        self, X: Any, Y: Any, ks: Sequence[int] = (1, 3, 5)
    ) -> list[dict[str, Any]]:
        """Measure each member, and at last all of them together.

        Parameters
        ----------
        X : Documents
        Y : sparse or dense 0/1 matrix, or lists of labels

        Returns
        -------
        list of dict
            ``member`` (its place, None for all together), what it is, and P@k and PSP@k.
        """
        documents = self._check(X)
        known = self._known_labels() or range(self.n_labels_)
        truth, _ = check_labels(Y, documents.n_rows, label_names=known, allow_unknown=True)
        n_unknown = truth.n_columns - self.n_labels_
        counted = propensities(np.pad(self.label_counts_, (0, n_unknown)), self.n_documents_)
        rows: list[dict[str, Any]] = []
        together, *of_members = self.rankings(documents, max(ks))
        for place, (best, _) in [*enumerate(of_members), (None, together)]:
            figures = evaluate(best, truth.to_scipy(), ks=ks, propensities=counted)
            own = () if place is None else tuple(self.ensemble[place])  # type: ignore[index]
            kept = {
                f"{name}@{k}": float(figures[f"{name}@{k}"]) for name in ("P", "PSP") for k in ks
            }
            rows.append({"member": place, "of": own, **kept})
        return rows

    # Prediction

    def _label_scores(self, documents: Documents) -> SparseRows:
        if not self.members_:
            return super()._label_scores(documents)
        blocks = documents.blocks(ROWS_AT_ONCE)
        return SparseRows.stack([self._scores_by_all(block)[0] for block in blocks])

    def _scores_by_all(self, documents: Documents) -> list[SparseRows]:
        """Return the scores of labels by the average, and behind it those by each member."""
        own = [member._label_scores(documents) for member in self.members_]
        average = AVERAGES[self.average]([scores.to_scipy() for scores in own])
        return [SparseRows.from_scipy(average), *own]

    def rankings(self, X: Any, k: int = 5) -> list[TopK]:
        """Return the k best labels by all members together, and behind that by each."""
        if not self.members_:
            return super().rankings(X, k)
        n_best = check_k(k)
        return joined_rankings(
            [top_k_of_rows(scores, n_best) for scores in self._scores_by_all(block)]
            for block in self._check(X).blocks(ROWS_AT_ONCE)
        )

    def predict_top_k(self, X: Any, k: int = 5) -> TopK:
        """Return the k best labels of each document, best first; see `XRLinear.predict_top_k`."""
        if not getattr(self, "members_", None):
            return super().predict_top_k(X, k)
        return top_k_of_rows(self._label_scores(self._check(X)), check_k(k))

    # Files

    def _with_members(self, own: Contents) -> Contents:
        for place, member in enumerate(self.members_):
            own = own.with_part(f"member-{place}", member.contents())
        return own

    def _restore_members(self, stored: StoredModel, n_jobs: int | None) -> None:
        n_members = len(self.ensemble or ())
        self.members_ = [
            type(self).restored(stored.model(f"member-{place}"), n_jobs=n_jobs)
            for place in range(n_members)
        ]
        if self.members_:  # one encoder in memory is enough
            first = self.members_[0]
            self.features_, self.matcher_, self.ranker_ = (
                first.features_,
                first.matcher_,
                first.ranker_,
            )
            self._make_walk()
        for member in self.members_:
            if member.n_labels_ != self.n_labels_ or member.layout_ != self.layout_:
                raise stored.damaged("its members do not have the same labels and features")


def with_first_members_arrays(stored: StoredModel) -> StoredModel:
    """Return a stored model with all arrays; an ensemble's are those of its first member.

    Ensembles of before have them twice, and come back as they are.
    """
    parts = stored.description.get("parts")
    if not isinstance(parts, dict) or "member-0" not in parts or "label_counts" in stored.arrays:
        return stored
    return replace(stored, arrays={**stored.arrays, **stored.model("member-0").arrays})


def _added(seconds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in seconds:
        for phase, taken in one.items():
            total[phase] = total.get(phase, 0.0) + taken
    return total
