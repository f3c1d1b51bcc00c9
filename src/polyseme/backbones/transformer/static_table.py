"""A table of token vectors: a text is the mean of its tokens. Needs no network and no GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.backbones.transformer.tokens import Tokens
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.machine.run import Run

__all__ = ["StaticTable", "unit_rows"]

Floats = npt.NDArray[np.float32]
TEXTS_AT_ONCE = 4096


class StaticTable:
    """Token vectors, averaged.

    Parameters
    ----------
    tokens : Tokens
    table : ndarray of float16 or float32, shape (n_tokens, n_dimensions)
    name : str
        Where it came from, for messages.
    """

    form = "static"
    can_be_finetuned = False

    def __init__(self, tokens: Tokens, table: npt.NDArray[Any], name: str) -> None:
        if table.ndim != 2 or len(table) < tokens.n_tokens:
            raise ValueError(
                f"the encoder {name} has {tokens.n_tokens} tokens, but its table has the shape "
                f"{table.shape}; table and tokenizer must be of one kind."
            )
        self.tokens, self.table, self.name = tokens, table, name

    @property
    def n_dimensions(self) -> int:
        """Numbers of an embedding."""
        return int(self.table.shape[1])

    @property
    def key(self) -> str:
        """What embeddings depend on, but for the text, in a few letters."""
        digest = hashlib.sha256(self.tokens.described.encode())
        digest.update(self.table.tobytes())
        digest.update(str(self.tokens.max_tokens).encode())
        return digest.hexdigest()[:24]

    def embed(self, texts: Sequence[str], run: Run) -> Floats:
        """Return the embedding of each text at unit length, or zeros if it has no token.

        Returns
        -------
        ndarray of float32, shape (n_texts, n_dimensions)
        """
        found = np.zeros((len(texts), self.n_dimensions), dtype=np.float32)
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            ids = self.tokens.of(texts[first : first + TEXTS_AT_ONCE])
            starts = np.concatenate([[0], np.cumsum([len(one) for one in ids])])
            columns = np.concatenate([*ids, np.zeros(0, np.int32)])
            # Each token once, with its count: the same sum whatever stands beside the text.
            counts = sp.csr_array(
                (np.ones(len(columns), np.float32), columns, starts),
                shape=(len(ids), len(self.table)),
            )
            counts.sum_duplicates()
            used = np.unique(counts.indices)
            vectors = np.asarray(self.table[used], dtype=np.float32)
            found[first : first + len(ids)] = counts[:, used] @ vectors
            if run.progress is not None:
                run.progress(first + len(ids))
        return unit_rows(found)

    def contents(self) -> Contents:
        """Return what makes it up, to be stored."""
        return Contents(
            {"form": self.form, "name": self.name, "max_tokens": self.tokens.max_tokens},
            {"tokenizer": self.tokens.to_array(), "table": self.table},
            {},
        )

    @classmethod
    def restored(cls, stored: StoredModel) -> StaticTable:
        """Return what was stored, after checking it."""
        table = stored.arrays.get("table")
        kind = np.float32 if table is None else table.dtype
        if kind not in (np.float16, np.float32):
            raise stored.damaged("the table of its encoder holds other numbers than floats")
        table = stored.array("table", kind, (None, None))
        stored.finite("table")
        return cls(restored_tokens(stored), table, stored.value("name", str))


def restored_tokens(stored: StoredModel) -> Tokens:
    """Return the tokenizer of a stored encoder."""
    most = stored.description.get("max_tokens")
    if most is not None and (type(most) is not int or most < 1):
        raise stored.damaged(f"max_tokens of its encoder is {most!r:.80}")
    content = stored.array("tokenizer", np.uint8, (None,))
    try:
        return Tokens.from_array(content, most)
    except Exception as error:  # the library raises plain ones
        if "need tokenizers" in str(error):
            raise
        raise stored.damaged("the tokenizer of its encoder is not one") from error


def unit_rows(rows: Floats) -> Floats:
    """Return rows at unit length; zeros stay zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    found = rows / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None]
    return np.ascontiguousarray(found, dtype=np.float32)
