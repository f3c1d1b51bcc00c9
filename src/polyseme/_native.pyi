"""Signatures of the native core. Private: use the modules around it."""

import numpy as np
import numpy.typing as npt

_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]
_Float32 = npt.NDArray[np.float32]

# text_format

def parse_text(
    text: npt.NDArray[np.uint8], n_features: int, n_labels: int, first_line: int, n_threads: int
) -> tuple[_Int64, _Int32, _Float32, _Int64, _Int32]: ...
def format_text(
    feature_starts: _Int64,
    features: _Int32,
    values: _Float32,
    n_features: int,
    label_starts: _Int64,
    labels: _Int32,
    n_labels: int,
) -> bytes: ...
