"""The one place where labels are checked and brought into the inner form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.inputs.sparse_rows import SparsePattern

__all__ = [
    "LabelName",
    "are_mostly_absent",
    "check_labels",
    "refuse_mostly_absent_labels",
]

LabelName: TypeAlias = str | int


def check_labels(
    Y: Any,
    n_rows: int,
    *,
    label_names: Sequence[LabelName] | None = None,
    allow_unknown: bool = False,
) -> tuple[SparsePattern, list[LabelName] | None]:
    """Check the labels of documents and bring them into the form that the native core reads.

    Parameters
    ----------
    Y : sparse matrix, array-like, or lists of label names
        One of

        - a sparse or dense 0/1 matrix, shape (n_documents, n_labels);
        - for each document, a list (or set, tuple) of its labels, by name (str) or id (int);
        - one label per document: a 1-D sequence of names or ids, as scikit-learn's classifiers
          take it.

        Lists of equal length that hold nothing but the numbers 0 and 1 are read as a dense 0/1
        matrix, as scikit-learn does; give sets instead if they are meant as label ids.
    n_rows : int
        The number of documents, from X.
    label_names : sequence of str or int, optional
        The known labels in column order. Labels given by name are looked up here, and must be
        known; a matrix must have as many columns.
    allow_unknown : bool, default=False
        Give labels that are not known columns after the known ones, sorted, instead of refusing
        them: to measure with, they are true and cannot be found.

    Returns
    -------
    labels : SparsePattern, shape (n_documents, n_labels)
    names : list of str or int, or None
        The name of each column: ``label_names`` if given, else the names found in Y, sorted;
        None where Y is a matrix without names.
    """
    if Y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    known = None if label_names is None else list(label_names)
    labels, names = _as_pattern(Y, known, allow_unknown)

    if labels.n_rows != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and Y has {labels.n_rows}; each row is one document."
        )
    if labels.n_rows == 0:
        raise ValueError("X and Y have no rows; at least one document is needed.")
    if labels.n_columns == 0:
        raise ValueError("Y has no labels; at least one is needed.")
    if names is not None and len(names) != labels.n_columns:
        known_as = (
            f"the model has {len(names)}"
            if allow_unknown
            else f"there are {len(names)} label names"
        )
        raise ValueError(f"Y has {labels.n_columns} labels, but {known_as}.")
    return labels, names


def are_mostly_absent(n_labels: int, n_given: int) -> bool:
    """Whether labels are so many more than those given to documents that it is a mistake.

    Every label costs time and memory, even without documents. Public data sets have up to three
    million, nearly all of them with documents.
    """
    return n_labels > 20 * max(1_000_000, n_given)


def refuse_mostly_absent_labels(Y: SparsePattern) -> None:
    """Refuse labels to train on if nearly none has a document: one id is too large, usually."""
    if are_mostly_absent(Y.n_columns, Y.n_stored):
        n_used = len(np.unique(Y.columns))
        raise ValueError(
            f"Y has {Y.n_columns:,} labels, but only {n_used:,} of them have documents; renumber "
            "the labels from 0 without gaps."
        )


def _as_pattern(
    Y: Any, known: list[LabelName] | None, allow_unknown: bool
) -> tuple[SparsePattern, list[LabelName] | None]:
    if isinstance(Y, SparsePattern):
        return Y, known
    if sp.issparse(Y):
        if Y.ndim != 2:
            raise ValueError("Y must have two dimensions, documents x labels.")
        Y = sound_matrix(Y, "Y")
        _require_zeros_and_ones(Y)
        return SparsePattern.from_scipy(Y, "Y"), known

    is_array = hasattr(Y, "dtype") or hasattr(Y, "dtypes")  # NumPy, or a frame of pandas
    if not is_array:
        Y = _label_lists(Y)
    array = _plain_array(Y)
    if array is None or (array.ndim == 2 and _holds_names(array, is_array)):
        rows = Y if array is None or not is_array else array.tolist()
        lists = [_labels_of_row(row, i) for i, row in enumerate(rows)]
        return _from_names(lists, known, allow_unknown)
    if array.ndim == 1:
        return _from_names([[label] for label in _single_labels(array)], known, allow_unknown)
    if array.ndim != 2:
        raise ValueError(f"Y has {array.ndim} dimensions; it must have two, documents x labels.")
    if array.dtype == np.float16:  # unknown to SciPy
        array = array.astype(np.float32)
    matrix = sp.coo_array(array)
    _require_zeros_and_ones(matrix)
    return SparsePattern.from_scipy(matrix, "Y"), known


def _label_lists(Y: Any) -> list[Any]:
    try:
        return list(Y)
    except TypeError:
        raise ValueError(
            f"Y must be a matrix or lists of labels, but is a {type(Y).__name__}."
        ) from None


def _plain_array(Y: Any) -> npt.NDArray[Any] | None:
    """Y as an array of plain values, or None where it is a collection of collections."""
    if isinstance(Y, list) and any(isinstance(row, set | frozenset) for row in Y):
        return None
    try:
        array = np.asarray(Y)
    except ValueError:  # rows of different lengths
        return None
    if array.dtype == object and array.ndim == 1 and any(_is_collection(row) for row in array):
        return None
    return array


def _holds_names(array: npt.NDArray[Any], is_array: bool) -> bool:
    """Whether a 2-D array holds label names or ids rather than a 0/1 matrix."""
    if array.dtype.kind in "USO":
        return True
    return not is_array and not ((array == 0) | (array == 1)).all()


def _is_collection(row: Any) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | bytes)


def _labels_of_row(row: Any, i: int) -> list[Any]:
    if not _is_collection(row):
        raise ValueError(
            f"Row {i} of Y must be a list of labels, but is {row!r}; write [{row!r}] for one "
            "label."
        )
    return list(row)


def _single_labels(array: npt.NDArray[Any]) -> list[Any]:
    """One label per document, as scikit-learn's classifiers take it."""
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.floor(array))
        if not whole.all():
            row = int(np.argmin(whole))
            raise ValueError(
                f"Unknown label type: Y has {array[row]} in row {row}; labels are names or "
                "whole numbers."
            )
        array = array.astype(np.int64)
    labels: list[Any] = array.tolist()
    return labels


