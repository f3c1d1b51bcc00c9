"""Nearest neighbours: the labels of the training documents that are most like a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from polyseme.backbones.nearest.documents import NearestDocumentsMatcher, TakenAtItsWord
from polyseme.estimators.nearest_labels import ALL, labels_one_by_one
from polyseme.estimators.parameters import Constraint, whole_from
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["NearestNeighbours"]


class NearestNeighbours(PartitionedClassifier):
    """The nearest training documents vote for their labels.

    Documents are partitioned by k-means. In each partition they are vectors, turned so that those
    with like labels are near each other, and a graph of neighbours leads from a new document to
    the nearest ones. This is the idea of AnnexML (Tagami, 2017), with a ridge regression in the
    place of its pairwise training. Labels have no classifiers of their own, so that there is
    nothing to have several copies of. Needs the extra ``neighbours``; see docs/nearest.md.

    Parameters
    ----------
    n_neighbours : int, default=15
        How many documents vote; the nearer ones count for more.
    n_dimensions : int, default=256
        Directions that sparse features are projected to. Dense features stay as they are.
    partition_size : int, default=20000
        About how many documents are in a partition.
    n_partitions_searched : int, default=2
        In how many partitions, the nearest ones, neighbours of a document are looked for.
    beam_size : int, default=100
        Most labels of a document.
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    ordering : str, default='learned'
        'learned' puts a document's best labels in an order that is learned from training documents
        held out for that, with scores that are probabilities; 'product' leaves the order of votes.
        With too few documents to learn from it is that, too.
    favour_rare : float, default=0.0
        From 0, which finds as many right labels as can be, to 1, which counts each by its inverse
        propensity, as PSP@k does: these labels come earlier in the learned order.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the projection and of the partitions. The same one gives the same model.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import NearestNeighbours
    >>> X = np.eye(4, dtype=np.float32)
    >>> Y = [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]]
    >>> model = NearestNeighbours(n_neighbours=1).fit(X, Y)
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    kind: ClassVar[str] = "nearest-neighbours"
    why_no_update: ClassVar[str] = (
        "a NearestNeighbours cannot be updated: its vectors depend on all documents; fit it again "
        "on the old and the new ones."
    )

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{
            name: PartitionedClassifier._constraints[name]
            for name in (
                "beam_size",
                "senses",
                "ordering",
                "favour_rare",
                "n_jobs",
                "random_state",
                "verbose",
            )
        },
        "n_neighbours": whole_from(1),
        "n_dimensions": whole_from(1),
        "partition_size": whole_from(1),
        "n_partitions_searched": whole_from(1),
    }
    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_neighbours": (5, 10, 15, 25, 50),
        "n_dimensions": (128, 256, 512),
        "favour_rare": PartitionedClassifier.tuned_values["favour_rare"],
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = ({"n_neighbours": 25},)

    matcher_: NearestDocumentsMatcher
    ranker_: TakenAtItsWord

    def __init__(
        self,
        n_neighbours: int = 15,
        n_dimensions: int = 256,
        partition_size: int = 20_000,
        n_partitions_searched: int = 2,
        beam_size: int = 100,
        senses: str = "induce",
        ordering: str = "learned",
        favour_rare: float = 0.0,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            copies=1,
            beam_size=beam_size,
            rounds=0,
            match_folds=0,
            branching=ALL,
            max_leaf_size=1,
            senses=senses,
            ordering=ordering,
            favour_rare=favour_rare,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_neighbours = n_neighbours
        self.n_dimensions = n_dimensions
        self.partition_size = partition_size
        self.n_partitions_searched = n_partitions_searched

    def make_matcher(self) -> NearestDocumentsMatcher:
        """Return a fresh matcher."""
        return NearestDocumentsMatcher(
            self.n_neighbours,
            self.n_dimensions,
            self.partition_size,
            self.n_partitions_searched,
        )

    def make_ranker(self) -> TakenAtItsWord:
        """Return a ranker; it has nothing to learn."""
        return TakenAtItsWord()

    def fit(self, X: Any, Y: Any, *, hierarchy: Any = None, **others: Any) -> NearestNeighbours:
        """Learn to tag documents, as `polyseme.XRLinear.fit` does, but without a hierarchy."""
        if hierarchy is not None:
            raise ValueError("a NearestNeighbours has no tree of labels; leave out the hierarchy.")
        return super().fit(X, Y, **others)

    def _first_clusters(
        self, documents: Documents, labels: SparsePattern, run: Run
    ) -> tuple[LabelTree, LabelClusters]:
        """Return a cluster for each label."""
        return labels_one_by_one(labels.n_columns)
