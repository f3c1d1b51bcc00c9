"""Whether a label is rightly suggested more often where its name stands in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import KS, Figures, accuracy, measure
from polyseme.experiments.ordering import held_out_of
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.shared_training import fit_once
from polyseme.experiments.tables import ACCURACY, PROPENSITY
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.metrics import hits
from polyseme.ordering.facts import FACTS, PLACE_OF, Candidates, log_counts
from polyseme.ordering.learning import _basis, _first_true, _knots
from polyseme.training.held_out import held_out_parts

__all__ = ["EXPERIMENTS", "found_in_texts"]

WORD = re.compile(r"[^\W\d_]{3,}")
CATALOGUE_NUMBER = re.compile(r"\w+:\S*\d\S*")
ENDINGS = ("ies", "es", "s", "ing", "ed")
# How much of a label's name stands in a text: it has none, nothing does, up to a half, more, every
# word, or all of it as it is.
N_SHARES = 6
COUNTS = np.log1p([2, 10, 50])  # a name tells more of a label with few documents


@run_named("order by facts and names")
def run_with_names(problem: Problem, method: Method, seed: int) -> Figures:
    """Learn the order of labels in NumPy, with or without what names in texts tell."""
    model = fit_once(problem, method.parameters, seed)
    with_names = bool(method.options["names"])
    names = problem.dataset.label_names or []
    found = held_out_of(model, problem, seed)
    if found is None:
        return measure(model, problem)
    held_out, truth = found
    parts = np.concatenate(held_out_parts(SparsePattern.from_scipy(problem.Y_train), seed))
    texts = problem.dataset.train_texts or []
    to_learn = _Described(held_out, [texts[i] for i in parts] if with_names else None, names)
    is_right = hits(held_out.labels, truth.to_scipy())[held_out.is_candidate]
    facts = held_out.facts[held_out.is_candidate]
    knots = tuple(_knots(facts[:, i], is_right) for i in range(len(FACTS)))
    weights = _first_true(
        to_learn.basis(knots),
        facts[:, PLACE_OF["product"]].astype(np.float64),
        is_right,
        np.repeat(np.arange(len(parts)), held_out.n_candidates),
    )
    tested = _candidates(model, problem.X_test)
    to_judge = _Described(tested, problem.dataset.test_texts if with_names else None, names)
    values = np.full(tested.labels.shape, -np.inf)
    products = tested.facts[tested.is_candidate][:, PLACE_OF["product"]]
    values[tested.is_candidate] = to_judge.basis(knots) @ weights + products
    order = np.argsort(-values, axis=1, kind="stable")[:, : max(KS)]
    return accuracy(np.take_along_axis(tested.labels, order, axis=1), problem)


def _candidates(model: XRLinear, X: sp.csr_array) -> Candidates:
    walk = model.matcher_.fused_with(model.ranker_, model.clusters_)
    if walk is None:
        raise ValueError("Candidates are asked of linear models only.")
    return walk.candidates(
        Documents(SparseRows.from_scipy(X)),
        model.beam_of_all_trees,
        model.merge,
        log_counts(model.label_counts_),
        model._run(),
    )


class _Described:
    """Candidates with what is known of them: facts and, with texts, shares of names."""

    def __init__(
        self, candidates: Candidates, texts: Sequence[str] | None, names: Sequence[str]
    ) -> None:
        self.candidates, self.texts, self.names = candidates, texts, names

    def basis(self, knots: tuple[npt.NDArray[np.float32], ...]) -> sp.csr_array:
        """Return how much each number that is learned counts: shape (n_pairs, n_numbers)."""
        is_candidate = self.candidates.is_candidate
        facts = self.candidates.facts[is_candidate]
        known = _basis(facts, knots)
        if self.texts is None:
            return known
        share = found_in_texts(self.candidates, self.texts, self.names)[is_candidate]
        by_count = share * (len(COUNTS) + 1) + np.digitize(facts[:, PLACE_OF["count"]], COUNTS)
        more = [_one_of(share, N_SHARES), _one_of(by_count, N_SHARES * (len(COUNTS) + 1))]
        return sp.csr_array(sp.hstack([known, *more]))


def found_in_texts(
    candidates: Candidates, texts: Sequence[str], names: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Return how much of each candidate's name stands in its document, from 0 to 5.

    Numbers of a catalogue in the place of names, such as ``gnd:123``, are none.
    """
    words_of = [[] if CATALOGUE_NUMBER.fullmatch(name) else _stems(name) for name in names]
    found = np.zeros(candidates.labels.shape, dtype=np.int64)
    for document, text in enumerate(texts):
        stems = _stems(text)
        known, running = set(stems), " ".join(["", *stems, ""])
        for place in range(candidates.n_candidates[document]):
            words = words_of[candidates.labels[document, place]]
            if not words:
                continue
            share = sum(word in known for word in words) / len(words)
            if share == 1:
                found[document, place] = 5 if f" {' '.join(words)} " in running else 4
            else:
                found[document, place] = 1 if share == 0 else 2 if share <= 0.5 else 3
    return found


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in WORD.findall(text.lower())]


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _one_of(numbers: npt.NDArray[np.int64], n: int) -> sp.csr_array:
    return sp.csr_array(
        (np.ones(len(numbers)), (np.arange(len(numbers)), numbers)), shape=(len(numbers), n)
    )


def _methods(problem: Problem) -> list[Method]:
    data = problem.dataset
    as_by_default = {"copies": 3, "C": None, "ordering": "learned"}
    methods = [Method("facts", as_by_default, {"names": False}, run_with_names)]
    if data.label_names and data.train_texts and data.test_texts:
        methods.append(Method("facts and names", as_by_default, {"names": True}, run_with_names))
    return methods


EXPERIMENTS = (
    Experiment(
        name="names-in-texts",
        summary="The order of labels, told how much of a label's name stands in the text.",
        methods=_methods,
        columns={"Accuracy": ACCURACY, "Rare labels": PROPENSITY},
        baseline="facts",
        notes=(
            "Defaults of XRLinear. Words of three letters or more count, without common English "
            "endings. Names need labels.txt, X.trn.txt and X.tst.txt beside the matrices."
        ),
    ),
)
