"""How likely a label is ambiguous, learned from labels that are fused on purpose.

The documents of two labels, taken for one, show how two meanings divide. The labels of the
vocabulary show how labels divide at large; some of them are ambiguous as well, and how many is
learned too. A probability of one half then says: half of the labels that divide like this one are
as two labels put together. Labels with documents at random show how much parts have in common by
chance: where it is no more, nothing is said to be ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from polyseme.senses.made_up_labels import (
    N_FUSED,
    N_SHUFFLED,
    coherence_by_chance,
    fuse_on_purpose,
)
from polyseme.senses.splits import SenseSpace, Splits, groups_of

__all__ = ["AmbiguityJudge"]

FEWEST_TO_LEARN_FROM = 50  # labels, and fused ones
ENOUGH_DOCUMENTS = 20  # of a label to learn from; with fewer, nothing is sure
# With so many documents, half of what sets a label apart from others is believed.
HALF_BELIEVED = 20
MOST_PARTS = 5
N_BINS = 5
RIDGE = 1e-3
# Below these, documents across two parts have nothing in common, and less says nothing more.
NO_ALIKENESS, NO_SIMILARITY = 0.05, 0.02
EXTREME = 3  # deviations
# Of fused labels, by which the share of ambiguous ones is found.
QUANTILES = np.arange(0.2, 0.95, 0.1)
MOST_AMBIGUOUS = 0.8  # share of the labels; where more seem so, the documents tell nothing
LEAST_AUC = 0.55  # with which fused labels are told from others, for this to mean anything
REPORTED = ("n_fused", "auc", "brier", "reliability")
IN_A_BIN = ("from", "to", "n", "predicted", "observed")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AmbiguityJudge:
    """From how a label divides to how likely it is ambiguous, and into how many senses.

    Two things are looked at, of the partition in two: `Splits.alikeness`, and the root of the mean
    similarity of texts across. How far they are from the mean of the vocabulary's labels is
    believed the more, the more documents there are. Weighted and added up this is evidence: the
    logarithm of how much more often a label of two meanings divides like this than a label of one.

    Attributes
    ----------
    means, deviations, weights : tuple of float
        One for each of the two; weights are not positive.
    bias : float
    prior : float
        The share of ambiguous labels among those of the vocabulary.
    most_alike : float
        Alikeness of parts from which they are not two senses.
    sizes, least_coherent : tuple of float
        From so many documents on, parts must have so much in common (`Splits.coherence`).
    report : dict
        How well held-out labels were judged, see `learn`; empty where nothing was learned, since
        there were too few labels: then what is usual holds.
    """

    means: tuple[float, float] = (0.6, 0.25)
    deviations: tuple[float, float] = (0.13, 0.08)
    weights: tuple[float, float] = (-1.5, -0.6)
    bias: float = -1.2
    prior: float = 0.1
    most_alike: float = 0.25
    sizes: tuple[float, ...] = ()
    least_coherent: tuple[float, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)

    def evidence(self, splits: Splits) -> Floats:
        """Return how much speaks for two meanings, shape (n_groups,); -inf without a partition."""
        found = self._standardised(splits) @ np.array(self.weights)
        return np.where(splits.is_split, found + self.bias, -np.inf)

    def _standardised(self, splits: Splits) -> Floats:
        """Return what is looked at in deviations, shape (n_groups, 2)."""
        return _standardised(_measured(splits), splits.sizes, self.means, self.deviations)

    def probabilities(self, splits: Splits) -> npt.NDArray[np.float32]:
        """Return how likely each group is ambiguous, shape (n_groups,)."""
        against = np.exp(-np.clip(self.evidence(splits), -50, 50))
        found = self.prior / (self.prior + (1 - self.prior) * against)
        sure = np.minimum(1, splits.sizes / ENOUGH_DOCUMENTS)
        is_sound = splits.is_split & self._are_coherent(splits)
        return np.where(is_sound, sure * found, 0).astype(np.float32)

    def _are_coherent(self, splits: Splits) -> npt.NDArray[np.bool_]:
        if not self.sizes:
            return np.ones(len(splits), dtype=np.bool_)
        place = np.searchsorted(self.sizes, splits.sizes, side="right") - 1
        found: npt.NDArray[np.bool_] = (
            splits.coherence > np.array(self.least_coherent)[np.maximum(place, 0)]
        )
        return found

    def count_parts(self, splits: Splits) -> npt.NDArray[np.int64]:
        """Return into how many senses each group divides: the most that are unlike each other."""
        counts = np.arange(2, MOST_PARTS + 1)
        is_good = splits.alikeness <= self.most_alike
        found: npt.NDArray[np.int64] = np.where(is_good, counts, 2).max(axis=1)
        return found

    @classmethod
    def learn(
        cls, space: SenseSpace, labels: npt.NDArray[Any], splits: Splits, seed: int
    ) -> AmbiguityJudge:
        """Learn from labels of a vocabulary and from pairs of them, fused on purpose.

        What is reported is of labels that were not learned from: the labels are halved, each half
        is judged by what the other taught, and half of the weight lies on fused ones. ``auc`` says
        how well fused labels are told from others, ``brier`` how far probabilities are off, and
        ``reliability`` how often labels that were judged alike were fused.

        Parameters
        ----------
        space : SenseSpace
        labels : ndarray of int, shape (n_judged,)
            Labels with enough documents.
        splits : Splits
            Theirs.
        seed : int
        """
        rng = np.random.default_rng([seed, N_FUSED])
        by_chance = coherence_by_chance(space, labels, np.random.default_rng([seed, N_SHUFFLED]))
        enough = space.counts[labels] >= ENOUGH_DOCUMENTS
        labels, splits = labels[enough], splits.take(enough)
        halves = rng.permutation(len(labels)) % 2 == 0
        pairs = [fuse_on_purpose(space.counts, labels[half], rng) for half in (halves, ~halves)]
        if len(labels) < FEWEST_TO_LEARN_FROM or min(map(len, pairs)) < FEWEST_TO_LEARN_FROM:
            is_by_text = len(splits) > 0 and not splits.by_labels.any()
            return cls(**by_chance, prior=cls.prior / 20 if is_by_text else cls.prior)
        fused = space.split(groups_of(pairs[0] + pairs[1], space.labels_of.n_columns))
        is_first = np.arange(len(fused)) < len(pairs[0])
        answers = []
        for real, other, of_real, of_other in (
            (halves, ~halves, is_first, ~is_first),
            (~halves, halves, ~is_first, is_first),
        ):
            judge = cls._fitted(splits.take(real), fused.take(of_real))
            answers.append(judge._told_apart(splits.take(other), fused.take(of_other)))
        judge = cls._fitted(splits, fused)
        report = _reliability(*(np.concatenate(part) for part in zip(*answers, strict=True)))
        if report["auc"] < LEAST_AUC or judge.prior >= MOST_AMBIGUOUS:
            judge = replace(judge, prior=1e-6)  # nothing can be told: no label is called ambiguous
        return replace(judge, **by_chance, report={"n_fused": len(fused), **report})

    @classmethod
    def _fitted(cls, real: Splits, fused: Splits) -> AmbiguityJudge:
        real, fused = real.take(real.is_split), fused.take(fused.is_split)
        if len(real) == 0 or len(fused) == 0:
            return cls()
        measured = _measured(real)
        means = _pair(measured.mean(axis=0))
        believed = _standardised(measured, real.sizes, means, (1.0, 1.0))
        judge = cls(
            means=means,
            deviations=_pair(believed.std(axis=0) + 1e-6),
            weights=(0.0, 0.0),
            bias=0.0,
            prior=0.0,
            # Halfway between the middle label of two meanings and the middle one of all.
            most_alike=float(np.median(fused.alikeness[:, 0]) + np.median(real.alikeness[:, 0]))
            / 2,
        )
        x = np.vstack([judge._standardised(real), judge._standardised(fused)])
        is_fused = np.arange(len(x)) >= len(real)
        for _ in range(3):  # the share of ambiguous labels needs an order of labels first
            judge = judge._with_evidence(x, is_fused)
            judge = replace(judge, prior=judge._share_of_ambiguous(real, fused))
        return judge._with_evidence(x, is_fused)

    def _with_evidence(self, x: Floats, is_fused: npt.NDArray[np.bool_]) -> AmbiguityJudge:
        """Return the judge with the weights and bias that suit its share of ambiguous labels."""
        found = _fit_evidence(x, is_fused, self.prior, np.array([*self.weights, self.bias]))
        return replace(self, weights=_pair(found), bias=float(found[2]))

    def _share_of_ambiguous(self, real: Splits, fused: Splits) -> float:
        """Return how many labels of the vocabulary are at most as fused ones.

        Among labels beyond any border there cannot be fewer: for each border, the share of labels
        beyond it is compared with that of fused ones. The lowest counts.
        """
        # Neither sizes, nor what is next to nothing, nor extremes may decide who comes first.
        floors = np.array([NO_ALIKENESS, np.sqrt(NO_SIMILARITY)])

        def order(splits: Splits) -> Floats:
            measured = np.maximum(_measured(splits), floors)
            extreme = np.maximum((measured - self.means) / self.deviations, -EXTREME)
            found: Floats = extreme @ np.array(self.weights)
            return found

        of_real, of_fused = order(real), order(fused)
        shares = [
            ((of_real >= border).sum() + 1) / len(real) / np.mean(of_fused >= border)
            for border in np.quantile(of_fused, 1 - QUANTILES)
        ]
        return float(np.clip(min(shares), 1 / len(real), MOST_AMBIGUOUS))

    def _told_apart(self, real: Splits, fused: Splits) -> tuple[Floats, Floats, Floats]:
        """Return how likely each label was fused on purpose, whether it was, and its weight."""
        evidence = np.concatenate([self.evidence(real), self.evidence(fused)])
        against = np.exp(-np.clip(evidence, -50, 50))
        likely = 1 / (1 + self.prior + (1 - self.prior) * against)
        was = np.repeat([0.0, 1.0], [len(real), len(fused)])
        weight = np.repeat([1 / len(real), 1 / len(fused)], [len(real), len(fused)])
        return likely, was, weight

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        own = {name: value for name, value in asdict(self).items() if name != "report"}
        own = {name: list(value) if type(value) is tuple else value for name, value in own.items()}
        return {**self.report, "judge": own, "prior": self.prior}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> AmbiguityJudge:
        """Return what `to_json` gave; the usual judge where there is none.

        Raises
        ------
        ValueError
            If that cannot be what it gave.
        """
        own = found.get("judge")
        if own is None:
            return cls()
        try:
            judge = cls(
                means=_pair(_numbers(own["means"], 2)),
                deviations=_pair(_numbers(own["deviations"], 2)),
                weights=_pair(_numbers(own["weights"], 2)),
                **{name: _numbers([own[name]], 1)[0] for name in ("bias", "prior", "most_alike")},
                sizes=tuple(_numbers(own["sizes"])),
                least_coherent=tuple(_numbers(own["least_coherent"])),
                report={name: found[name] for name in REPORTED if name in found},
            )
        except (TypeError, KeyError, IndexError, ValueError, OverflowError):
            raise ValueError("what it learned about ambiguity is not to be read") from None
        numbers = [*judge.means, *judge.deviations, *judge.weights, judge.bias, judge.most_alike]
        numbers += [*judge.sizes, *judge.least_coherent]
        if not (
            np.isfinite(numbers).all()
            and len(judge.sizes) == len(judge.least_coherent) < 100
            and list(judge.sizes) == sorted(judge.sizes)
            and min(judge.deviations) > 0
            and max(judge.weights) <= 0
            and np.abs(numbers).max() < 1e9
            and 0 < judge.prior < 1
            and _is_report(judge.report)
        ):
            raise ValueError("what it learned about ambiguity makes no sense")
        return judge


def _pair(numbers: Sequence[float] | Floats) -> tuple[float, float]:
    return float(numbers[0]), float(numbers[1])


def _numbers(found: Any, n: int | None = None) -> list[float]:
    """Return a list of plain numbers, n of them; refuse anything else."""
    if type(found) is not list or (n is not None and len(found) != n):
        raise ValueError
    if not all(type(number) in (int, float) for number in found):
        raise ValueError
    return [float(number) for number in found]


def _is_report(report: dict[str, Any]) -> bool:
    """Return whether a report is one: numbers where there should be, or nothing at all."""
    table = report.get("reliability", [])
    if not isinstance(table, list) or not all(isinstance(one, dict) for one in table):
        return False
    numbers = [report[name] for name in REPORTED[:3] if name in report]
    numbers += [one.get(name) for one in table for name in IN_A_BIN]
    return all(type(number) in (int, float) and 0 <= number < 2**31 for number in numbers)


def _measured(splits: Splits) -> Floats:
    """Return what is looked at, shape (n_groups, 2)."""
    alikeness = np.clip(splits.alikeness[:, 0], -0.2, 1.5)
    across = np.sqrt(np.maximum(splits.similarity[:, 0], 0))
    return np.stack([alikeness, across], axis=1).astype(np.float64)


def _standardised(
    measured: Floats,
    sizes: npt.NDArray[np.int64],
    means: tuple[float, float],
    deviations: tuple[float, float],
) -> Floats:
    believed = (sizes / (sizes + HALF_BELIEVED))[:, None]
    found: Floats = np.clip(believed * (measured - means) / deviations, -4, 4)
    return found


def _fit_evidence(
    x: Floats, is_fused: npt.NDArray[np.bool_], prior: float, start: Floats
) -> Floats:
    """Return weights and bias by which fused labels are told from those of the vocabulary.

    With evidence e, a label is one of the fused, were these half of all, with probability
    ``1 / (1 + prior + (1 - prior) exp(-e))``: that many of the others are just like them.
    """
    weight = np.where(is_fused, 0.5 / is_fused.sum(), 0.5 / (~is_fused).sum())

    def loss(parameters: Floats) -> tuple[float, Floats]:
        evidence = x @ parameters[:2] + parameters[2]
        against = np.exp(-np.clip(evidence, -30, 30))
        odds = prior + (1 - prior) * against
        p = 1 / (1 + odds)
        total = -weight @ np.log(np.where(is_fused, p, odds * p) + 1e-300)
        slope = weight * (1 - prior) * against * p * np.where(is_fused, -1, 1 / odds)
        gradient = np.append(slope @ x + 2 * RIDGE * parameters[:2], slope.sum())
        return float(total + RIDGE * parameters[:2] @ parameters[:2]), gradient

    bounds = [(None, 0), (None, 0), (None, None)]  # more alike is never more ambiguous
    found: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def _reliability(likely: Floats, was: Floats, weight: Floats) -> dict[str, Any]:
    from sklearn.metrics import roc_auc_score  # takes a while to import

    bins = np.minimum((likely * N_BINS).astype(int), N_BINS - 1)
    table = [
        {
            "from": i / N_BINS,
            "to": (i + 1) / N_BINS,
            "n": int(np.count_nonzero(bins == i)),
            "predicted": float(np.average(likely[bins == i], weights=weight[bins == i])),
            "observed": float(np.average(was[bins == i], weights=weight[bins == i])),
        }
        for i in range(N_BINS)
        if (bins == i).any()
    ]
    return {
        "auc": float(roc_auc_score(was, likely)),
        "brier": float(np.average((likely - was) ** 2, weights=weight)),
        "reliability": table,
    }
