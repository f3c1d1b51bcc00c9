"""Signatures of the native core, kept by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]
_Float = npt.NDArray[np.float32]

# assignment.cpp

def count_co_occurrence(
    label_starts: _Int64,
    label_documents: _Int32,
    matched_starts: _Int64,
    matched_clusters: _Int32,
    matched_scores: _Float,
    n_clusters: int,
    n_threads: int,
    progress: Callable[[int], object] | None,
) -> tuple[_Int64, _Int32, _Int32, _Float]: ...
def count_reached(
    label_starts: _Int64,
    label_documents: _Int32,
    matched_starts: _Int64,
    matched_clusters: _Int32,
    chosen_starts: _Int64,
    chosen_clusters: _Int32,
    n_clusters: int,
    n_threads: int,
) -> int: ...
def choose_closed_form(
    starts: _Int64,
    clusters: _Int32,
    counts: _Int32,
    scores: _Float,
    present_starts: _Int64,
    present_clusters: _Int32,
    label_starts: _Int64,
    label_documents: _Int32,
    matched_starts: _Int64,
    matched_clusters: _Int32,
    n_clusters: int,
    copies: int,
    max_cluster_size: int,
    n_threads: int,
) -> tuple[_Int64, _Int32]: ...

choose_coverage = choose_closed_form
choose_capped = choose_closed_form
choose_adaptive = choose_closed_form

# training.cpp

_Progress = Callable[[int], object] | None

def partition_labels(
    x_starts: _Int64,
    x_columns: _Int32,
    x_values: _Float,
    n_features: int,
    label_starts: _Int64,
    label_documents: _Int32,
    fan_outs: list[int],
    max_features: int,
    max_documents: int,
    sample_size: int,
    max_iter: int,
    seed: int,
    n_threads: int,
    progress: _Progress,
) -> tuple[_Int64, _Int32]: ...
def train_clusters(
    x_starts: _Int64,
    x_columns: _Int32,
    x_values: _Float,
    n_features: int,
    row_starts: _Int64,
    row_documents: _Int32,
    slot_starts: _Int64,
    slot_targets: _Int32,
    positive_starts: _Int64,
    positive_documents: _Int32,
    own_starts: _Int64 | None,
    own_documents: _Int32 | None,
    cluster_numbers: _Int32 | None,
    loss: str,
    cost: float,
    tolerance: float,
    max_iter: int,
    bias: float,
    threshold: float,
    max_weights_per_label: int,
    weight_bits: int,
    seed: int,
    max_entries_whole: int,
    n_threads: int,
    progress: _Progress,
) -> dict[str, npt.NDArray[Any]]: ...

# prediction.cpp

class LinearLevel:
    n_clusters: int
    n_slots: int
    n_weights: int
    def slot_weights(
        self, cluster: int, slot: int, features: _Int32 | None = None
    ) -> tuple[_Int32, _Float]: ...
    def all_weights(self) -> tuple[_Int64, _Int32, _Float]: ...

def join_levels(
    parts: list[LinearLevel], part_of_cluster: _Int32
) -> dict[str, npt.NDArray[Any]]: ...
def linear_level(
    slot_starts: npt.NDArray[Any],
    record_sizes: npt.NDArray[Any],
    bytes: npt.NDArray[Any],
    scales: npt.NDArray[Any],
    bias: npt.NDArray[Any],
    is_trusted: bool,
) -> LinearLevel: ...

class Predictor:
    def __init__(
        self,
        matcher: list[LinearLevel],
        ranker: LinearLevel | None,
        slot_labels: _Int32 | None,
        n_labels: int,
        n_features: int,
        activation: str,
    ) -> None: ...
    def match(
        self,
        starts: _Int64,
        columns: _Int32,
        values: _Float,
        beam_size: int,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int64, _Int32, _Float]: ...
    def top_k(
        self,
        starts: _Int64,
        columns: _Int32,
        values: _Float,
        beam_size: int,
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
        beam_size: int,
        k: int,
        merge: str,
    ) -> tuple[_Int32, _Float] | None: ...
    def all_scores(
        self,
        starts: _Int64,
        columns: _Int32,
        values: _Float,
        beam_size: int,
        merge: str,
        n_threads: int,
        progress: _Progress,
    ) -> tuple[_Int64, _Int32, _Float]: ...

def score_matched(
    level: LinearLevel,
    starts: _Int64,
    columns: _Int32,
    values: _Float,
    n_features: int,
    matched_starts: _Int64,
    matched_clusters: _Int32,
    matched_scores: _Float,
    activation: str,
    n_threads: int,
    progress: _Progress,
) -> tuple[_Int64, _Int32, _Float]: ...

# text_format.cpp

def parse_text(
    text: npt.NDArray[np.uint8], n_features: int, n_labels: int, first_line: int, n_threads: int
) -> tuple[_Int64, _Int32, _Float, _Int64, _Int32]: ...
def format_text(
    feature_starts: _Int64,
    features: _Int32,
    values: _Float,
    n_features: int,
    label_starts: _Int64,
    labels: _Int32,
    n_labels: int,
) -> bytes: ...
