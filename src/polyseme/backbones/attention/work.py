"""How much networks that read words have to do, and to hold: for estimates of a training."""

from __future__ import annotations

import math

from polyseme.backbones.attention.outputs import MOST_WRONG
from polyseme.backbones.attention.reading import Reading
from polyseme.machine import phases
from polyseme.partition.label_tree import LabelTree

__all__ = ["bytes_of_phases", "levels_with_networks", "work_of_phases"]

OF_TRAINING = 3  # what a step takes, against reading alone
SLOWNESS = 3.0  # of a product within an LSTM, against one of large matrices
WORDS_OF_A_TEXT = 20.0  # different ones that known texts bring: so many times the root of all
COPIES_OF_WEIGHTS = 4 * 4  # bytes of a weight, its gradient and two means
SUM_OF_WIDTHS, N_POOLED = 14, 24  # of convolutions, and of their answers for each filter


def levels_with_networks(tree: LabelTree, how: Reading) -> range:
    """Return the levels that have a network: from the widest that is scored whole to the last."""
    few = [
        level for level in range(1, tree.n_levels + 1) if tree.n_nodes(level) <= how.most_at_once
    ]
    return range(max(few, default=1), tree.n_levels + 1)


def work_of_phases(
    how: Reading, n_documents: int, n_labels: int, tree: LabelTree, copies: int
) -> dict[str, float]:
    """Return the work of a training's phases, about products of numbers.

    Parameters
    ----------
    how : Reading
    n_documents, n_labels : int
    tree : LabelTree
        Its shape counts.
    copies : int
        With more than one, the matcher learns in two halves.
    """
    levels = levels_with_networks(tree, how)
    asked = [
        tree.n_nodes(level) if place == 0 else min(tree.n_nodes(level), MOST_WRONG)
        for place, level in enumerate(levels)
    ]
    first = 0.5 if copies > 1 else 1.0
    shares = [first if place == 0 else 0.5 for place in range(len(asked))]
    again = sum(_learning(how, n_documents, n, 0.5) for n in asked)
    return {
        phases.TRAINING_MATCHER: sum(
            _learning(how, n_documents, n, share) for n, share in zip(asked, shares, strict=True)
        ),
        phases.TRAINING_MATCHER_AGAIN: again,
        phases.MATCHING: n_documents * sum(_reading(how, n) for n in asked),
        phases.TRAINING_RANKER: _learning(
            how, n_documents, min(n_labels * copies, MOST_WRONG), 0.5 if asked else 1.0
        ),
    }


def _learning(how: Reading, n_documents: int, n_asked: int, share: float) -> float:
    n_steps = max(how.least_steps, math.ceil(share * how.n_epochs * n_documents / how.batch_size))
    n_seen = n_steps * min(how.batch_size, n_documents)
    return OF_TRAINING * n_seen * _reading(how, n_asked)


def _reading(how: Reading, n_asked: int) -> float:
    """Return the products to read a text and to score so many outputs."""
    hidden, width = how.n_hidden, how.n_dimensions
    if how.network == "convolution":
        words = how.n_words / 2 * SUM_OF_WIDTHS * width * how.n_filters
        return words + hidden * (N_POOLED * how.n_filters + n_asked)
    of_a_word = SLOWNESS * 8 * hidden * (width + hidden) + 4 * hidden * n_asked
    return how.n_words * of_a_word + 2 * hidden**2 * n_asked


def bytes_of_phases(
    how: Reading, n_documents: int, n_slots: int, tree: LabelTree
) -> dict[str, float]:
    """Return the memory that grows with a job: words of texts, word vectors, rows of outputs."""
    n_read = n_documents * how.n_words
    n_known = min(how.vocabulary_size, WORDS_OF_A_TEXT * math.sqrt(n_read))
    n_own = 3 * how.n_hidden if how.network == "attention" else how.n_hidden
    levels = levels_with_networks(tree, how)
    of_networks = [
        COPIES_OF_WEIGHTS * (n_known * how.n_dimensions + n_outputs * n_own)
        for n_outputs in (*(tree.n_nodes(level) for level in levels), n_slots)
    ]
    of_words = 8.0 * n_read
    of_matcher = of_words + sum(of_networks[:-1])
    return {
        phases.TRAINING_MATCHER: of_matcher,
        phases.TRAINING_MATCHER_AGAIN: of_matcher,
        phases.MATCHING: of_matcher,
        phases.TRAINING_RANKER: of_matcher + of_words + of_networks[-1],
    }
