"""What training would take, from training on a few samples of the documents.

A job's size decides how much work each phase has; the formulas are in `polyseme.cost.formulas`.
How long a unit of work takes, and how much memory, is measured on this machine with samples of the
data.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyseme.backbones.protocols import Weighs
from polyseme.cost.formulas import (
    JobSize,
    WeightLaw,
    count_weights,
    phase_memory,
    phase_work,
    positives_of_node,
    positives_of_slot,
    prediction_work,
    slowdown,
    uncertainty,
)
from polyseme.cost.memory import available_memory, forget_peak, peak_memory, resident_memory
from polyseme.cost.of_senses import NUMBERS_PER_JUDGED, judged_sizes
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.progress import Progress
from polyseme.machine.threads import count_jobs
from polyseme.partition.forest import plant_together
from polyseme.partition.label_tree import MAX_DOCUMENTS, MAX_FEATURES, LabelTree
from polyseme.partition.training_rows import cluster_targets
from polyseme.partition.trees.given import LabelHierarchy, check_hierarchy
from polyseme.partition.trees.registry import TREES
from polyseme.training.cross_matching import usable_folds

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["Range", "TrainingEstimate", "arrays_of", "estimate_training"]

FIRST_SAMPLE_ENTRIES = 150_000
SAMPLE_SECONDS = 0.8  # samples grow until one takes as long
MAX_SAMPLES = 4
N_QUERIES = 1000
FIRST_SAMPLE_OF_SLOW = 200  # documents, where each takes milliseconds
N_QUERIES_OF_SLOW = 64
NO_WORK: Mapping[str, float] = {}
DENSE_COST = 0.25  # of a dense number, as a share of that of a sparse entry
N_PREDICTION_PASSES = 7  # the median counts: one pass is short and easily disturbed
# Dense arrays that each thread keeps, some numbers a feature; they do not grow with documents.
BYTES_PER_FEATURE_AND_THREAD = 16


@dataclass(frozen=True)
class Range:
    """A figure with what it may be less and more."""

    about: float
    low: float
    high: float

    @classmethod
    def around(cls, figure: float, factor: float) -> Range:
        """Return figure / factor to figure * factor."""
        return cls(figure, figure / factor, figure * factor)

    @classmethod
    def exactly(cls, figure: float) -> Range:
        """Return what is known for certain."""
        return cls(figure, figure, figure)

    def __add__(self, other: Range) -> Range:
        """Return the range of the sum."""
        return Range(self.about + other.about, self.low + other.low, self.high + other.high)

    def __mul__(self, times: float) -> Range:
        """Return the range of so many times the figure."""
        return Range(self.about * times, self.low * times, self.high * times)


@dataclass(frozen=True)
class TrainingEstimate:
    """What training would take on this machine.

    Attributes
    ----------
    seconds : dict of str to Range
        Of each phase of `fit`.
    total_seconds : Range
    peak_bytes : Range or None
        Of the whole process, the data included; None where the system does not tell.
    available_bytes : int or None
        What this process may have.
    model_bytes : Range
        On disk.
    microseconds_per_document : Range
        Prediction of many documents at once, with all threads.
    n_documents, n_labels : int
        Of the whole job.
    n_sampled : int
        Documents of the largest sample.
    peak_phase : str
        The phase that needs most memory.
    """

    seconds: dict[str, Range]
    total_seconds: Range
    peak_bytes: Range | None
    available_bytes: int | None
    model_bytes: Range
    microseconds_per_document: Range
    n_documents: int
    n_labels: int
    n_sampled: int
    peak_phase: str

    @property
    def fits(self) -> bool | None:
        """Whether the peak is below what is available; None if either is not known."""
        if self.peak_bytes is None or self.available_bytes is None:
            return None
        return self.peak_bytes.about <= self.available_bytes


# Samples


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
    own_work: Mapping[str, float] = field(default_factory=dict)  # of phases of this kind alone


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
            self.after_encoding = resident_memory() or 0


def estimate_training(
    model: Model,
    X: Any,
    Y: Any,
    *,
    label_names: Any = None,
    hierarchy: LabelHierarchy | None = None,
) -> TrainingEstimate:
    """Estimate what ``model.fit(X, Y)`` would take on this machine, in a few seconds.

    Parameters
    ----------
    model : estimator
        Its parameters count; it stays as it is.
    X, Y, label_names, hierarchy
        As for `fit`. Samples are trained with the model's own `tree`; the shape of the whole is
        that of the hierarchy, or the one to expect of that tree: the very one, but for 'k-means'
        and 'bonsai', whose children are taken to be equally large.
    """
    model.check_parameters()
    outside = check_hierarchy(hierarchy)
    features = check_features(X)
    labels, names = check_labels(Y, features.n_rows, label_names=label_names)
    refuse_mostly_absent_labels(labels)
    n_names_bytes = 0 if names is None else sum(len(str(name)) + 8 for name in names)
    trained = model.for_samples()
    before, available = resident_memory(), available_memory()

    samples = _train_on_samples(trained, features, labels)
    last = samples[-1]
    if outside is None:
        tree = plant_together([_expected_shape(model, labels)] * model.n_trees)
    else:
        tree = outside.tree_of(labels.n_columns, names)[0]
    job = _whole_job(last, features, labels, tree)
    factor = uncertainty(job.n_documents, last.size.n_documents)

    of_node, of_slot = _weight_laws(samples)
    n_weights = count_weights(job, of_node, of_slot)
    if last.size.n_documents == job.n_documents:  # nothing to guess
        n_weights = sum(last.n_weights[:-1]), last.n_weights[-1]
    model_growth = sum(n_weights) / max(1, sum(last.n_weights))
    own_work = model.own_work(job.n_documents, labels.n_columns)
    seconds = _phase_seconds(last, job, model_growth, own_work)
    peaks = _phase_peaks(last, job, n_weights[1], features.n_features, count_jobs(model.n_jobs))
    peak_phase = max(peaks, key=lambda phase: peaks[phase], default="")
    to_predict = prediction_work(job) / max(1.0, prediction_work(last.size))
    to_predict = 1.0 if model.takes_long else to_predict * slowdown(model_growth)
    return TrainingEstimate(
        seconds={phase: Range.around(taken, factor) for phase, taken in seconds.items()},
        total_seconds=Range.around(sum(seconds.values()), factor),
        peak_bytes=None
        if before is None or not peaks
        else Range.around(peaks[peak_phase], factor) + Range.exactly(before),
        available_bytes=available,
        model_bytes=Range.around(_model_bytes(last, job, sum(n_weights)), factor)
        + Range.exactly(n_names_bytes),
        microseconds_per_document=Range.around(1e6 * last.prediction_seconds * to_predict, factor),
        n_documents=job.n_documents,
        n_labels=labels.n_columns,
        n_sampled=last.size.n_documents,
        peak_phase=peak_phase,
    )


def _expected_shape(model: Model, labels: SparsePattern) -> LabelTree:
    counts = np.bincount(labels.columns, minlength=labels.n_columns)
    return TREES[model.tree].expected_shape(counts, model.branching, model.max_leaf_size)


def _train_on_samples(model: Model, documents: Documents, Y: SparsePattern) -> list[Sample]:
    """Train on more and more documents until one training took long enough to be measured."""
    n_documents = documents.n_rows
    order = np.random.default_rng(model.random_state).permutation(n_documents)
    n_entries = _counts(documents, Y)["n_entries"]
    n = math.ceil(FIRST_SAMPLE_ENTRIES / max(1.0, n_entries / max(1, n_documents)))
    if model.takes_long:
        n = min(n, FIRST_SAMPLE_OF_SLOW)
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
        **_counts(documents, Y),
        slots_per_label=trained.clusters_.n_slots / trained.clusters_.n_labels,
        level_sizes=_level_sizes(tree),
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
        n_weights=_weight_counts(trained, arrays),
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
        prediction_seconds=prediction_seconds,
    )


def arrays_of(trained: Model) -> dict[str, Any]:
    """Return the arrays that would be saved; none where the backbone cannot be."""
    try:
        return trained.contents().arrays
    except ValueError:
        return {}


def _weight_counts(trained: Model, arrays: Mapping[str, Any]) -> tuple[int, ...]:
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


def _level_sizes(tree: LabelTree) -> tuple[int, ...]:
    return tuple(tree.n_nodes(level) for level in range(tree.n_levels + 1))


def _counts(documents: Documents, Y: SparsePattern) -> dict[str, Any]:
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


# From the samples to the whole


def _whole_job(sample: Sample, documents: Documents, Y: SparsePattern, tree: LabelTree) -> JobSize:
    n_pairs_per_document = Y.n_stored / documents.n_rows
    most = max(1.0, n_pairs_per_document * sample.size.slots_per_label)
    nodes = tuple(
        min(most, _nodes_per_document(sample.size, tree.n_nodes(level)), tree.n_nodes(level))
        for level in range(tree.n_levels + 1)
    )
    return replace(
        sample.size,
        **_counts(documents, Y),
        level_sizes=_level_sizes(tree),
        nodes_per_document=nodes,
    )


def _nodes_per_document(sample: JobSize, n_nodes: int) -> float:
    """Nodes of a document's labels on a level of so many: straight lines in the logarithms."""
    x = [math.log(max(1, size)) for size in sample.level_sizes]
    y = [math.log(max(1e-3, nodes)) for nodes in sample.nodes_per_document]
    at = math.log(n_nodes)
    if at <= x[-1] or len(x) < 2:
        return math.exp(float(np.interp(at, x, y)))
    slope = (y[-1] - y[-2]) / max(x[-1] - x[-2], 1e-9)
    return math.exp(y[-1] + slope * (at - x[-1]))


