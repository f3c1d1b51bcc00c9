"""A damaged sparse matrix is refused or read rightly; nothing reads beyond its arrays."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import datasets, metrics
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from tests.oracles.sparse_matrices import dense_values

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
ARRAYS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
    "lil": ("rows", "data"),
    "dok": ("_dict",),
}
LARGE = (10**6, 2**31 - 1, 2**31, 2**62)


def ones(kind):
    """A 0/1 matrix of 12 x 8 in one of SciPy's formats."""
    dense = np.zeros((12, 8), dtype=np.float32)
    dense[np.arange(12), np.arange(12) % 8] = 1
    dense[3:7, 2:6] = 1
    return sp.coo_array(dense).asformat(kind)


def damaged_arrays(array):
    """Yield what may become of an array: other numbers, lengths, types and dimensions."""
    wide = array.astype(np.int64) if array.dtype.kind == "i" else array
    for place in {0, len(array) // 2, len(array) - 1}:
        for value in (-1, -(2**31), -(2**62), 0, 3, 8, 12, *LARGE):
            changed = wide.copy()
            changed[place] = value
            yield changed
            if abs(value) < 2**31 and array.dtype.kind == "i":
                yield changed.astype(np.int32)
    yield wide + 1
    yield wide[::-1]
    yield np.full_like(wide, LARGE[0])
    yield array[:0]
    yield array[:-1]
    yield array[: len(array) // 2]
    yield np.concatenate([array, array])
    yield np.concatenate([array, array[-1:] + 10**6])
    for dtype in (bool, np.int8, np.uint64, np.float64, np.float16, ">i4", complex, object, "U9"):
        yield array.astype(dtype)
    yield np.full(array.shape, None)
    yield np.full(array.shape, np.nan)
    yield array[None]
    yield array[..., None]
    yield np.float64(3)
    yield array.tolist()
    yield None


def damaged_lists(rows):
    """Yield what may become of the lists of a lil matrix."""
    for value in (-1, 3, 8, 10**6, 2**40, 2**70, 1.5, "a", None, (1, 2)):
        changed = np.array([list(row) for row in rows] + [None], dtype=object)[:-1]
        changed[4][0] = value
        yield changed
        changed = changed.copy()
        changed[4] = value
        yield changed
    yield rows[:-1]
    yield np.concatenate([rows, rows])
    yield np.concatenate([rows[1:], rows[:1]])
    yield None


def damaged_matrices(kind):
    """Yield matrices, each with one thing wrong, or perhaps only unusual."""
    for name in ARRAYS[kind]:
        if kind == "dok":
            for key in ((-1, 0), (0, 8), (12, 0), (2**40, 1), (0.5, 1), ("a", 1), (1,), 7, None):
                matrix = ones(kind)
                matrix._dict[key] = np.float32(1)
                yield matrix
            for value in ("a", None, 2, [1]):
                matrix = ones(kind)
                matrix._dict[0, 1] = value
                yield matrix
            continue
        whole = getattr(ones(kind), name)
        for array in damaged_lists(whole) if kind == "lil" else damaged_arrays(whole):
            matrix = ones(kind)
            try:
                setattr(matrix, name, array)
            except Exception:  # SciPy itself refuses some
                continue
            yield matrix
    for shape in ((12, 7), (11, 8), (13, 9), (999, 8), (12, 999), (0, 0), (-1, 8), (2.5, 8)):
        matrix = ones(kind)
        matrix._shape = shape
        yield matrix


def expected_of(matrix):
    """Return what the matrix holds, or None where it must be refused."""
    try:
        return dense_values(matrix)
    except Exception:
        return None


def read_features(matrix):
    return check_features(matrix).to_scipy().toarray()


def read_labels(matrix):
    return check_labels(matrix, matrix.shape[0])[0].to_scipy().toarray()


def read_truth(matrix):
    metrics.precision_at_k(np.full((12, 1), 3), matrix, k=1)


def try_all(kind):
    """Read every damaged matrix of a format as X, as Y and as the truth of a measurement."""
    warnings.simplefilter("ignore")
    n_read = n_refused = 0
    for read in (read_features, read_labels, read_truth):
        for matrix in damaged_matrices(kind):
            expected = expected_of(matrix)
            try:
                found = read(matrix)
            except ValueError:
                n_refused += 1
                continue
            if read is read_truth:
                continue
            assert expected is not None, f"{kind}: read though it is damaged: {vars(matrix)}"
            if read is read_labels:
                expected = expected != 0
            np.testing.assert_allclose(found, expected, err_msg=str(vars(matrix)))
            n_read += 1
    print(n_read, n_refused)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_no_damage_gets_past_the_checks(kind):
    # Not in this process: what is to be shown is that it does not die.
    program = f"from tests.unit.test_damaged_matrices import try_all; try_all({kind!r})"
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    n_read, n_refused = map(int, run.stdout.split())
    assert n_refused > 30
    assert n_read > 2


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_read_as_it_is(kind):
    matrix = ones(kind)
    np.testing.assert_array_equal(read_features(matrix), matrix.toarray())
    np.testing.assert_array_equal(read_labels(matrix), matrix.toarray())


DAMAGED_FILES = {
    "coo": {"row": [0, 99], "col": [0, 1]},
    "bsr": {"indptr": [0, 1, 2], "indices": [0, 10**6], "data": np.ones((2, 1, 1))},
    "csc": {"indptr": [0, 1, 2], "indices": [0, -(10**6)]},
    "dia": {"offsets": [10**6, 0], "data": np.ones((2, 2))},
    "lil": {},
    b"\xff": {},
    7: {},
}


@pytest.mark.parametrize("kind", DAMAGED_FILES, ids=str)
@pytest.mark.parametrize("name", ["X.trn.npz", "Y.trn.npz"])
@pytest.mark.parametrize("shape", [(2, 2), (2.5, 2), (2,), "ab"])
def test_a_damaged_matrix_in_a_file_is_refused_with_its_name(tmp_path, kind, name, shape):
    for whole in ("X.trn.npz", "Y.trn.npz"):
        sp.save_npz(tmp_path / whole, sp.csr_array(np.eye(2)))
    arrays = {"data": np.ones(2), "shape": np.array(shape)} | DAMAGED_FILES[kind]
    np.savez(tmp_path / name, format=np.array(kind), **arrays)
    with pytest.raises(ValueError, match=name):
        datasets.load(tmp_path)
