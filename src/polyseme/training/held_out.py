"""Candidates of training documents, scored by a matcher and a ranker that did not see them.

The slots are the model's own. Drafts of both parts learn from the other documents, in haste; the
order of labels that is learned from what they say holds for the model of all documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Drafts, Fuses, Matcher, Ranker
from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.ordering.facts import (
    MOST_CANDIDATES,
    Candidates,
    candidates_of,
    log_counts,
)
from polyseme.ordering.label_ordering import LabelOrdering
from polyseme.ordering.learning import FEWEST_HITS, learn_ordering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.training_rows import cluster_targets
from polyseme.training.cross_matching import split_into_folds
from polyseme.training.disentangle import what_the_ranker_sees

__all__ = [
    "Drafting",
    "candidates_by_parts",
    "count_held_out",
    "held_out_candidates",
    "held_out_parts",
    "order_by_held_out",
]

FEWEST_HELD_OUT, MOST_HELD_OUT = 3000, 5000  # documents that an order is learned from
HELD_OUT_SHARE = 0.1
ROWS_AT_ONCE = 1024  # so that scores of slots need little memory
ORDER_SEED = 0x0DE5  # another choice of documents than that of cross-matching


@dataclass(frozen=True, eq=False)
class Drafting:
    """What drafts are made of.

    Attributes
    ----------
    make_matcher, make_ranker : callable
    tree : LabelTree
    task : RankingTask
        What the ranker of all documents learned.
    parts : list of ndarray of int64
        The documents that are held out, a part for each draft; see `held_out_parts`.
    beam_size : int
    merge : str
    ranker : Ranker, optional
        The one that was trained. A draft that it kept stands for one of our own.
    words : NameWords, optional
        The words of the names of labels.
    """

    make_matcher: Callable[[], Matcher]
    make_ranker: Callable[[], Ranker]
    tree: LabelTree
    task: RankingTask
    parts: list[npt.NDArray[np.int64]]
    beam_size: int
    merge: str
    ranker: Ranker | None = None
    words: NameWords | None = None

    @property
    def kept_draft(self) -> Ranker | None:
        """The draft that the ranker kept on its way, if it did."""
        return self.ranker.draft if isinstance(self.ranker, Drafts) else None


def order_by_held_out(documents: Documents, how: Drafting, run: Run) -> LabelOrdering | None:
    """Learn the order of labels; None if there is too little to learn from.

    See `held_out_candidates` for the parameters.
    """
    found = held_out_candidates(documents, how, run)
    return None if found is None else learn_ordering(*found)


def held_out_candidates(
    documents: Documents, how: Drafting, run: Run
) -> tuple[Candidates, SparsePattern] | None:
    """Return candidates of documents that were held out, and their true labels.

    None if there are too few, or if scores do not multiply along a path.

    Parameters
    ----------
    documents : Documents
    how : Drafting
    run : Run
        Progress counts slots of all drafts.
    """
    candidates = []
    for i, part in enumerate(how.parts):
        found = _candidates_of_part(
            documents, how, part, run.counting_from(i * how.task.clusters.n_slots)
        )
        if found is None:
            return None
        candidates.append(found)
    if not candidates:
        return None
    return Candidates.stack(candidates), how.task.labels.take(np.concatenate(how.parts))


def held_out_parts(labels: SparsePattern, seed: int) -> list[npt.NDArray[np.int64]]:
    """Return the documents that are held out, a part for each draft.

    Of many documents a tenth is enough, in one part; few are all held out, by halves. Nothing is
    where too few true labels would be found.
    """
    n, seed = labels.n_rows, seed ^ ORDER_SEED
    n_held_out = count_held_out(n)
    if n_held_out == n:
        parts = split_into_folds(n, 2, seed) if n > 1 else []
    else:
        parts = [np.sort(np.random.default_rng(seed).permutation(n)[:n_held_out])]
    n_true = sum(int(np.diff(labels.starts)[part].sum()) for part in parts)
    return parts if n_true >= FEWEST_HITS else []


def count_held_out(n_documents: int) -> int:
    """Return how many of so many documents are held out: all, or less than half of them."""
    n = min(max(int(HELD_OUT_SHARE * n_documents), FEWEST_HELD_OUT), MOST_HELD_OUT)
    return n if 2 * n < n_documents else n_documents


def _candidates_of_part(
    documents: Documents, how: Drafting, part: npt.NDArray[np.int64], run: Run
) -> Candidates | None:
    others = np.delete(np.arange(documents.n_rows), part)
    task = how.task
    draft = replace(
        task,
        labels=task.labels.take(others),
        rows=task.rows.take(others),
        own_documents=None if task.own_documents is None else task.own_documents.take(others),
        held_out=None,
        is_draft=True,
    )
    known = documents.take(others)
    targets = cluster_targets(draft.labels, task.clusters)
    matcher = how.make_matcher().fit(
        known, MatchingTask(targets, how.tree, is_draft=True), run.reporting_to(None)
    )
    unseen, quiet = documents.take(part), run.reporting_to(None)
    some = unseen.rows(0, min(len(part), ROWS_AT_ONCE))
    matched = matcher.match(some, how.beam_size, quiet)
    if not _multiply(matched):
        return None
    ranker, seen = how.kept_draft, what_the_ranker_sees(matcher, some, quiet)
    if ranker is None or seen is not some:  # the draft saw features of another matcher
        ranker = how.make_ranker().fit(what_the_ranker_sees(matcher, known, run), draft, run)
    if not _multiply(ranker.score(seen, matched, task.clusters, quiet)):
        return None
    counts = log_counts(np.bincount(draft.labels.columns, minlength=draft.labels.n_columns))
    if isinstance(matcher, Fuses) and seen is some:
        walk = matcher.fused_with(ranker, task.clusters)
        if walk is not None:
            return walk.candidates(unseen, how.beam_size, how.merge, counts, quiet, how.words)
    return Candidates.stack(
        [
            candidates_by_parts(
                matcher,
                ranker,
                task.clusters,
                block,
                counts,
                how.beam_size,
                how.merge,
                quiet,
                words=how.words,
            )
            for block in unseen.blocks(ROWS_AT_ONCE)
        ]
    )


def _multiply(scores: SparseRows) -> bool:
    """Tell whether scores are such that they multiply along a path; bare margins are not."""
    values = scores.values
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def candidates_by_parts(
    matcher: Matcher,
    ranker: Ranker,
    clusters: LabelClusters,
    documents: Documents,
    counts: npt.NDArray[np.float32],
    beam_size: int,
    merge: str,
    run: Run,
    *,
    n: int | None = MOST_CANDIDATES,
    words: NameWords | None = None,
) -> Candidates:
    """Return candidates of a matcher and a ranker of any kind; for a block of documents.

    Parameters
    ----------
    counts : ndarray of float32, shape (n_labels,)
        See `log_counts`.
    n : int, optional
        How many; None for all labels that are reached.
    words : NameWords, optional
        The words of the names of labels.
    """
    matched = matcher.match(documents, beam_size, run)
    scores = ranker.score(what_the_ranker_sees(matcher, documents, run), matched, clusters, run)
    most = int(np.diff(scores.starts).max(initial=1)) if n is None else n
    return candidates_of(matched, scores, clusters, counts, documents, merge, most, words)
