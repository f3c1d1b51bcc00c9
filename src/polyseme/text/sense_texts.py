"""The senses of a label with documents of a corpus for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import islice

import numpy as np
import scipy.sparse as sp

from polyseme.senses.describe import Sense, senses_of
from polyseme.text.corpora.records import Record
from polyseme.text.model import TextModel

__all__ = ["senses_in_corpus"]

MOST_LOOKED_AT = 10_000  # documents of the label


def senses_in_corpus(
    model: TextModel,
    label: int,
    records: Iterable[Record],
    *,
    n_features: int = 10,
    n_neighbours: int = 8,
    n_documents: int = 5,
) -> tuple[list[Sense], dict[int, str]]:
    """Describe each sense of a label, with rows of a corpus that belong to it.

    Parameters
    ----------
    records : iterable of Record
        Walked through until ten thousand documents with the label are found.

    Returns
    -------
    senses : list of Sense
        As `polyseme.senses.senses_of` gives them.
    texts : dict of int to str
        The text of each row that the senses list.
    """
    key = model.uri_of(label) or model.name_of(label)
    having = ((row, r.text) for row, r in enumerate(records) if key in r.labels)
    rows, texts = [], []
    for row, text in islice(having, MOST_LOOKED_AT):
        rows.append(row)
        texts.append(text)
    X, Y = None, None
    if rows:
        X = model.features_.transform(texts)
        ones, place = np.ones(len(rows)), (np.arange(len(rows)), np.full(len(rows), label))
        Y = sp.csr_array((ones, place), shape=(len(rows), model.classifier_.n_labels_))
    found = senses_of(
        model.classifier_,
        label,
        X,
        Y,
        n_features=n_features,
        n_neighbours=n_neighbours,
        n_documents=n_documents,
    )
    shown = {rows[i]: texts[i] for sense in found for i in sense.documents}
    return [
        dataclasses.replace(sense, documents=[rows[i] for i in sense.documents]) for sense in found
    ], shown
