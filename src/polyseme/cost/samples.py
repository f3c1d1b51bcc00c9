"""Trainings on some of the documents, timed and watched, from which the whole is estimated."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polyseme.backbones.protocols import Weighs
from polyseme.cost.formulas import JobSize
from polyseme.cost.memory import forget_peak, peak_memory, resident_memory
from polyseme.cost.of_senses import judged_sizes
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.progress import Progress
from polyseme.partition.label_tree import MAX_DOCUMENTS, MAX_FEATURES, LabelTree
from polyseme.partition.training_rows import cluster_targets
from polyseme.training.cross_matching import usable_folds

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["Sample", "arrays_of", "level_sizes", "sizes_of", "train_on_samples"]

FIRST_SAMPLE_ENTRIES = 150_000
SAMPLE_SECONDS = 0.8  # samples grow until one takes as long
MAX_SAMPLES = 4
N_QUERIES = 1000
N_QUERIES_OF_SLOW = 64
DENSE_COST = 0.25  # of a dense number, as a share of that of a sparse entry
N_PREDICTION_PASSES = 7  # the median counts: one pass is short and easily disturbed


@dataclass(frozen=True)
class Sample:
    """A training on some of the documents, and what it took."""

    size: JobSize
    seconds: Mapping[str, float]
    peaks: Mapping[str, int]  # above what was there before; empty where not known
    n_weights: tuple[int, ...]  # of each level of the matcher, and of the ranker
    n_model_bytes: int
    n_record_bytes: int  # of these, what each level keeps for every feature, used or not
    n_sense_bytes: int  # of these, the senses of labels
    prediction_seconds: float  # a document
    n_fixed_bytes: int = 0  # of the model's, what does not grow, such as an encoder
    n_resident: int = 0  # what an encoder took in the beginning, and keeps to the end
    own_work: Mapping[str, float] = field(default_factory=dict)  # of phases of this kind
    own_bytes: Mapping[str, float] = field(default_factory=dict)


class _WatchedProgress(Progress):
    """Notes the peak of memory of each phase besides its time."""

    def __init__(self) -> None:
        super().__init__(enabled=False)
        self.peaks: dict[str, int] = {}
        self.after_encoding = 0  # bytes of memory then

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Any]:
        """Time and watch a phase."""
        is_known = forget_peak()
        with super().phase(name, total) as step:
            yield step
        peak = peak_memory()
        if is_known and peak is not None:
            self.peaks[name] = max(peak, self.peaks.get(name, 0))
        if name == phases.ENCODING:
            forget_peak()  # gives back what is free
            self.after_encoding = resident_memory() or 0


def train_on_samples(model: Model, documents: Documents, Y: SparsePattern) -> list[Sample]:
    """Train on more and more documents until one training took long enough to be measured."""
    n_documents = documents.n_rows
    order = np.random.default_rng(model.random_state).permutation(n_documents)
    n_entries = sizes_of(documents, Y)["n_entries"]
    n = math.ceil(FIRST_SAMPLE_ENTRIES / max(1.0, n_entries / max(1, n_documents)))
    if model.takes_long:
        n = model.n_sampled
    samples: list[Sample] = []
    while len(samples) < MAX_SAMPLES:
        n = min(n_documents, max(n, model.match_folds))
        rows = np.sort(order[:n])
        samples.append(_train_on(model, documents.take(rows), _with_used_labels(Y.take(rows))))
        taken = sum(samples[-1].seconds.values())
        if n == n_documents or taken >= SAMPLE_SECONDS:
            break
        n = math.ceil(n * min(6.0, max(2.0, 1.5 * SAMPLE_SECONDS / max(taken, 1e-3))))
    return samples


def _with_used_labels(Y: SparsePattern) -> SparsePattern:
    used = np.unique(Y.columns)
    columns = np.searchsorted(used, Y.columns).astype(np.int32)
    return SparsePattern(Y.starts, columns, max(1, len(used)))


def _train_on(trained: Model, documents: Documents, Y: SparsePattern) -> Sample:
    watch = _WatchedProgress()
    forget_peak()
    before = resident_memory() or 0
    trained._learn(documents, Y, watch)

    n_queries = N_QUERIES_OF_SLOW if trained.takes_long else N_QUERIES
    queries = documents.rows(0, min(documents.n_rows, n_queries))
    passes = []
    for _ in range(1 if trained.takes_long else N_PREDICTION_PASSES):
        began = time.perf_counter()
        trained.predict_top_k(queries, 10)
        passes.append(time.perf_counter() - began)
    prediction_seconds = float(np.median(passes)) / queries.n_rows

    targets = cluster_targets(Y, trained.clusters_)
    tree = trained.tree_
    nodes = [tree.ancestors(targets, level).n_stored for level in range(tree.n_levels + 1)]
    size = JobSize(
        **sizes_of(documents, Y),
        slots_per_label=trained.clusters_.n_slots / trained.clusters_.n_labels,
        level_sizes=level_sizes(tree),
        nodes_per_document=tuple(count / documents.n_rows for count in nodes),
        beam_size=trained.beam_of_all_trees,
        training_rows=trained.training_rows,
        match_folds=usable_folds(documents.n_rows, trained.match_folds),
    )
    arrays = arrays_of(trained)
    return Sample(
        size=size,
        seconds=trained.phase_seconds_,
        peaks={phase: max(0, peak - before) for phase, peak in watch.peaks.items()},
        n_weights=_weightsizes_of(trained, arrays),
        n_model_bytes=sum(array.nbytes for array in arrays.values()),
        n_record_bytes=sum(
            array.nbytes for name, array in arrays.items() if name.endswith(".record_sizes")
        ),
        n_sense_bytes=sum(
            array.nbytes for name, array in arrays.items() if name.startswith("senses.")
        ),
        n_fixed_bytes=sum(array.nbytes for name, array in arrays.items() if "/" in name),
        n_resident=max(0, watch.after_encoding - before),
        own_work=trained.own_work(documents.n_rows, Y.n_columns),
        own_bytes=trained.own_bytes(documents.n_rows, Y.n_columns),
        prediction_seconds=prediction_seconds,
    )


def arrays_of(trained: Model) -> dict[str, Any]:
    """Return the arrays that would be saved; none where the backbone cannot be."""
    try:
        return trained.contents().arrays
    except ValueError:
        return {}


def _weightsizes_of(trained: Model, arrays: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the weights of each level of the matcher, and of the ranker.

    Of a backbone that does not tell, all numbers that it stores count, the matcher's as if they
    were those of its last level.
    """
    n_levels, matcher, ranker = trained.tree_.n_levels, trained.matcher_, trained.ranker_
    if isinstance(matcher, Weighs) and isinstance(ranker, Weighs):
        return (*(matcher.n_weights(level + 1) for level in range(n_levels)), ranker.n_weights())
    of_matcher, of_ranker = (
        sum(array.size for name, array in arrays.items() if name.startswith(part))
        for part in ("matcher.", "ranker.")
    )
    return (*([0] * (n_levels - 1)), *([of_matcher] * (n_levels > 0)), of_ranker)


def level_sizes(tree: LabelTree) -> tuple[int, ...]:
    """Return the nodes of each level, the root's and the leaves' included."""
    return tuple(tree.n_nodes(level) for level in range(tree.n_levels + 1))


def sizes_of(documents: Documents, Y: SparsePattern) -> dict[str, Any]:
    """Return the sizes that the data alone decide."""
    n_documents = np.bincount(Y.columns, minlength=1)
    lengths = np.full(documents.n_rows, DENSE_COST * documents.n_dense)
    if documents.sparse is not None:
        lengths += np.diff(documents.sparse.starts)
    n_entries = np.bincount(Y.columns, np.repeat(lengths, np.diff(Y.starts)), 1)
    n_summed = n_entries * np.minimum(1, MAX_DOCUMENTS / np.maximum(1, n_documents))
    return {
        "n_documents": documents.n_rows,
        "n_entries": int(lengths.sum()),
        "n_pairs": Y.n_stored,
        "n_summed_entries": float(n_summed.sum()),
        "n_label_entries": float(np.minimum(n_summed, MAX_FEATURES).sum()),
        "n_used_labels": int(np.count_nonzero(n_documents)),
        "n_features": documents.n_features,
        **judged_sizes(n_documents),
    }
