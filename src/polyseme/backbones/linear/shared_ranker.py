"""A linear classifier for every label, which stands in each of its slots.

ELIAS has one vector per label, shared by the clusters that it is in (Gupta et al., 2022). Here it
is trained on the documents of all these clusters together. Labels with the same clusters have the
same documents, so they are trained side by side, as if they were a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.tasks import RankingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.brief import briefly
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["SharedSlotRanker"]

MOST_ROWS_AT_ONCE = 1 << 24  # (group, document) pairs that are laid out for training


@dataclass(frozen=True, eq=False)
class Groups:
    """Labels that are in the same clusters.

    Attributes
    ----------
    clusters : csr_array of float32, shape (n_groups, n_clusters)
        The clusters of each group.
    starts : ndarray of int64, shape (n_groups + 1,)
    labels : ndarray of int32, shape (n_labels_of_groups,)
        The labels of group ``g`` are ``starts[g]`` to ``starts[g + 1]``.
    """

    clusters: sp.csr_array
    starts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]

    __repr__ = briefly

    @classmethod
    def of(cls, clusters: LabelClusters, labels: npt.NDArray[np.int64]) -> Groups:
        """Group labels, each of which has a slot, in the order of their first ones."""
        of_label = sp.csr_array(clusters.to_matrix())[labels]
        of_label.sort_indices()
        number_of: dict[bytes, int] = {}
        group = np.array(
            [
                number_of.setdefault(of_label.indices[first:last].tobytes(), len(number_of))
                for first, last in pairwise(of_label.indptr.tolist())
            ],
            dtype=np.int64,
        )
        order = np.argsort(group, kind="stable")
        sizes = np.bincount(group, minlength=len(number_of))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(of_label[order[starts[:-1]]], starts, labels[order].astype(np.int32))

    def documents_of(self, rows: SparsePattern) -> SparsePattern:
        """Return the documents of any of a group's clusters, shape (n_documents, n_groups)."""
        return SparsePattern.from_scipy(rows.to_scipy() @ self.clusters.T)

    def parts(self, rows: SparsePattern) -> Iterator[Groups]:
        """Cut into parts with few enough documents to be laid out at once."""
        n_rows = self.clusters @ np.bincount(rows.columns, minlength=rows.n_columns)
        part = np.cumsum(n_rows).astype(np.int64) // MOST_ROWS_AT_ONCE
        borders = np.flatnonzero(np.diff(part, prepend=-1, append=-1))
        for first, last in pairwise(borders.tolist()):
            starts = self.starts[first : last + 1]
            own = self.labels[starts[0] : starts[-1]]
            yield Groups(self.clusters[first:last], starts - starts[0], own)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Classifiers, to be laid into slots.

    Attributes
    ----------
    weights : csr_array of float32, shape (n_features, n_vectors)
    bias : ndarray of float32, shape (n_vectors,)
    """

    weights: sp.csr_array
    bias: npt.NDArray[np.float32]

    __repr__ = briefly

    @classmethod
    def stack(cls, parts: Sequence[Vectors], n_features: int) -> Vectors:
        """Return the vectors of all parts, one after another."""
        none = sp.csr_array((n_features, 0), dtype=np.float32)
        return cls(
            sp.hstack([none, *(part.weights for part in parts)], format="csr"),
            np.concatenate([np.zeros(0, np.float32), *(part.bias for part in parts)]),
        )

    @classmethod
    def of(cls, trained: LinearWeights) -> Vectors:
        """Return those of trained slots, in their order."""
        return cls(trained.to_rows().to_scipy(), trained.bias)

    def take(self, numbers: npt.NDArray[np.int64]) -> Vectors:
        """Return some of them, any as often as wanted."""
        return Vectors(self.weights[:, numbers], self.bias[numbers])

    def packed(self, starts: npt.NDArray[np.int64], weight_bits: int) -> LinearWeights:
        """Return the weights of slots that have these vectors, in their order."""
        rows = SparseRows.from_scipy(self.weights)
        return LinearWeights.from_rows(rows, self.bias, starts, weight_bits)


class SharedSlotRanker(LinearSlotRanker):
    """One weight vector per label, trained once and laid into each of its slots.

    In an update, a label that also has a slot in a cluster without new documents has no new
    document itself, and keeps its vector: so all its slots stay alike.
    """

    def _train(
        self,
        documents: Documents,
        task: RankingTask,
        how: LinearTraining,
        draft_how: LinearTraining,
        run: Run,
    ) -> tuple[LinearWeights, LinearWeights | None]:
        n_features, n_dense = documents.n_features, documents.layout[1]
        if n_dense > 0:
            raise ValueError(
                f"slot_weights='shared' takes sparse features only, but {n_dense} are dense; give "
                "X as one sparse matrix, or choose slot_weights='own'."
            )
        clusters, changed = task.clusters, task.changed
        is_learned = clusters.copies > 0
        if changed is not None:
            is_learned[clusters.labels[~changed[clusters.cluster_of_slot]]] = False
        groups = Groups.of(clusters, np.flatnonzero(is_learned))
        trained, drafts = [], []
        n_done = 0
        for part in groups.parts(task.rows):
            vectors, draft = _train_part(
                documents, task, part, how, draft_how, run.counting_from(n_done)
            )
            trained.append(vectors)
            drafts += [] if draft is None else [draft]
            n_done += len(part.labels)
        if run.progress is not None:  # a label counts once above, and with all its slots here
            run.progress(clusters.n_slots)
        learned = Vectors.stack(trained, n_features)
        number_of = np.zeros(clusters.n_labels, dtype=np.int64)
        number_of[groups.labels] = np.arange(len(groups.labels))
        if changed is not None:
            return _beside_kept(learned, number_of, is_learned, task, how.weight_bits), None
        numbers = number_of[clusters.labels]
        weights = learned.take(numbers).packed(clusters.starts, how.weight_bits)
        if task.held_out is None:
            return weights, None
        in_haste = Vectors.stack(drafts, n_features).take(numbers)
        return weights, in_haste.packed(clusters.starts, draft_how.weight_bits)


def _train_part(
    documents: Documents,
    task: RankingTask,
    groups: Groups,
    how: LinearTraining,
    draft_how: LinearTraining,
    run: Run,
) -> tuple[Vectors, Vectors | None]:
    """Train each label of some groups once, on the documents of all its clusters."""
    own = task.own_documents
    trained, draft = LinearWeights.train(
        documents,
        groups.documents_of(task.rows),
        groups.starts,
        groups.labels,
        task.labels,
        replace(how, weight_bits=32),
        run,
        own_documents=None if own is None else groups.documents_of(own),
        target_weights=task.label_weights,
        held_out=task.held_out,
        draft_how=replace(draft_how, weight_bits=32),
    )
    return Vectors.of(trained), None if draft is None else Vectors.of(draft)


def _beside_kept(
    learned: Vectors,
    number_of: npt.NDArray[np.int64],
    is_learned: npt.NDArray[np.bool_],
    task: RankingTask,
    weight_bits: int,
) -> LinearWeights:
    """Return the changed clusters, in which labels that were not learned have what they had."""
    clusters, before = task.clusters, task.start_from.trained
    assert task.changed is not None
    is_changed = task.changed[clusters.cluster_of_slot]
    stayed = np.flatnonzero(~is_changed)
    kept_labels, at = np.unique(clusters.labels[stayed], return_index=True)
    home = clusters.cluster_of_slot[stayed[at]]
    slot_before = before.slot_starts[home] + stayed[at] - clusters.starts[home]
    number_of[kept_labels] = len(learned.bias) + np.arange(len(kept_labels))
    both = Vectors.stack([learned, Vectors.of(before).take(slot_before)], before.n_features)
    labels = clusters.labels[is_changed]
    starts = np.concatenate([[0], np.cumsum(clusters.sizes[task.changed])]).astype(np.int64)
    weights = both.take(number_of[labels]).packed(starts, weight_bits)
    if len(weights.scales) == 0:
        return weights
    # What a step is worth stays to the last bit, although it was computed from rounded weights.
    scale_before = np.zeros(clusters.n_labels, dtype=np.float32)
    scale_before[kept_labels] = before.scales[slot_before]
    scales = np.where(is_learned[labels], weights.scales, scale_before[labels])
    return replace(weights, scales=scales)
