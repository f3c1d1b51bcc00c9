"""What tells the sense of a document adds up to the lead that its naming gives it."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import XRLinear
from polyseme.explain import explain
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses import sense_name, senses_in
from polyseme.senses.evidence import sense_evidence
from polyseme.senses.layer import SenseLayer
from polyseme.senses.naming import N_OTHER_LABELS
from tests.small_problems import random_problem

AMBIGUOUS, UNLIKELY, N_LABELS = 3, 7, 12


def unit(rows):
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@pytest.fixture(scope="module")
def problem():
    """A model with senses made up: three of one label, two of one that is not likely ambiguous."""
    rng = np.random.default_rng(5)
    X, Y = random_problem(rng, n_labels=N_LABELS)
    settings = {"max_leaf_size": 2, "branching": 2, "beam_size": 5, "verbose": 0}
    model = XRLinear(senses="none", **settings).fit(sp.csr_array(X), Y)
    words = unit(rng.random((5, X.shape[1])) * (rng.random((5, X.shape[1])) < 0.7))
    beside = unit(rng.random((5, N_LABELS)) * (rng.random((5, N_LABELS)) < 0.7))
    beside[:3, AMBIGUOUS] = 0
    model.senses_ = SenseLayer(
        labels=np.array([AMBIGUOUS, UNLIKELY], dtype=np.int32),
        probabilities=np.array([0.9, 0.1], dtype=np.float32),
        starts=np.array([0, 3, 5]),
        counts=np.array([6, 5, 4, 3, 2]),
        words=SparseRows.from_scipy(sp.csr_array(words)),
        beside=SparseRows.from_scipy(sp.csr_array(beside)),
        typical=np.full((5, 1), -1),
    )
    return model, X, words.astype(float), beside.astype(float)


def nearness(model, document, words, beside):
    """Cosines of a document with the three senses, by its words and by its other labels."""
    ranked, scores = model.predict_top_k(document[None], min(N_OTHER_LABELS, N_LABELS))
    others = np.zeros(N_LABELS)
    for label, score in zip(ranked[0], scores[0], strict=True):
        if label >= 0 and label != AMBIGUOUS:
            others[label] = np.sqrt(max(0, score))
    return words[:3] @ unit(document) + beside[:3] @ unit(others)


def test_what_tells_a_sense_adds_up_to_its_lead_over_the_next(problem):
    model, X, words, beside = problem
    seen = set()
    for document in X:
        found = sense_evidence(model, document[None], [AMBIGUOUS], n_words=1000)[AMBIGUOUS]
        near = nearness(model, document, words, beside)
        order = np.argsort(-near)
        assert (found.place, found.against) == (order[0], order[1])
        listed = sum(one.amount for one in (*found.words, *found.labels))
        assert listed == pytest.approx(near[order[0]] - near[order[1]], abs=1e-5)
        assert all(one.label != AMBIGUOUS for one in found.labels)
        seen.add(found.place)
    assert seen == {0, 1, 2}


def test_the_sense_is_the_one_that_suggestions_name(problem):
    model, X, _, _ = problem
    senses = senses_in(model, X, np.full((len(X), 1), AMBIGUOUS))
    for document, sense in zip(X, senses[:, 0].tolist(), strict=True):
        found = sense_evidence(model, document[None], [AMBIGUOUS])[AMBIGUOUS]
        assert (found.place, found.name) == (sense, sense_name(model, sense))


def test_only_labels_that_are_likely_ambiguous_have_a_sense(problem):
    model, X, _, _ = problem
    assert list(sense_evidence(model, X[:1], range(N_LABELS))) == [AMBIGUOUS]
    explained = explain(model, X[:1], range(N_LABELS)).labels
    assert [one.label for one in explained if one.sense is not None] == [AMBIGUOUS]


def test_an_explanation_has_the_words_that_tell_most(problem):
    model, X, _, _ = problem
    everything = sense_evidence(model, X[:1], [AMBIGUOUS], n_words=1000)[AMBIGUOUS]
    amounts = [abs(one.amount) for one in everything.words]
    assert amounts == sorted(amounts, reverse=True)
    (label,) = explain(model, X[:1], [AMBIGUOUS], n_features=2).labels
    assert asdict(label.sense) == {**asdict(everything), "words": asdict(everything)["words"][:2]}


def test_a_document_without_anything_has_a_sense_that_nothing_tells(problem):
    model, X, _, _ = problem
    found = sense_evidence(model, sp.csr_array((1, X.shape[1])), [AMBIGUOUS])[AMBIGUOUS]
    assert found.words == []


def test_a_model_without_senses_has_nothing_to_tell():
    X, Y = random_problem(np.random.default_rng(0), n_labels=N_LABELS)
    model = XRLinear(max_leaf_size=2, senses="none", verbose=0).fit(sp.csr_array(X), Y)
    assert sense_evidence(model, X[:1], range(N_LABELS)) == {}


def test_a_sense_that_lies_between_others_has_a_name_too(problem):
    model, X, _, _ = problem
    rows = np.zeros((3, X.shape[1]), dtype=np.float32)
    rows[0, 0] = rows[1, 1] = 1
    rows[2, :2] = np.sqrt(0.5)
    between = copy(model)
    between.senses_ = SenseLayer(
        labels=np.array([AMBIGUOUS], dtype=np.int32),
        probabilities=np.array([0.9], dtype=np.float32),
        starts=np.array([0, 3]),
        counts=np.array([6, 5, 4]),
        words=SparseRows.from_scipy(sp.csr_array(rows)),
        beside=SparseRows.from_scipy(sp.csr_array((3, N_LABELS), dtype=np.float32)),
        typical=np.full((3, 1), -1),
    )
    assert [sense_name(between, i) for i in range(3)] == [
        "feature 0",
        "feature 1",
        "feature 0, feature 1",
    ]
