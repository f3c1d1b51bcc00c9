"""Train with and without senses on the demo corpus, and hold both against the truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme import XRLinear, metrics
from polyseme.demo.corpus import AMBIGUOUS_LABELS, Corpus, make_corpus
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.describe import Sense, label_number, senses_of

__all__ = ["DemoResult", "run_demo"]

N_TRAINING_TEXTS = 3000
N_TEST_TEXTS = 1000
N_SHOWN = 3
NO_SLOT = -1

# A beam of 2 over small clusters stands for a large vocabulary, where a beam sees only a small
# part. Beam, cluster size and 'coverage' were picked, on other seeds than 0, for the effect to
# show: with a beam of 3 both models do alike on these few labels, and slots chosen by 'capped'
# find fewer of the ambiguous labels than the plain model does. Copies merge by the paper's mean:
# with so narrow a beam a sum favours whatever happens to be reached twice.
SETTINGS: dict[str, Any] = {
    "branching": 8,
    "max_leaf_size": 16,
    "beam_size": 2,
    "merge": "mean",
}
DISENTANGLED: dict[str, Any] = {"copies": 2, "assignment": "coverage"}


@dataclass(frozen=True)
class DemoResult:
    """What the demo found; figures in percent.

    Attributes
    ----------
    n_training_texts, n_test_texts, n_labels : int
    accuracy : dict of str to dict of str to float
        P@1, P@3, P@5 and the share of ambiguous labels among the first five ("ambiguous@5"),
        under "plain" and "disentangled".
    shown : dict of str to list of (Sense, Counter)
        The senses of the three ambiguous labels that the slots tell apart best; each with the
        true senses of the training texts that its slot scores best.
    agreement : float
        Share of test texts with an ambiguous label whose best slot is that of their sense.
    agreement_by_label : dict of str to float
        The same for each ambiguous label.
    chance : float
        `agreement` if every text is given its label's most frequent sense.
    n_judged : int
        Number of (test text, ambiguous label) pairs behind `agreement`.
    model : XRLinear
        The disentangled model.
    """

    n_training_texts: int
    n_test_texts: int
    n_labels: int
    accuracy: dict[str, dict[str, float]]
    shown: dict[str, list[tuple[Sense, Counter[str]]]]
    agreement: float
    agreement_by_label: dict[str, float]
    chance: float
    n_judged: int
    model: XRLinear


def run_demo(*, seed: int = 0, n_threads: int | None = None) -> DemoResult:
    """Make the corpus, train a plain and a disentangled model, and compare them."""
    # Imported here: it takes a while and only the demo needs it.
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer

    training, test = make_corpus(N_TRAINING_TEXTS, seed), make_corpus(N_TEST_TEXTS, seed + 1)
    vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    binarizer = MultiLabelBinarizer(sparse_output=True)
    X_training = vectorizer.fit_transform(training.texts)
    Y_training = binarizer.fit_transform(training.labels)
    X_test, Y_test = vectorizer.transform(test.texts), binarizer.transform(test.labels)
    names = list(binarizer.classes_)
    feature_names = list(vectorizer.get_feature_names_out())

    models = {
        "plain": XRLinear(copies=1, rounds=0, **SETTINGS, random_state=seed, n_jobs=n_threads),
        "disentangled": XRLinear(**DISENTANGLED, **SETTINGS, random_state=seed, n_jobs=n_threads),
    }
    ambiguous = np.isin(names, AMBIGUOUS_LABELS)
    accuracy = {}
    for kind, model in models.items():
        model.fit(X_training, Y_training, label_names=names, feature_names=feature_names)
        accuracy[kind] = _accuracy(model, X_test, Y_test, ambiguous)

    model = models["disentangled"]
    senses_of_slot = _senses_of_slots(_judge(model, X_training, training))
    judged = _judge(model, X_test, test)
    agreement_by_label = _agreement_by_label(judged, senses_of_slot)
    return DemoResult(
        n_training_texts=len(training),
        n_test_texts=len(test),
        n_labels=len(names),
        accuracy=accuracy,
        shown=_shown(model, senses_of_slot, agreement_by_label),
        agreement=_agreement(judged, senses_of_slot),
        agreement_by_label=agreement_by_label,
        chance=_chance(judged),
        n_judged=len(judged),
        model=model,
    )


def _shown(
    model: XRLinear,
    senses_of_slot: dict[int, Counter[str]],
    agreement_by_label: dict[str, float],
) -> dict[str, list[tuple[Sense, Counter[str]]]]:
    """Describe the ambiguous labels whose senses the slots tell apart best."""
    labels = sorted(agreement_by_label, key=lambda label: (-agreement_by_label[label], label))
    labels = labels[:N_SHOWN]
    return {
        label: [
            (sense, senses_of_slot.get(sense.slot, Counter())) for sense in senses_of(model, label)
        ]
        for label in labels
    }


def _accuracy(
    model: XRLinear, X: sp.csr_array, Y: sp.csr_array, ambiguous: npt.NDArray[np.bool_]
) -> dict[str, float]:
    top_labels, _ = model.predict_top_k(X, 5)
    figures = metrics.evaluate(top_labels, Y, ks=(1, 3, 5))
    found = metrics.recall_at_k(top_labels, sp.csr_array(Y.multiply(ambiguous)), 5)
    return {**{f"P@{k}": figures[f"P@{k}"] for k in (1, 3, 5)}, "ambiguous@5": found}


@dataclass(frozen=True)
class _Judged:
    """An ambiguous label of one text: what it means there, and the slot that scores best."""

    label: str
    sense: str
    slot: int


def _judge(model: XRLinear, X: sp.csr_array, corpus: Corpus) -> list[_Judged]:
    rows = SparseRows.from_scipy(X)
    matched = model.matcher_.match(rows, model.beam_size)
    scores = model.ranker_.score(rows, matched, model.clusters_).to_scipy()
    judged = []
    for label in AMBIGUOUS_LABELS:
        texts = [i for i, senses in enumerate(corpus.senses) if label in senses]
        slots = model.clusters_.slots_of(label_number(model, label))
        of_label = scores[texts][:, slots].toarray()
        best = np.where(of_label.any(axis=1), slots[of_label.argmax(axis=1)], NO_SLOT)
        for text, slot in zip(texts, best.tolist(), strict=True):
            judged.append(_Judged(label, corpus.senses[text][label], slot))
    return judged


def _senses_of_slots(judged: list[_Judged]) -> dict[int, Counter[str]]:
    """Count the true senses of the texts that each slot scores best."""
    counts: dict[int, Counter[str]] = {}
    for one in judged:
        if one.slot != NO_SLOT:
            counts.setdefault(one.slot, Counter())[one.sense] += 1
    return counts


def _agreement(judged: list[_Judged], learned: dict[int, Counter[str]]) -> float:
    """Return how often the best slot is one that stands for the true sense, in percent."""
    meant = {slot: counts.most_common(1)[0][0] for slot, counts in learned.items()}
    return 100 * float(np.mean([meant.get(one.slot) == one.sense for one in judged]))


def _agreement_by_label(
    judged: list[_Judged], learned: dict[int, Counter[str]]
) -> dict[str, float]:
    return {
        label: _agreement([one for one in judged if one.label == label], learned)
        for label in AMBIGUOUS_LABELS
    }


def _chance(judged: list[_Judged]) -> float:
    """Return the same for a guess that always takes a label's most frequent sense."""
    n_right = 0
    for label in {one.label for one in judged}:
        senses = Counter(one.sense for one in judged if one.label == label)
        n_right += senses.most_common(1)[0][1]
    return 100 * n_right / len(judged)
