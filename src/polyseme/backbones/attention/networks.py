"""The two networks. Each reads words, and scores outputs: all of them, or candidates.

An output is a node, a cluster or a slot. It has a row of `own` (what it looks for) and a number of
`bias`; all else is shared, and taken over when a network is started from another one. What a
document's padding holds makes no difference to its scores.

Imported only after `polyseme.backbones.neural.library.needed_library` has found torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from polyseme.backbones.attention.words import PADDING

if TYPE_CHECKING:
    from polyseme.backbones.attention.reading import Reading

__all__ = ["AttentionNetwork", "ConvolutionNetwork"]

WIDTHS = (2, 4, 8)  # words that a convolution sees at once
STRIDE = 2
LEAK = 0.1  # of what is below 0: a unit that is never above it still learns
N_POOLS = 8  # parts of a text whose strongest answers are kept


class _Network(nn.Module):  # type: ignore[misc]
    """Word vectors, and rows of outputs."""

    def __init__(
        self, how: Reading, n_words: int, n_dimensions: int, n_outputs: int, n_own: int
    ) -> None:
        super().__init__()
        self.share_left_out = how.dropout
        self.vectors = nn.Embedding(n_words, n_dimensions, padding_idx=PADDING, sparse=True)
        with torch.no_grad():
            self.vectors.weight[PADDING + 1 :].normal_(std=0.5)
            self.vectors.weight[PADDING] = 0
        self.own = nn.Parameter(torch.randn(n_outputs, n_own) / n_own**0.5)
        self.bias = nn.Parameter(torch.zeros(n_outputs))

    def forward(self, words: Any, candidates: Any = None, seed: int | None = None) -> Any:
        """Return the logits of outputs.

        Parameters
        ----------
        words : Tensor of int64, shape (n_documents, n_words)
        candidates : Tensor of int64, shape (n_documents, n_candidates), optional
            By default all outputs.
        seed : int, optional
            In training: which dimensions are left out for a document (dropout) follows from it.

        Returns
        -------
        Tensor, shape (n_documents, n_candidates)
        """
        if candidates is None:
            own, bias = self.own[None], self.bias
        else:
            own = functional.embedding(candidates, self.own, sparse=True)
            bias = self.bias[candidates]
        judged = self.judged(words, own, seed)
        verdict = own[:, :, -self.n_verdict :]
        if judged.shape[1] == 1:
            return (verdict @ judged.transpose(1, 2)).squeeze(2) + bias
        return (judged * verdict).sum(dim=2) + bias

    def judged(self, words: Any, own: Any, seed: int | None = None) -> Any:
        """Return what outputs weigh by their verdicts, the last `n_verdict` of their numbers.

        Parameters
        ----------
        words : Tensor of int64, shape (n_documents, n_words)
        own : Tensor, shape (n_documents or 1, n_candidates, n_own)
            The rows of outputs.
        seed : int, optional

        Returns
        -------
        Tensor, shape (n_documents, n_candidates or 1, n_verdict)
        """
        raise TypeError(f"{type(self).__name__} does not say what it makes of words.")

    def thinned(self, rows: Any, generator: Any) -> Any:
        """Leave out some dimensions of each document, the same for all of its words."""
        if generator is None or self.share_left_out == 0:
            return rows
        shape = (len(rows), *(1,) * (rows.ndim - 2), rows.shape[-1])
        kept = torch.rand(shape, generator=generator) >= self.share_left_out
        return rows * (kept.to(rows) / (1 - self.share_left_out))


class AttentionNetwork(_Network):
    """A BiLSTM, and for each output an attention of its own to the words (You et al., 2019).

    An output's attention gives a mean of the words as it sees them. A layer that all outputs share
    judges that mean, and the output weighs what it says; in the paper these weights are shared as
    well, which takes many more passes over the documents to learn.
    """

    def __init__(self, how: Reading, n_words: int, n_dimensions: int, n_outputs: int) -> None:
        width = 2 * how.n_hidden
        super().__init__(how, n_words, n_dimensions, n_outputs, width + how.n_hidden)
        self.n_looked_for, self.n_verdict = width, how.n_hidden
        self.onward = nn.LSTM(n_dimensions, how.n_hidden, batch_first=True)
        self.backward_ = nn.LSTM(n_dimensions, how.n_hidden, batch_first=True)
        self.judge = nn.Linear(width, how.n_hidden)

    def judged(self, words: Any, own: Any, seed: int | None = None) -> Any:
        """Return what the shared layer makes of the mean that each output attends to."""
        is_word = words != PADDING
        states = self._states(words, is_word, _generator(seed))
        fits = states @ own[:, :, : self.n_looked_for].transpose(1, 2)
        fits = fits.masked_fill(~is_word[:, :, None], -torch.inf)
        seen = functional.softmax(fits, dim=1).transpose(1, 2) @ states
        return functional.leaky_relu(self.judge(seen), LEAK)

    def _states(self, words: Any, is_word: Any, generator: Any) -> Any:
        """Return what stands at each word in its context, shape (n_documents, n_words, width)."""
        vectors = self.thinned(self.vectors(words), generator)
        # Turned around text by text, so that reading backwards begins with a word, not padding.
        place = torch.arange(words.shape[1], device=words.device)
        turned = torch.where(is_word, is_word.sum(dim=1, keepdim=True) - 1 - place, place)
        onward, _ = self.onward(vectors)
        backward, _ = self.backward_(_at(vectors, turned))
        return self.thinned(torch.cat([onward, _at(backward, turned)], dim=2), generator)


class ConvolutionNetwork(_Network):
    """Convolutions of several widths, the strongest answers by part of the text, a bottleneck.

    This is XML-CNN (Liu et al., 2017). The dynamic pooling cuts every text into as many parts.
    """

    def __init__(self, how: Reading, n_words: int, n_dimensions: int, n_outputs: int) -> None:
        super().__init__(how, n_words, n_dimensions, n_outputs, how.n_hidden)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(n_dimensions, how.n_filters, width, STRIDE) for width in WIDTHS
        )
        self.n_verdict = how.n_hidden
        n_pooled = len(WIDTHS) * how.n_filters * N_POOLS
        self.bottleneck = nn.Linear(n_pooled, how.n_hidden)

    def judged(self, words: Any, own: Any, seed: int | None = None) -> Any:
        """Return what stands behind the bottleneck, the same for all outputs."""
        generator = _generator(seed)
        pooled = self.thinned(self._pooled(words, generator), generator)
        found = self.thinned(functional.leaky_relu(self.bottleneck(pooled), LEAK), generator)
        return found[:, None]

    def _pooled(self, words: Any, generator: Any) -> Any:
        n_answers = -(-(words != PADDING).sum(dim=1) // STRIDE)  # of each text: rounded up
        vectors = self.thinned(self.vectors(words), generator).transpose(1, 2)
        most = -(-words.shape[1] // STRIDE)
        place = torch.arange(most, device=words.device)
        part = torch.where(
            place < n_answers[:, None], place * N_POOLS // n_answers[:, None], N_POOLS
        )
        pooled = []
        for width, convolution in zip(WIDTHS, self.convolutions, strict=True):
            room = (most - 1) * STRIDE + width - words.shape[1]
            answers = functional.relu(convolution(functional.pad(vectors, (0, max(0, room)))))
            answers = answers[:, :, :most]
            # Nothing is less than 0: it stands for parts that a short text does not have.
            none = answers.new_zeros(len(words), answers.shape[1], N_POOLS + 1)
            index = part[:, None, :].expand_as(answers)
            strongest = none.scatter_reduce(2, index, answers, "amax")
            pooled.append(strongest[:, :, :N_POOLS].flatten(1))
        return torch.cat(pooled, dim=1)


def _generator(seed: int | None) -> Any:
    return None if seed is None else torch.Generator().manual_seed(seed)


def _at(rows: Any, places: Any) -> Any:
    """Return what each document has at the given places."""
    return rows.gather(1, places[:, :, None].expand(-1, -1, rows.shape[2]))
