"""Documents of a corpus that have a label, to show what its senses are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from polyseme.text.corpora.records import Record

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["Having", "rows_with_label"]

MOST_LOOKED_AT = 10_000  # documents of the label


@dataclass(frozen=True)
class Having:
    """Documents that have a label.

    Attributes
    ----------
    rows : list of int
        Their places in the corpus.
    texts : list of str
    X, Y : csr_array
        Their features, and the one label of each.
    """

    rows: list[int]
    texts: list[str]
    X: sp.csr_array
    Y: sp.csr_array


def rows_with_label(model: TextModel, label: int, records: Iterable[Record]) -> Having:
    """Walk through a corpus until ten thousand documents with a label are found."""
    key = model.uri_of(label) or model.name_of(label)
    having = ((row, record.text) for row, record in enumerate(records) if key in record.labels)
    found = list(islice(having, MOST_LOOKED_AT))
    texts = [text for _, text in found]
    ones, place = np.ones(len(found)), (np.arange(len(found)), np.full(len(found), label))
    return Having(
        rows=[row for row, _ in found],
        texts=texts,
        X=model.features.transform(texts),
        Y=sp.csr_array((ones, place), shape=(len(found), model.classifier.n_labels_)),
    )
