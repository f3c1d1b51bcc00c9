"""Any multi-label classifier of scikit-learn as the matcher: clusters are its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import clone

from polyseme.adapters.exchange import plain_matrix
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import MatchingTask
from polyseme.estimators.parameters import Constraint, number_above, number_from, one_of
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run

__all__ = ["ClassifierAsMatcher", "MatchedBy"]

ROWS_AT_ONCE = 4096  # scores of all clusters are a dense block
LEAST_SCORE = 1e-6  # scores multiply, and what was visited must not vanish

Array = npt.NDArray[Any]


@dataclass
class ClassifierAsMatcher:
    """Finds clusters by a classifier whose labels they are.

    Clusters that no training document has, or all of them, are no question to a classifier: they
    have the least score, or 1.

    Parameters
    ----------
    classifier : classifier of scikit-learn
        Has ``fit(X, Y)`` with a 0/1 matrix Y, and ``predict_proba`` or ``decision_function``; a
        copy of it is trained. Where its `random_state` is None, it is the seed of the run.
    """

    classifier: Any
    fitted: Any = None
    asked: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    constant: npt.NDArray[np.float32] = field(
        default_factory=lambda: np.zeros(0, dtype=np.float32)
    )

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> ClassifierAsMatcher:
        """Train a fresh copy of the classifier, on all clusters, whatever the task calls changed.

        The tree above the clusters is of no use to it.
        """
        n_documents, n_clusters = task.targets.shape
        counts = np.bincount(task.targets.columns, minlength=n_clusters)
        self.constant = np.where(counts > 0, 1, LEAST_SCORE).astype(np.float32)
        self.asked = np.flatnonzero((counts > 0) & (counts < n_documents))
        self.fitted = None
        if len(self.asked) > 0:
            targets = task.targets.take_columns(self.asked).to_scipy().toarray().astype(np.int8)
            if len(self.asked) == 1:  # a single column would not be a matrix of labels to it
                targets = np.hstack([targets, 1 - targets])
            self.fitted = self._trained(_features(documents), targets, run.seed)
        if run.progress is not None:
            run.progress(task.tree.n_nodes_below_root)
        return self

    def _trained(self, X: Any, targets: Array, seed: int) -> Any:
        fresh = clone(self.classifier)
        seeds = {
            name: seed
            for name, value in fresh.get_params().items()
            if name.rpartition("__")[2] == "random_state" and value is None
        }
        try:
            return fresh.set_params(**seeds).fit(X, targets)
        except ValueError as error:
            raise ValueError(
                f"{type(fresh).__name__} cannot learn several clusters per document ({error}); "
                "give a multi-label classifier, or one inside "
                "sklearn.multiclass.OneVsRestClassifier."
            ) from error

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the best clusters of each document; scores are above 0 and at most 1.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        parts = []
        for block in documents.blocks(ROWS_AT_ONCE):
            scores = np.tile(self.constant, (block.n_rows, 1))
            if self.fitted is not None and block.n_rows > 0:
                scores[:, self.asked] = self._scores(_features(block))
            parts.append(SparseRows.best_of(scores, beam_size))
            if run.progress is not None:
                run.progress(sum(part.n_rows for part in parts))
        return SparseRows.stack(parts)

    def _scores(self, X: Any) -> Array:
        if hasattr(self.fitted, "predict_proba"):
            found = self.fitted.predict_proba(X)
            if isinstance(found, list):  # a forest has an answer for each column
                found = np.column_stack([part[:, -1] for part in found])
        else:
            found = expit(self.fitted.decision_function(X))
        scores = np.asarray(found)
        wanted = (X.shape[0], max(2, len(self.asked)))
        if scores.shape != wanted or not np.isfinite(scores).all():
            raise ValueError(
                f"{type(self.fitted).__name__} must give a finite score for each of {wanted[0]} "
                f"documents and {wanted[1]} clusters, but gave an array of shape {scores.shape}."
            )
        return scores[:, : len(self.asked)].clip(LEAST_SCORE, 1)


def _features(documents: Documents) -> Any:
    """Return features as scikit-learn takes them: dense where all of them are."""
    if documents.sparse is None:
        return documents.dense
    return plain_matrix(documents.all_sparse())


class MatchedBy(PartitionedClassifier):
    """Labels in several clusters, found by any multi-label classifier of scikit-learn.

    The classifier is trained with clusters as its labels and finds a few for a document; linear
    classifiers then rank the labels in these, as in `polyseme.XRLinear`. Such a model cannot be
    saved: model files hold no code, and a classifier of scikit-learn can be stored only as such.

    Parameters
    ----------
    classifier : classifier of scikit-learn
        See `ClassifierAsMatcher`. It is trained several times, on copies: `match_folds` times for
        a round, once for the clusters in the end, and again for the order of labels.
    copies, beam_size, rounds, assignment, max_cluster_size, match_folds, max_leaf_size
        As in `polyseme.XRLinear`; `max_leaf_size` decides how many clusters there are.
    C, min_weight, weight_bits
        Of the linear ranker, as in `polyseme.XRLinear`.
    training_rows, senses, ordering, merge, n_jobs, random_state, verbose
        As in `polyseme.XRLinear`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from polyseme.adapters import MatchedBy
    >>> X, Y = np.eye(4, dtype=np.float32), [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]]
    >>> model = MatchedBy(RidgeClassifier(), max_leaf_size=2).fit(X, Y)
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **PartitionedClassifier._constraints,
        "classifier": Constraint(
            "a classifier of scikit-learn with predict_proba or decision_function",
            lambda value: (
                not isinstance(value, type)
                and all(hasattr(value, name) for name in ("fit", "get_params"))
                and any(hasattr(value, name) for name in ("predict_proba", "decision_function"))
            ),
        ),
        "C": number_above(0),
        "min_weight": number_from(0),
        "weight_bits": one_of(8, 32),
    }

    matcher_: ClassifierAsMatcher
    ranker_: LinearSlotRanker

    def __init__(
        self,
        classifier: Any = None,
        copies: int = 3,
        beam_size: int = 10,
        rounds: int = 1,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 2,
        max_leaf_size: int = 100,
        C: float = 1.0,
        min_weight: float = 0.1,
        weight_bits: int = 8,
        training_rows: str = "teacher-forcing",
        senses: str = "induce",
        ordering: str = "learned",
        merge: str = "sum",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            copies=copies,
            beam_size=beam_size,
            rounds=rounds,
            assignment=assignment,
            max_cluster_size=max_cluster_size,
            match_folds=match_folds,
            max_leaf_size=max_leaf_size,
            training_rows=training_rows,
            senses=senses,
            ordering=ordering,
            merge=merge,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.classifier = classifier
        self.C = C
        self.min_weight = min_weight
        self.weight_bits = weight_bits

    def make_matcher(self) -> ClassifierAsMatcher:
        """Return a fresh matcher."""
        return ClassifierAsMatcher(self.classifier)

    def make_ranker(self) -> LinearSlotRanker:
        """Return a fresh ranker."""
        return LinearSlotRanker(
            LinearTraining(cost=self.C, min_weight=self.min_weight, weight_bits=self.weight_bits)
        )

    def contents(self) -> NoReturn:
        """Refuse to be stored."""
        raise ValueError(
            "a MatchedBy cannot be saved: model files hold no code, and its "
            f"{type(self.classifier).__name__} could be stored only as such; train it again where "
            "it is needed, or use XRLinear."
        )
