"""Arrays in safetensors files: written through the safetensors package, read as memory maps.

The package's own reader copies every array into memory; a large model should open at once.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

__all__ = ["check_storable", "map_arrays", "write_arrays"]

_MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors format
_DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "I8": np.dtype("<i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}

Array = npt.NDArray[Any]


def check_storable(arrays: Mapping[str, Array]) -> None:
    """Refuse arrays of objects, strings or other types that the format has no name for."""
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<") not in _DTYPES.values():
            raise ValueError(f"cannot store the array {name!r} of type {array.dtype}")


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to a file and wait until they are on the disk."""
    # safetensors wants plain C order; asarray, unlike ascontiguousarray, keeps 0-d arrays 0-d.
    save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, path)
    # safetensors makes files for their owner alone; a model is shared as other files are.
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def map_arrays(path: Path, n_bytes: int) -> dict[str, Array]:
    """Map the arrays of a file, read-only; refuse a file that does not hold together.

    The file is 8 bytes of header length, a JSON header, then the arrays end to end.
    """
    if n_bytes < 8:
        raise ValueError(f"{path} is too short to be a safetensors file")
    content = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    header_length = int.from_bytes(content[:8].tobytes(), "little")
    if header_length > min(n_bytes - 8, _MAX_HEADER_BYTES):
        raise ValueError(f"{path} is not a safetensors file: its header length is wrong")
    try:
        header = json.loads(content[8 : 8 + header_length].tobytes())
        header.pop("__metadata__", None)
        spans = {
            name: (_DTYPES[entry["dtype"]], _whole(entry["shape"]), _whole(entry["data_offsets"]))
            for name, entry in header.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(f"{path} is not a safetensors file: its header is not readable") from None
    body = content[8 + header_length :]
    arrays: dict[str, Array] = {}
    end_of_last = 0
    for name, (dtype, shape, offsets) in sorted(spans.items(), key=lambda item: item[1][2]):
        n_wanted = dtype.itemsize * math.prod(shape)
        if len(offsets) != 2 or offsets[0] != end_of_last or offsets[1] != offsets[0] + n_wanted:
            raise ValueError(f"{path} is damaged: the array {name!r} is not where it should be")
        end_of_last = offsets[1]
        if end_of_last > len(body):
            raise ValueError(
                f"{path} is damaged: the array {name!r} goes past the end of the file"
            )
        raw = body[offsets[0] : offsets[1]]
        aligned = raw if raw.ctypes.data % dtype.itemsize == 0 else raw.copy()
        try:
            arrays[name] = aligned.view(dtype).reshape(shape)
        except (ValueError, OverflowError):  # an empty array of an absurd shape
            raise ValueError(f"{path} is damaged: the shape of {name!r} is too large") from None
    if end_of_last != len(body):
        raise ValueError(f"{path} is damaged: {len(body) - end_of_last} bytes belong to no array")
    return arrays


def _whole(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or any(
        type(value) is not int or value < 0 for value in values
    ):
        raise ValueError("not a list of sizes")
    return tuple(values)