def _from_names(
    rows: list[list[Any]], known: list[LabelName] | None, allow_unknown: bool
) -> tuple[SparsePattern, list[LabelName]]:
    kinds = set(map(type, chain.from_iterable(rows)))
    is_text = all(issubclass(kind, str) for kind in kinds)
    if not is_text and not all(_is_id_type(kind) for kind in kinds):
        _refuse_mixed_names(rows)
    plain: Callable[[Any], LabelName] = str if is_text else int

    names = known or []
    if known is None or allow_unknown:
        found: set[Any] = set(map(plain, chain.from_iterable(rows)))
        if found and names and isinstance(names[0], str) != is_text:
            raise ValueError(
                f"Y has labels such as {min(found)!r}, but the known ones are such as "
                f"{names[0]!r}; use names or ids in both."
            )
        names = [*names, *sorted(found.difference(names))]
    column_of = {name: column for column, name in enumerate(names)}
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    try:
        columns = np.fromiter(
            (column_of[plain(label)] for label in chain.from_iterable(rows)),
            dtype=np.int32,
            count=int(starts[-1]),
        )
    except KeyError as error:
        label = error.args[0]
        row_number = next(i for i, row in enumerate(rows) if label in row)
        raise ValueError(
            f"Row {row_number} of Y has the label {label!r}, which is not among the "
            f"{len(names)} known labels."
        ) from None
    ones = np.ones(len(columns), dtype=bool)
    matrix = sp.csr_array((ones, columns, starts), shape=(len(rows), len(names)))
    return SparsePattern.from_scipy(matrix, "Y"), names


def _is_id_type(kind: type) -> bool:
    return issubclass(kind, int | np.integer) and kind is not bool


def _refuse_mixed_names(rows: list[list[Any]]) -> None:
    first: Any = None
    for i, row in enumerate(rows):
        for label in row:
            if not (isinstance(label, str) or _is_id_type(type(label))):
                raise ValueError(
                    f"Row {i} of Y has the label {label!r}; labels are names (str) or ids (int)."
                )
            if first is not None and isinstance(first, str) != isinstance(label, str):
                raise ValueError(
                    f"Y mixes names and ids: {first!r} and, in row {i}, {label!r}; use one kind."
                )
            first = label


def _require_zeros_and_ones(Y: Any) -> None:
    if Y.dtype.kind == "b":
        return
    if Y.dtype.kind not in "iuf":
        raise ValueError(f"Y must hold 0 and 1, but has dtype {Y.dtype}.")
    values = Y.data if Y.format in ("csr", "csc", "coo") else Y.tocoo().data
    allowed = (values == 0) | (values == 1)
    if allowed.all():
        return
    entries = Y.tocoo()
    wrong = int(np.argmin((entries.data == 0) | (entries.data == 1)))
    value = entries.data[wrong].item()
    shown = f"{value:g}" if math.isfinite(value) else str(value)
    raise ValueError(
        f"Y has {shown} in row {int(entries.row[wrong])}; a label matrix holds 0 and 1 only."
    )