def _weight_laws(samples: list[Sample]) -> tuple[WeightLaw, WeightLaw]:
    node_points: list[tuple[float, float]] = []
    slot_points: list[tuple[float, float]] = []
    for sample in samples[-2:]:
        size = sample.size
        for level, n_weights in enumerate(sample.n_weights[:-1], start=1):
            node_points.append(
                (positives_of_node(size, level), n_weights / size.level_sizes[level])
            )
        n_slots = max(1.0, size.n_used_labels * size.slots_per_label)
        slot_points.append((positives_of_slot(size), sample.n_weights[-1] / n_slots))
    of_slot = WeightLaw.fit(*zip(*slot_points, strict=True))
    # A sample may have too few labels for a tree; then nodes are taken for slots.
    return WeightLaw.fit(*zip(*node_points, strict=True)) if node_points else of_slot, of_slot


def _model_bytes(sample: Sample, job: JobSize, n_weights: float) -> float:
    records = sample.n_record_bytes / len(sample.n_weights) * (job.n_levels + 1)
    senses = float(sample.n_sense_bytes)
    if sample.size.n_judged:
        senses *= job.n_judged / sample.size.n_judged
    elif phases.SENSES in sample.seconds:  # too few documents in the sample
        senses += 4 * NUMBERS_PER_JUDGED * job.n_judged
    fixed = sample.n_fixed_bytes
    of_weights = sample.n_model_bytes - sample.n_record_bytes - sample.n_sense_bytes - fixed
    return fixed + records + senses + of_weights / max(1, sum(sample.n_weights)) * n_weights


