"""Documents of a corpus that have a label, to show what its senses are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from polyseme.inputs.documents import Documents
from polyseme.text.corpora.records import Record

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["rows_with_label"]

MOST_LOOKED_AT = 10_000  # documents of the label


def rows_with_label(
    model: TextModel, label: int, records: Iterable[Record]
) -> tuple[Documents, sp.csr_array, list[str], list[int]]:
    """Walk through a corpus until ten thousand documents with a label are found.

    Returns
    -------
    X : Documents
    Y : csr_array
        Those of their labels that the model knows.
    texts : list of str
    rows : list of int
        Their places in the corpus.
    """
    key = model.uri_of(label) or model.name_of(label)
    having = ((row, record) for row, record in enumerate(records) if key in record.labels)
    found = list(islice(having, MOST_LOOKED_AT))
    number_of = model.label_numbers() if found else {}
    known = [
        sorted({number_of[label] for label in record.labels if label in number_of})
        for _, record in found
    ]
    starts = np.append(0, np.cumsum([len(labels) for labels in known], dtype=np.int64))
    columns = np.array([label for labels in known for label in labels], dtype=np.int32)
    shape = len(found), model.classifier_.n_labels_
    Y = sp.csr_array((np.ones(len(columns)), columns, starts), shape=shape)
    texts = [record.text for _, record in found]
    return model.as_documents(texts), Y, texts, [row for row, _ in found]
