"""Features of both kinds side by side: TF-IDF and embedding, each at unit length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyseme.backbones.transformer.embedding_store import EmbeddingStore
from polyseme.backbones.transformer.encoders import Encoder
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run

__all__ = ["EncodedFeatures", "require_texts"]

MOST_REMEMBERED = 64  # texts: senses and explanations are asked for right after labels


@dataclass
class EncodedFeatures:
    """What a linear model sees of documents: what they have, and the embedding of their text.

    Parameters
    ----------
    encoder : Encoder
    weight : float
        Length of an embedding, against 1 of the sparse features.
    layout : pair of int, optional
        Sparse and dense columns of documents before they are encoded; known from training.
    store : EmbeddingStore, optional
        Where embeddings are looked up.
    """

    encoder: Encoder
    weight: float = 1.0
    layout: tuple[int, int] | None = None
    store: EmbeddingStore | None = None
    _latest: dict[str, npt.NDArray[np.float32]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def seen_layout(self) -> tuple[int, int] | None:
        """Sparse and dense columns of encoded documents."""
        if self.layout is None:
            return None
        return self.layout[0], self.layout[1] + self.encoder.n_dimensions

    def of(self, documents: Documents, run: Run, *, keep: bool = False) -> Documents:
        """Return documents with their embeddings; those that have them come back as they are.

        Parameters
        ----------
        documents : Documents
        run : Run
        keep : bool
            Whether embeddings that the store does not know are kept in it.
        """
        if documents.layout == self.seen_layout:
            return documents
        texts = require_texts(documents)
        if self.store is not None:
            vectors = self.store.embed(texts, run, keep=keep)
        else:
            vectors = self._embedded(texts, run)
        vectors = vectors * np.float32(self.weight)
        if documents.dense is not None:
            vectors = np.hstack([documents.dense, vectors])
        sparse = None if documents.sparse is None else _unit(documents.sparse)
        return Documents(sparse, np.ascontiguousarray(vectors, dtype=np.float32))

    def _embedded(self, texts: Sequence[str], run: Run) -> npt.NDArray[np.float32]:
        """Return embeddings; those of the last few texts are not computed again."""
        latest = self._latest  # others may put another in its place meanwhile
        if texts and all(text in latest for text in texts):
            return np.array([latest[text] for text in texts], dtype=np.float32)
        vectors = self.encoder.embed(texts, run)
        if len(texts) <= MOST_REMEMBERED:
            self._latest = dict(zip(texts, vectors, strict=True))
        return vectors

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "store": None, "_latest": {}}


def require_texts(documents: Documents) -> Sequence[str]:
    """Return the texts of documents, or say that there must be some."""
    if documents.texts is None:
        raise ValueError(
            "XTransformer reads texts, and these documents have none; use it within a TextModel, "
            "or give it Documents with texts."
        )
    return documents.texts


def _unit(rows: SparseRows) -> SparseRows:
    """Return rows at unit length; the same ones if they have it already."""
    row_of_entry = np.repeat(np.arange(rows.n_rows), np.diff(rows.starts))
    squares = np.bincount(
        row_of_entry, weights=rows.values.astype(np.float64) ** 2, minlength=rows.n_rows
    )
    lengths = np.sqrt(squares)
    lengths[(squares == 0) | (np.abs(lengths - 1) < 1e-6)] = 1  # each by itself: see the contract
    if (lengths == 1).all():
        return rows
    return replace(rows, values=(rows.values / lengths[row_of_entry]).astype(np.float32))
