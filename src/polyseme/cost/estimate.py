"""What training would take, from training on a few samples of the documents.

A job's size decides how much work each phase has; the formulas are in `polyseme.cost.formulas`.
How long a unit of work takes, and how much memory, is measured on this machine with samples of the
data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

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
from polyseme.cost.memory import available_memory, resident_memory
from polyseme.cost.of_senses import NUMBERS_PER_JUDGED
from polyseme.cost.samples import Sample, level_sizes, sizes_of, train_on_samples
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.quantities import spoken_bytes, spoken_seconds
from polyseme.machine.threads import count_jobs
from polyseme.partition.forest import plant_together
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees.given import LabelHierarchy, check_hierarchy
from polyseme.partition.trees.registry import TREES

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["Range", "TrainingEstimate", "estimate_training"]

NOTHING: Mapping[str, float] = {}
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

    def __repr__(self) -> str:
        takes = [spoken_seconds(self.total_seconds.about)]
        if self.peak_bytes is not None:
            takes.append(f"{spoken_bytes(self.peak_bytes.about)} of memory")
        takes.append(f"{spoken_bytes(self.model_bytes.about)} on disk")
        tried = f"{self.n_sampled:,} of {self.n_documents:,} documents"
        fits = " It does not fit into memory." if self.fits is False else ""
        return f"<TrainingEstimate: about {', '.join(takes)}; from {tried}.{fits}>"


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

    samples = train_on_samples(trained, features, labels)
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
    own_bytes = trained.own_bytes(job.n_documents, labels.n_columns)
    n_threads = count_jobs(model.n_jobs)
    peaks = _phase_peaks(last, job, n_weights[1], features.n_features, n_threads, own_bytes)
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
        **sizes_of(documents, Y),
        level_sizes=level_sizes(tree),
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
    sample: Sample, job: JobSize, model_growth: float, own_work: Mapping[str, float] = NOTHING
) -> dict[str, float]:
    """Scale the measured seconds; solvers and matching slow down as their data grow.

    Held-out matching does not: what it does once for each fold weighs more in a sample. What a
    kind counts by its own units does not either.
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
        if phase in own_work:
            continue
        if phase.startswith("Training"):
            seconds[phase] *= slowdown(ratio)
        elif phase == phases.MATCHING:
            seconds[phase] *= slowdown(model_growth)
    return seconds


def _ratio(whole: float, part: float) -> float:
    return whole / part if part else 1.0


def _phase_peaks(
    sample: Sample,
    job: JobSize,
    n_ranker_weights: float,
    n_features: int,
    n_threads: int,
    own_bytes: Mapping[str, float] = NOTHING,
) -> dict[str, float]:
    """Scale the measured peaks, but for what depends on features and threads alone.

    Where a kind knows what its phases hold, the difference is added: their samples are too small,
    and their libraries too large, for anything else.
    """
    fixed = BYTES_PER_FEATURE_AND_THREAD * n_features * n_threads
    whole = phase_memory(job, n_ranker_weights)
    part = phase_memory(sample.size, sample.n_weights[-1])
    peaks = {}
    for phase, peak in sample.peaks.items():
        if phase in own_bytes:
            peaks[phase] = peak + max(0.0, own_bytes[phase] - sample.own_bytes[phase])
            continue
        growing = max(peak - sample.n_resident - fixed, 0.2 * (peak - sample.n_resident), 0)
        ratio = _ratio(whole.get(phase, 1.0), part.get(phase, 1.0))
        peaks[phase] = peak + max(0.0, ratio - 1) * growing
    return peaks
