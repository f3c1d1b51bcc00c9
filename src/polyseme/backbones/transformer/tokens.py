"""Texts as numbers of tokens, by a tokenizer that came with an encoder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.library import needed_library

__all__ = ["Tokens"]

TEXTS_AT_ONCE = 1024
CHARACTERS_PER_TOKEN = 20  # hardly a text has tokens that long; what is beyond is cut unseen


class Tokens:
    """A tokenizer, and how many tokens of a text count.

    Parameters
    ----------
    described : str
        The JSON of the ``tokenizers`` library, as in a file ``tokenizer.json``.
    max_tokens : int or None
        Most tokens of a text, those that are added to each included; None for all.
    """

    def __init__(self, described: str, max_tokens: int | None) -> None:
        tokenizers = needed_library("tokenizers")
        self.described = described
        self.max_tokens = max_tokens
        self._has_told = False
        self._tokenizer = tokenizers.Tokenizer.from_str(described)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._n_added = self._tokenizer.num_special_tokens_to_add(False)
        if max_tokens is not None:
            if max_tokens <= self._n_added:
                raise ValueError(
                    f"max_tokens={max_tokens} leaves no room for a text: the encoder adds "
                    f"{self._n_added} tokens of its own to each."
                )
            self._tokenizer.enable_truncation(max_tokens)

    @cached_property
    def pad(self) -> int:
        """The token that fills short rows up."""
        padding = json.loads(self.described).get("padding")
        return int(padding["pad_id"]) if isinstance(padding, dict) else 0

    @property
    def n_tokens(self) -> int:
        """Number of tokens that there are."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def of(self, texts: Sequence[str]) -> list[npt.NDArray[np.int32]]:
        """Return the tokens of each text; none of a text without any word.

        The first time that something is cut off, a warning says so.
        """
        found: list[npt.NDArray[np.int32]] = []
        n_cut = 0
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            batch = [self._begin(text) for text in texts[first : first + TEXTS_AT_ONCE]]
            encodings = self._tokenizer.encode_batch_fast(batch)
            for text, kept, encoding in zip(texts[first:], batch, encodings, strict=False):
                ids = np.array(encoding.ids, dtype=np.int32)
                found.append(ids if len(ids) > self._n_added else ids[:0])
                n_cut += len(kept) < len(text) or len(encoding.overflowing) > 0
        if n_cut and not self._has_told:
            self._has_told = True
            warnings.warn(
                f"{n_cut:,} of {len(texts):,} texts have more than {self.max_tokens} tokens; the "
                "encoder does not see the rest (max_tokens says how much it sees).",
                stacklevel=2,
            )
        return found

    def padded(
        self, tokens: Sequence[npt.NDArray[np.int32]]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the tokens of a few texts as one array, and ones where it is not filled up.

        Returns
        -------
        ids, mask : ndarray of int64, shape (n_texts, n_tokens_of_the_longest)
        """
        longest = max(len(one) for one in tokens)
        ids = np.full((len(tokens), longest), self.pad, dtype=np.int64)
        mask = np.zeros((len(tokens), longest), dtype=np.int64)
        for row, one in enumerate(tokens):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        return ids, mask

    def _begin(self, text: str) -> str:
        if self.max_tokens is None:
            return text
        return text[: CHARACTERS_PER_TOKEN * self.max_tokens]

    def to_array(self) -> npt.NDArray[np.uint8]:
        """Return the tokenizer as bytes, to be stored."""
        return np.frombuffer(self.described.encode("utf-8"), dtype=np.uint8)

    @classmethod
    def from_array(cls, content: npt.NDArray[np.uint8], max_tokens: int | None) -> Tokens:
        """Return the tokenizer that was stored."""
        return cls(content.tobytes().decode("utf-8"), max_tokens)

    def __getstate__(self) -> dict[str, Any]:
        return {"described": self.described, "max_tokens": self.max_tokens}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
