"""Signatures of the native core, kept by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.linear.weights import LinearTraining
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run

_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]
_Float = npt.NDArray[np.float32]

_Progress = Callable[[int], object] | None

# assignment.cpp

def count_co_occurrence(
    label_rows: SparsePattern, matched: SparseRows, n_threads: int, progress: _Progress
) -> tuple[_Int64, _Int32, _Int32, _Float]: ...
def count_reached(
    label_rows: SparsePattern, matched: SparsePattern, clusters: SparsePattern, n_threads: int
) -> int: ...
def choose_closed_form(
    co_occurrence: SparseRows,
    counts: _Int32,
    present: SparsePattern,
    label_rows: SparsePattern,
    matched: SparsePattern,
    *,
    copies: int,
    max_cluster_size: int,
    n_threads: int,
) -> tuple[_Int64, _Int32]: ...

choose_coverage = choose_closed_form
choose_capped = choose_closed_form
choose_adaptive = choose_closed_form

# training.cpp

def partition_labels(
    X: Documents | SparseRows,
    label_rows: SparsePattern,
    *,
    fan_outs: list[int],
    max_features: int,
    max_documents: int,
    sample_size: int,
    max_iter: int,
    seed: int,
    n_threads: int,
    progress: _Progress,
) -> tuple[_Int64, _Int32]: ...
def group_labels(
    X: Documents | SparseRows,
    label_rows: SparsePattern,
    *,
    branching: int,
    max_leaf_size: int,
    max_levels: int,
    max_features: int,
    max_documents: int,
    sample_size: int,
    max_iter: int,
    seed: int,
    n_threads: int,
    progress: _Progress,
) -> tuple[_Int64, _Int64]: ...
def train_clusters(
    X: Documents | SparseRows,
    training_rows: SparsePattern,
    slots: SparsePattern,
    positives: SparsePattern,
    how: LinearTraining,
    run: Run,
    *,
    own_documents: SparsePattern | None,
    cluster_numbers: _Int32 | None,
    target_weights: _Float | None = None,
    held_out: npt.NDArray[np.bool_] | None = None,
    draft_how: Any = None,
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]] | None]: ...

# levels.cpp, prediction.cpp

class LinearLevel:
    n_clusters: int
    n_slots: int
    n_weights: int
    def slot_weights(
        self, cluster: int, slot: int, features: _Int32 | None = None
    ) -> tuple[_Int32, _Float]: ...
    def all_weights(self) -> tuple[_Int64, _Int32, _Float]: ...

def pack_level(
    slot_starts: _Int64, weights: SparseRows, bias: _Float, byte_weights: bool
) -> dict[str, npt.NDArray[Any]]: ...
def join_levels(
    parts: list[LinearLevel], part_of_cluster: _Int32
) -> dict[str, npt.NDArray[Any]]: ...
def linear_level(
    slot_starts: npt.NDArray[Any],
    record_sizes: npt.NDArray[Any],
    bytes: npt.NDArray[Any],
    scales: npt.NDArray[Any],
    bias: npt.NDArray[Any],
    n_features: int,
    is_trusted: bool,
    dense: npt.NDArray[Any] | None = None,
    n_dense: int = 0,
) -> LinearLevel: ...

class NameWords:
    def __init__(self, word_of_feature: _Int32, starts: _Int64, words: _Int32) -> None: ...

class LabelOrdering:
    def __init__(
        self,
        knot_starts: _Int64,
        knots: _Float,
        values: _Float,
        curve: _Float,
        label_counts: _Float,
        label_bonus: _Float | None = None,
        names: NameWords | None = None,
    ) -> None: ...

class Predictor:
    def __init__(
        self,
        matcher: list[LinearLevel],
        ranker: LinearLevel | None,
        slot_labels: _Int32 | None,
        n_labels: int,
        n_features: int,
        activation: str,
        ordering: LabelOrdering | None = None,
    ) -> None: ...
    def candidates(
        self,
        X: Documents | SparseRows,
        beam_size: int,
        merge: str,
        label_counts: _Float,
        names: NameWords | None,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int32, _Float]: ...
    def match(
        self,
        X: Documents | SparseRows,
        beam_size: int,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int64, _Int32, _Float]: ...
    def above(
        self,
        X: Documents | SparseRows,
        thresholds: _Float,
        merge: str,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int64, _Int32, _Float]: ...
    def top_k(
        self,
        X: Documents | SparseRows,
        beam_size: int | None,
        k: int,
        merge: str,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int32, _Float]: ...
    def top_k_of_row(
        self,
        starts: npt.NDArray[Any],
        columns: npt.NDArray[Any],
        values: npt.NDArray[Any],
        beam_size: int | None,
        k: int,
        merge: str,
    ) -> tuple[_Int32, _Float] | None: ...
    def all_scores(
        self,
        X: Documents | SparseRows,
        beam_size: int,
        merge: str,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int64, _Int32, _Float]: ...

def score_matched(
    level: LinearLevel,
    X: Documents | SparseRows,
    matched: SparseRows,
    activation: str,
    n_threads: int,
    progress: _Progress,
) -> tuple[_Int64, _Int32, _Float]: ...

# text_format.cpp

def parse_text(
    text: npt.NDArray[np.uint8], n_features: int, n_labels: int, first_line: int, n_threads: int
) -> tuple[_Int64, _Int32, _Float, _Int64, _Int32]: ...
def format_text(X: SparseRows, Y: SparsePattern) -> bytes: ...

# senses.cpp

def multiply_rows(X: Documents | SparseRows, matrix: _Float, n_threads: int) -> _Float: ...
def multiply_pairs(
    a: SparseRows, b: SparseRows, rows_a: _Int64, rows_b: _Int64, n_threads: int
) -> npt.NDArray[np.float64]: ...
def split_groups(
    documents: _Float,
    labels: _Float,
    labels_of: SparsePattern,
    documents_of: SparsePattern,
    groups: SparsePattern,
    *,
    max_documents: int,
    seed: int,
    n_threads: int,
    progress: _Progress,
) -> dict[str, npt.NDArray[Any]]: ...
def assign_documents(
    documents: _Float,
    labels: _Float,
    labels_of: SparsePattern,
    documents_of: SparsePattern,
    chosen: _Int32,
    looked_at: SparsePattern,
    parts: npt.NDArray[np.int8],
    *,
    n_threads: int,
) -> tuple[npt.NDArray[np.int8], _Float]: ...
def sum_up(
    X: Documents | SparseRows,
    groups: SparsePattern,
    *,
    max_features: int,
    max_documents: int,
    n_threads: int,
) -> tuple[_Int64, _Int32, _Float]: ...
