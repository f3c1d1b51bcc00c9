"""Find the senses of labels in the documents that have them.

Documents and labels are brought into one whitened space. There the documents of each label divide
by their texts and by the other labels that they have. Labels that are fused on purpose teach how
meanings divide, and so how likely a label is ambiguous and how many senses it has. Slots have no
part in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.senses.judge import AmbiguityJudge
from polyseme.senses.layer import SenseLayer
from polyseme.senses.splits import SenseSpace, groups_of

__all__ = ["FEWEST_DOCUMENTS", "induce_senses", "layer_of_parts"]

FEWEST_DOCUMENTS = 6  # of a label, to be judged; twice the fewest of a sense
N_WORDS, N_BESIDE, N_TYPICAL = 300, 60, 5  # kept of a sense
MAX_SUMMED = 300  # documents of a sense that its words are taken from


def induce_senses(
    documents: Documents,
    Y: SparsePattern,
    run: Run,
    *,
    only: npt.NDArray[np.bool_] | None = None,
    earlier: SenseLayer | None = None,
) -> SenseLayer:
    """Find the senses of labels.

    Parameters
    ----------
    documents : Documents
        What the ranker sees of the training documents.
    Y : SparsePattern, shape (n_documents, n_labels)
    run : Run
    only : ndarray of bool, shape (n_labels,), optional
        Labels to look at; the others keep what `earlier` has.
    earlier : SenseLayer, optional
        Of a model with fewer documents and labels. What it learned about ambiguity stays.
    """
    space = SenseSpace.gather(documents, Y, run)
    is_judged = space.counts >= FEWEST_DOCUMENTS
    if only is not None:
        is_judged &= only
    labels = np.flatnonzero(is_judged).astype(np.int32)
    splits = space.split(groups_of([[label] for label in labels.tolist()], Y.n_columns))
    labels, splits = labels[splits.is_split], splits.take(splits.is_split)

    if earlier is not None:
        judge = AmbiguityJudge.from_json(earlier.calibration)
    else:
        judge = AmbiguityJudge.learn(space, labels, splits, run.seed)
    n_parts = judge.count_parts(splits)
    chosen = splits.parts[np.arange(len(splits.parts)), np.repeat(n_parts, splits.sizes) - 2]
    parts, nearness = space.assign(labels, splits.looked_at, np.ascontiguousarray(chosen))

    own = space.documents_of.take(labels)
    place = np.repeat(np.arange(len(labels)), np.diff(own.starts))
    layer = layer_of_parts(
        documents,
        space,
        labels,
        (place, own.columns, parts, nearness),
        judge.probabilities(splits),
    )
    has_others = np.diff(Y.starts)[own.columns] > 1
    layer = layer.with_calibration(_evidence(has_others, documents), judge.to_json())
    return layer if only is None or earlier is None else earlier.merged_with(layer, only)


def layer_of_parts(
    documents: Documents,
    space: SenseSpace,
    labels: npt.NDArray[np.int32],
    divided: tuple[
        npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int8], npt.NDArray[np.float32]
    ],
    probabilities: npt.NDArray[np.float32],
) -> SenseLayer:
    """Return the layer of labels whose documents are divided as given.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_judged,)
    divided : place, document, part, nearness, each of shape (n_pairs,)
        For each document of a label: the label's place in `labels`, the document, its part, and
        how typical it is of it.
    probabilities : ndarray of float32, shape (n_judged,)
    """
    place, document, part, nearness = divided
    sense, sizes, starts = _largest_first(place, part, len(labels))
    n_senses = len(sizes)
    by_document = np.lexsort((document, sense))
    sense_starts = np.append(0, np.cumsum(sizes))
    groups = SparsePattern(sense_starts, document[by_document], documents.n_rows)
    label_of_sense = np.repeat(labels, np.diff(starts))
    return SenseLayer(
        labels=labels,
        probabilities=probabilities,
        starts=starts,
        counts=sizes,
        words=_summed_up(documents, groups, N_WORDS, space.run),
        beside=_without(
            _summed_up(space.weighted_labels, groups, N_BESIDE + 1, space.run), label_of_sense
        ),
        typical=_nearest(sense, document, nearness, n_senses),
    )


def _largest_first(
    place: npt.NDArray[np.int64], part: npt.NDArray[np.int8], n_labels: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the sense of each pair, numbered by label and size, their sizes, and their starts."""
    width = int(part.max(initial=0)) + 1
    cell = place * width + part
    counts = np.bincount(cell, minlength=n_labels * width).reshape(n_labels, width)
    order = np.argsort(-counts, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(width)[None, :], axis=1)
    n_parts = np.count_nonzero(counts, axis=1)
    starts = np.append(0, np.cumsum(n_parts))
    sense = starts[place] + rank[place, part]
    return sense, np.bincount(sense, minlength=starts[-1]), starts


def _summed_up(X: Documents | SparseRows, groups: SparsePattern, n: int, run: Run) -> SparseRows:
    """Return what each group of documents has most of, at unit length."""
    found = _native.sum_up(
        X, groups, max_features=n, max_documents=MAX_SUMMED, n_threads=run.n_threads
    )
    n_columns = X.n_columns if isinstance(X, SparseRows) else X.n_features
    return SparseRows(*found, n_columns)


def _without(rows: SparseRows, columns: npt.NDArray[np.int32]) -> SparseRows:
    """Return rows without one column each, and at unit length again."""
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.starts))
    kept = (rows.columns != columns[row]) & (rows.values > 0)
    row, values = row[kept], rows.values[kept]
    squares = np.bincount(row, values.astype(np.float64) ** 2, minlength=rows.n_rows)
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=rows.n_rows)))
    values = (values / np.sqrt(squares[row])).astype(np.float32)
    return SparseRows(starts, rows.columns[kept], np.minimum(values, 1), rows.n_columns)


def _nearest(
    sense: npt.NDArray[np.int64],
    document: npt.NDArray[np.int32],
    nearness: npt.NDArray[np.float32],
    n_senses: int,
) -> npt.NDArray[np.int64]:
    order = np.lexsort((document, -nearness, sense))
    ordered = sense[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    found = np.full((n_senses, N_TYPICAL), -1, dtype=np.int64)
    first = rank < N_TYPICAL
    found[ordered[first], rank[first]] = document[order[first]]
    return found


def _evidence(has_others: npt.NDArray[np.bool_], documents: Documents) -> str:
    """Return what tells senses apart: other labels, if most documents have some."""
    if len(has_others) == 0 or has_others.mean() >= 0.5:
        return "labels"
    return "embedding" if documents.n_dense > 0 else "text"
