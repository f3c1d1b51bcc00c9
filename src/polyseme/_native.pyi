"""Signatures of the native core, kept by hand."""

from collections.abc import Callable

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
