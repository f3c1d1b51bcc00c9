"""Documents of a corpus that have a label, to show what its senses are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from polyseme.text.corpora.records import Record

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["rows_with_label"]

MOST_LOOKED_AT = 10_000  # documents of the label


def rows_with_label(
    model: TextModel, label: int, records: Iterable[Record]
) -> tuple[sp.csr_array, sp.csr_array, list[str], list[int]]:
    """Walk through a corpus until ten thousand documents with a label are found.

    Returns
    -------
    X, Y : csr_array
        Their features, and the one label of each.
    texts : list of str
    rows : list of int
        Their places in the corpus.
    """
    key = model.uri_of(label) or model.name_of(label)
    having = ((row, record.text) for row, record in enumerate(records) if key in record.labels)
    found = list(islice(having, MOST_LOOKED_AT))
    texts = [text for _, text in found]
    ones, place = np.ones(len(found)), (np.arange(len(found)), np.full(len(found), label))
    Y = sp.csr_array((ones, place), shape=(len(found), model.classifier_.n_labels_))
    return model.features_.transform(texts), Y, texts, [row for row, _ in found]
