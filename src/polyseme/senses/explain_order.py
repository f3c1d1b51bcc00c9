"""What the learned order made of a label: where it was before, and what each fact did to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.ordering.facts import PLACE_OF, candidates_of, log_lengths
from polyseme.ordering.label_ordering import CountedOrdering

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["DocumentOrder", "OrderEffect", "OrderExplanation"]

LEAST_EFFECT = 0.05  # what is less hardly counts
LEAST_SHOWN = 1e-4

# The other facts follow from these, or are the same for all candidates.
EXPLAINED = ("path", "slot", "reached", "count", "name")
# What makes a label's two sums over clusters larger: the share of its logarithm in 'tempered',
# which has the root of the cluster's score; in 'product' it is whole.
IN_SUMS = {"path": 0.5, "slot": 1.0, "reached": 1.0}

# What a score says, then how it compares: it is more, less, or looks the same.
COMPARED = {
    "path": ("its cluster fits the document", "better than", "less well than", "about as well as"),
    "slot": (
        "its own words speak",
        "more clearly than",
        "less clearly than",
        "about as clearly as",
    ),
}

OWN_NAME = (
    "it has no name in words",
    "nothing of its name is in the text",
    "up to half of its name is in the text",
    "more than half of its name is in the text",
    "every word of its name is in the text",
)
TYPICAL_NAME = (
    "the typical candidate has none in words",
    "of the typical candidate's nothing",
    "of the typical candidate's up to half",
    "of the typical candidate's more than half",
    "of the typical candidate's every word",
)


@dataclass(frozen=True)
class OrderEffect:
    """What one fact did for a label.

    Attributes
    ----------
    fact : {'path', 'slot', 'reached', 'count', 'name'}
        How well its best cluster fits, how clearly its own words speak there, in how many of its
        clusters it was reached, how often training documents have it, or how much of its name
        stands in the document.
    value, typical : float
        The same as a score or a number, of the label and of the median candidate; for a name the
        number from 0, none known, and 1, nothing of it, to 4, every word.
    amount : float
        What the label would lose, in log-odds, if it were as typical in this, with all that
        follows for its sums over clusters, and the same in all else. Below zero it would gain.
    sentence : str
        All of this for people.
    """

    fact: str
    value: float
    typical: float
    amount: float
    sentence: str


@dataclass(frozen=True)
class OrderExplanation:
    """Where the learned order put a label, and why.

    Attributes
    ----------
    bare_place, place : int
        Where the label stands, from 1, among all that were reached: by its bare score, and now.
    n_candidates : int
        How many of them were put in order, the best by their bare scores.
    effects : list of OrderEffect
        Largest first. Each is of one fact alone, so they do not quite add up. In what the label
        is as typical, as all are where they share a fact, there is none; nor has a label any that
        is no candidate.
    sentence : str
        The places for people.
    """

    bare_place: int
    place: int
    n_candidates: int
    effects: list[OrderEffect]
    sentence: str


class DocumentOrder:
    """The learned order of the labels that one document reached.

    Parameters
    ----------
    model : estimator
    counted : CountedOrdering
    document : Documents
        One row.
    matched : SparseRows, shape (1, n_clusters)
    slots : SparseRows, shape (1, n_slots)

    Attributes
    ----------
    scores : dict of int to float
        The probability of each label, best first.
    """

    def __init__(
        self,
        model: Model,
        counted: CountedOrdering,
        document: Documents,
        matched: SparseRows,
        slots: SparseRows,
    ) -> None:
        self._clusters, self._ordering = model.clusters_, counted.ordering
        self._favours_rare = counted.bonus is not None
        n_most = max(1, len(slots.columns))
        found = candidates_of(
            matched,
            slots,
            model.clusters_,
            counted.counts,
            document,
            model.merge,
            n_most,
            counted.words,
        )
        labels, probabilities = (
            row[0] for row in counted.ordering.ordered(found, log_lengths(document), counted.bonus)
        )
        n_labels = int((labels >= 0).sum())
        self.scores: dict[int, float] = dict(
            zip(labels[:n_labels].tolist(), probabilities[:n_labels].tolist(), strict=True)
        )
        self._bare = found.labels[0, :n_labels].tolist()
        self._facts = found.facts[0, : found.n_candidates[0]]

    def explanation(self, label: int) -> OrderExplanation:
        """Explain where a label that was reached stands."""
        bare, place = self._bare.index(label), list(self.scores).index(label) + 1
        n = len(self._facts)
        if bare >= n:
            said = (
                f"By its score alone it is in place {bare + 1}. Only the first {n} are put in the "
                "learned order; it comes after them."
            )
        elif n == 1:
            said = "It is the only candidate."
        elif bare + 1 == place:
            said = (
                f"It is in place {place} of {n} candidates, by its score alone as by the learned "
                "order."
            )
        else:
            said = (
                f"The learned order moved it from place {bare + 1} to {place} of {n} candidates."
            )
        if self._favours_rare:
            said += " Rare labels are favoured, so that a likelier one may come after it."
        effects = self._effects(label, bare) if bare < n else []
        return OrderExplanation(bare + 1, place, n, effects, said)

    def _effects(self, label: int, row: int) -> list[OrderEffect]:
        own, ordering = self._facts[row], self._ordering
        n_clusters = len(self._clusters.slots_of(label))
        found = []
        for fact in EXPLAINED:
            column = self._facts[:, PLACE_OF[fact]]
            # One of the candidates' own: there are no half clusters.
            median = np.quantile(column, 0.5, method="lower")
            if column[row] == median:
                continue
            value, typical = (_for_people(fact, float(one)) for one in (column[row], median))
            changed = own.astype(np.float64)
            changed[PLACE_OF[fact]] = median
            if fact in IN_SUMS:
                changed[PLACE_OF["tempered"]] += IN_SUMS[fact] * np.log(typical / value)
                changed[PLACE_OF["product"]] += np.log(typical / value)
            lost = ordering.values(own) - ordering.values(changed)
            amount = float(ordering.curve[0] * lost)
            said = f"{_comparison(fact, value, typical, n_clusters)}: {_verdict(amount)}"
            found.append(OrderEffect(fact, value, typical, amount, said))
        return sorted(found, key=lambda effect: -abs(effect.amount))


def _for_people(fact: str, value: float) -> float:
    """Return a number of documents or clusters, or a score."""
    if fact in ("reached", "name"):
        return value
    if fact == "count":
        return float(round(np.expm1(value)))
    return float(np.exp(-(value**3) if fact == "slot" else value))


def _comparison(fact: str, value: float, typical: float, n_clusters: int) -> str:
    if fact == "reached":
        own = (
            "its only cluster" if n_clusters == 1 else f"{value:.0f} of its {n_clusters} clusters"
        )
        return f"reached in {own}, the typical candidate in {typical:.0f}"
    if fact == "count":
        documents = "training document" if value == 1 else "training documents"
        how = "more than" if value > typical else "fewer than"
        return f"given to {value:,.0f} {documents}, {how} the typical candidate ({typical:,.0f})"
    if fact == "name":
        return f"{OWN_NAME[int(value)]}, {TYPICAL_NAME[int(typical)]}"
    says, more, less, alike = COMPARED[fact]
    own, other = _shown(value), _shown(typical)
    if own == other:
        return f"{says} {alike} the typical candidate's ({own})"
    how = more if value > typical else less
    return f"{says} {how} the typical candidate's ({own} against {other})"


def _shown(score: float) -> str:
    if score < LEAST_SHOWN:
        return "almost 0"
    return f"{score:.2f}" if score >= 0.01 else f"{score:.1g}"


def _verdict(amount: float) -> str:
    if abs(amount) < LEAST_EFFECT:
        return f"hardly counts ({amount:+.2f})"
    return f"speaks {'for' if amount > 0 else 'against'} it ({amount:+.2f})"
