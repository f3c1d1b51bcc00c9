"""Senses are found where labels have several meanings, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from polyseme import XRLinear, senses
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.senses.induce import FEWEST_DOCUMENTS, induce_senses
from polyseme.senses.naming import name_senses
from tests.sense_problems import topics_with_meanings
from tests.small_problems import sparse

PROBLEM = topics_with_meanings((2,) * 12, seed=3)


def induced(problem, n_threads=2, seed=0, **more):
    return induce_senses(problem.documents, problem.labels_of, Run(seed, n_threads), **more)


@pytest.fixture(scope="module")
def layer():
    return induced(PROBLEM)


def assert_same(one, other):
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(other.to_arrays()[name], array, strict=True)
    assert one.describe() == other.describe()


def named(layer, problem, label):
    """Return the documents of a label and the sense of each, by its text and other labels."""
    own = np.flatnonzero(problem.Y[:, label])
    others = sparse(problem.Y.astype(np.float32))
    found = name_senses(
        layer, problem.documents.sparse, others, own, np.full(len(own), label), at_least=0
    )
    return own, found


def agreement(topics, found):
    """Return how many documents are in the commonest topic of their sense."""
    return sum(
        np.unique(topics[found == sense], return_counts=True)[1].max() for sense in set(found)
    ) / len(found)


def shown(layer):
    return layer.labels[layer.probabilities >= 0.5].tolist()


def test_labels_with_two_meanings_are_shown_with_two_senses_and_others_are_not(layer):
    assert shown(layer) == list(range(12))
    assert layer.senses_by_label(PROBLEM.Y.shape[1])[:12].tolist() == [2] * 12
    assert layer.evidence == "labels"
    assert {"auc", "brier", "reliability", "n_fused", "prior", "judge"} == set(layer.calibration)


def test_every_document_of_a_label_is_in_one_of_its_senses_the_largest_first(layer):
    counts = PROBLEM.Y.sum(axis=0)
    for i, label in enumerate(layer.labels):
        own = layer.counts[layer.starts[i] : layer.starts[i + 1]]
        assert own.sum() == counts[label]
        assert (np.diff(own) <= 0).all()


def test_documents_are_named_with_the_sense_of_their_topic(layer):
    for label in range(12):
        own, found = named(layer, PROBLEM, label)
        assert len(set(found)) == 2
        assert agreement(PROBLEM.topic[own], found) > 0.97


def test_typical_documents_have_the_label_and_are_of_one_topic(layer):
    for label in range(12):
        topics = []
        for sense in layer.senses_of(label):
            typical = layer.typical[sense]
            assert (typical >= 0).all()
            assert PROBLEM.Y[typical, label].all()
            topics.append(set(PROBLEM.topic[typical].tolist()))
        assert [len(topic) for topic in topics] == [1, 1]
        assert topics[0] != topics[1]


def test_what_goes_with_a_sense_is_of_its_topic_and_never_the_label_itself(layer):
    for i, label in enumerate(layer.labels.tolist()):
        for sense in range(layer.starts[i], layer.starts[i + 1]):
            beside, _ = layer.beside.row(sense)
            assert label not in beside
            assert (np.diff(beside) > 0).all()
    for label in range(12):
        for sense in layer.senses_of(label):
            topic = PROBLEM.topic[layer.typical[sense, 0]]
            columns, values = layer.beside.row(sense)
            best = columns[values.argmax()]
            assert PROBLEM.Y[PROBLEM.topic == topic, best].any()


@pytest.mark.slow
@pytest.mark.parametrize("n_meanings", [3, 4, 5])
def test_more_meanings_are_found_as_well(n_meanings):
    problem = topics_with_meanings((n_meanings,) * 6, seed=n_meanings)
    layer = induced(problem)
    assert shown(layer) == list(range(6))
    n_senses = layer.senses_by_label(problem.Y.shape[1])[:6]
    assert (n_senses == n_meanings).sum() >= 5
    for label in range(6):
        own, found = named(layer, problem, label)
        assert agreement(problem.topic[own], found) > 0.9 * n_senses[label] / n_meanings


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "embedding"])
def test_documents_with_one_label_each_are_told_apart_by_what_they_say(form):
    problem = topics_with_meanings((2,) * 10, n_plain=2, per_topic=120, labels_each=1)
    assert (problem.Y.sum(axis=1) == 1).all()
    documents = problem.documents if form == "text" else Documents(dense=problem.X)
    layer = induce_senses(documents, problem.labels_of, Run(0, 2))
    assert layer.evidence == form
    assert layer.beside.n_stored == 0
    ambiguous = set(shown(layer))
    assert len(ambiguous & set(range(10))) >= 8
    assert len(ambiguous - set(range(10))) <= 4
    for label in ambiguous & set(range(10)):
        own, found = named(layer, problem, label)
        assert agreement(problem.topic[own], found) > 0.95


def test_documents_with_one_label_among_others_with_several_have_senses_too():
    problem = topics_with_meanings((2,) * 12, seed=3)
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(rng.random(len(problem.Y)) < 0.3):
        problem.Y[i, np.flatnonzero(problem.Y[i])[1:]] = False
    layer = induced(problem)
    assert layer.evidence == "labels"
    assert len(set(shown(layer)) & set(range(12))) >= 10
    assert len(set(shown(layer)) - set(range(12))) <= 2
    alone = problem.Y.sum(axis=1) == 1
    for label in range(12):
        own, found = named(layer, problem, label)
        is_alone = alone[own]
        assert is_alone.any()
        assert agreement(problem.topic[own], found) > 0.9


def test_labels_with_few_documents_are_not_judged():
    problem = replace(PROBLEM, Y=PROBLEM.Y.copy())
    for label, n in ((0, 5), (1, 6), (2, 0)):
        problem.Y[np.flatnonzero(problem.Y[:, label])[n:], label] = False
    layer = induced(problem)
    counts = problem.Y.sum(axis=0)
    assert counts[layer.labels].min() >= FEWEST_DOCUMENTS
    assert 0 not in layer.labels
    assert 2 not in layer.labels
    assert layer.probability_of(0) is None
    few = layer.probability_of(1)
    assert few is None or few < 0.5


@pytest.mark.slow
def test_two_languages_are_not_two_meanings():
    problem = topics_with_meanings((2,) * 12, n_languages=2, per_topic=60, seed=1)
    layer = induced(problem)
    assert set(shown(layer)) >= set(range(12))
    assert len(shown(layer)) <= 14
    for label in range(12):
        own, found = named(layer, problem, label)
        assert agreement(problem.topic[own], found) > 0.95


@pytest.mark.slow
def test_senses_are_the_same_for_any_number_of_threads(layer):
    for n_threads in (1, 5):
        assert_same(induced(PROBLEM, n_threads), layer)


@pytest.mark.slow
def test_the_seed_decides_what_is_left_to_chance(layer):
    other = induced(PROBLEM, seed=1)
    assert other.calibration != layer.calibration
    assert shown(other) == shown(layer)


def test_only_some_labels_are_looked_at_and_the_others_keep_what_they_had(layer):
    only = np.zeros(PROBLEM.Y.shape[1], dtype=bool)
    only[[0, 20]] = True
    alone = induced(PROBLEM, only=only)
    assert alone.labels.tolist() == [0, 20]
    problem = replace(PROBLEM, Y=PROBLEM.Y.copy())
    problem.Y[np.flatnonzero(problem.Y[:, 0])[::2], 0] = False
    later = induced(problem, only=only, earlier=layer)
    assert later.labels.tolist() == layer.labels.tolist()
    assert later.describe() == layer.describe()
    for label in (1, 5, 30):
        assert later.probability_of(label) == layer.probability_of(label)
    assert later.counts[list(later.senses_of(0, at_least=0))].sum() == problem.Y[:, 0].sum()


def test_what_was_learned_of_ambiguity_stays_when_documents_are_added(layer):
    strict = layer.with_calibration("labels", {**layer.calibration})
    strict.calibration["judge"] = {**layer.calibration["judge"], "prior": 1e-9}
    later = induced(PROBLEM, only=np.ones(PROBLEM.Y.shape[1], dtype=bool), earlier=strict)
    assert shown(later) == []


@pytest.mark.slow
def test_a_model_predicts_the_same_with_senses_and_without():
    settings = {"max_leaf_size": 16, "beam_size": 3, "verbose": 0, "n_jobs": 2}
    models = [
        XRLinear(senses=way, **settings).fit(PROBLEM.X, PROBLEM.Y) for way in ("induce", "none")
    ]
    for one, other in zip(*(model.predict_top_k(PROBLEM.X, 5) for model in models), strict=True):
        np.testing.assert_array_equal(one, other)
    assert models[1].senses_ is None
    assert senses.most_ambiguous(models[1], 5) == []
    assert {label for label, _ in senses.most_ambiguous(models[0], 12)} == set(range(12))


@pytest.mark.parametrize("n_documents", [1, 5, 6, 12])
def test_hardly_any_documents_are_no_trouble(n_documents):
    problem = replace(PROBLEM, X=PROBLEM.X[:n_documents], Y=np.ones((n_documents, 3), dtype=bool))
    layer = induced(problem)
    assert layer.n_judged in ((0,) if n_documents < 6 else (0, 3))
    assert shown(layer) == []