def _phase_seconds(
    sample: Sample, job: JobSize, model_growth: float, own_work: Mapping[str, float] = NO_WORK
) -> dict[str, float]:
    """Scale the measured seconds; solvers and matching slow down as their data grow.

    Held-out matching does not: what it does once for each fold weighs more in a sample.
    """
    whole = {**phase_work(job), **own_work}
    part = {**phase_work(sample.size), **sample.own_work}
    solving = sample.seconds[phases.TRAINING_RANKER] / max(1.0, part[phases.TRAINING_RANKER])
    seconds = {}
    for phase, taken in sample.seconds.items():
        ratio = _ratio(whole[phase], part[phase])
        seconds[phase] = taken * ratio
        if part[phase] == 0 and whole[phase]:  # too few labels in the sample for a tree
            seconds[phase] = solving * whole[phase]
        if phase.startswith("Training"):
            seconds[phase] *= slowdown(ratio)
        elif phase == phases.MATCHING:
            seconds[phase] *= slowdown(model_growth)
    return seconds


def _ratio(whole: float, part: float) -> float:
    return whole / part if part else 1.0


def _phase_peaks(
    sample: Sample, job: JobSize, n_ranker_weights: float, n_features: int, n_threads: int
) -> dict[str, float]:
    """Scale the measured peaks, but for what depends on features and threads alone."""
    fixed = BYTES_PER_FEATURE_AND_THREAD * n_features * n_threads
    whole = phase_memory(job, n_ranker_weights)
    part = phase_memory(sample.size, sample.n_weights[-1])
    return {
        phase: peak
        + max(0.0, _ratio(whole.get(phase, 1.0), part.get(phase, 1.0)) - 1)
        * max(peak - sample.n_resident - fixed, 0.2 * (peak - sample.n_resident), 0)
        for phase, peak in sample.peaks.items()
    }
