"""An encoder for estimates: it encodes a few texts of each call, and makes up the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyseme.backbones.transformer.transformer import Floats, TokenLists, TransformerEncoder
from polyseme.machine.run import Run

__all__ = ["N_ENCODED", "SampledEncoder"]

N_ENCODED = 64  # texts of a call


class SampledEncoder(TransformerEncoder):
    """A transformer that costs little on many texts, so that all after it can be measured.

    What it learns, and how long a text takes, is real; but of the texts of a call only the first
    `N_ENCODED` are encoded, and all others get unit vectors by chance.

    Parameters
    ----------
    encoder : TransformerEncoder
        Becomes this one's own: it learns.
    """

    def __init__(self, encoder: TransformerEncoder) -> None:
        self.__dict__.update(vars(encoder))

    def embed_tokens(self, tokens: TokenLists, run: Run) -> Floats:
        """Return an embedding of each text, shape (n_texts, n_dimensions)."""
        found = np.random.default_rng(run.seed).normal(size=(len(tokens), self.n_dimensions))
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        vectors: Any = found.astype(np.float32)
        vectors[:N_ENCODED] = super().embed_tokens(tokens[:N_ENCODED], run)
        return vectors  # type: ignore[no-any-return]
