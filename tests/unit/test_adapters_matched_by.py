"""Classifiers of scikit-learn that find clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from polyseme import XRLinear
from polyseme.adapters import ClassifierAsMatcher, MatchedBy
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.tasks import MatchingTask
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees import balanced
from polyseme.training.disentangle import TrainingPlan, disentangle
from tests.small_problems import pattern, sparse

CLASSIFIERS = {
    "ridge": RidgeClassifier(),
    "logistic": OneVsRestClassifier(LogisticRegression()),
    "margins": OneVsRestClassifier(SGDClassifier()),
    "forest": RandomForestClassifier(10),
    "neighbours": KNeighborsClassifier(3),
}
QUICK = {"senses": "none", "ordering": "product", "verbose": 0}


@pytest.fixture(params=CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def classifier(request):
    return request.param


def topics(n=60, n_topics=4, seed=0):
    """Documents of a topic have words of it; a topic has three labels, and label 0 is in all."""
    random = np.random.default_rng(seed)
    topic = np.arange(n) % n_topics
    X = (random.random((n, 5 * n_topics)) < 0.05).astype(np.float32)
    Y = np.zeros((n, 3 * n_topics), dtype=bool)
    for i, t in enumerate(topic):
        X[i, 5 * t : 5 * t + 5] = random.random(5) + 0.2
        Y[i, 3 * t + random.integers(3)] = True
    return X, Y


def matched(classifier, X, targets, beam_size=2):
    task = MatchingTask(pattern(targets), LabelTree.uniform(targets.shape[1]))
    matcher = ClassifierAsMatcher(classifier).fit(Documents(sparse(X)), task, Run())
    return matcher, matcher.match(Documents(sparse(X)), beam_size, Run())


def test_the_best_clusters_are_kept_with_scores_between_0_and_1(classifier):
    X, _ = topics()
    targets = np.eye(4)[np.arange(60) % 4]
    _, found = matched(classifier, X, targets)
    assert (np.diff(found.starts) == 2).all()
    assert (found.values > 0).all()
    assert (found.values <= 1).all()
    best = [found.row(i)[0][np.argmax(found.row(i)[1])] for i in range(60)]
    assert np.mean(best == np.arange(60) % 4) > 0.9


def test_decision_values_are_squashed_by_a_logistic():
    X, _ = topics()
    targets = np.eye(4)[np.arange(60) % 4]
    matcher, found = matched(RidgeClassifier(), X, targets, beam_size=4)
    margins = matcher.fitted.decision_function(sp.csr_matrix(X))
    wanted = 1 / (1 + np.exp(-margins))
    np.testing.assert_allclose(found.to_scipy().toarray(), wanted, rtol=1e-5)


def test_clusters_that_no_document_has_or_all_have_are_borne(classifier):
    X, _ = topics()
    targets = np.zeros((60, 6))
    targets[:, :4] = np.eye(4)[np.arange(60) % 4]
    targets[:, 5] = 1
    _, found = matched(classifier, X, targets, beam_size=6)
    scores = found.to_scipy().toarray()
    assert (scores[:, 5] == 1).all()
    assert (scores[:, 4] > 0).all()
    assert (scores[:, 4] <= scores[:, :4].min(axis=1) + 1e-6).all()


def test_a_single_cluster_is_borne(classifier):
    X, _ = topics()
    _, found = matched(classifier, X, np.ones((60, 1)))
    assert (found.values == 1).all()
    some = (np.arange(60) % 2)[:, None]
    _, found = matched(classifier, X, some)
    assert np.corrcoef(found.values, some.ravel())[0, 1] > 0.3


def test_documents_without_features_and_no_documents_are_borne(classifier):
    X, _ = topics()
    X[:3] = 0
    targets = np.eye(4)[np.arange(60) % 4]
    matcher, found = matched(classifier, X, targets)
    assert (np.diff(found.starts) == 2).all()
    none = matcher.match(Documents(sparse(X[:0])), 2, Run())
    assert none.shape == (0, 4)


def test_the_given_classifier_stays_as_it_is_and_a_seed_decides():
    forest = RandomForestClassifier(5)
    X, _ = topics()
    targets = np.eye(4)[np.arange(60) % 4]
    (_, one), (_, other) = (matched(forest, X, targets) for _ in range(2))
    np.testing.assert_array_equal(one.values, other.values)
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")


def test_it_works_in_disentangle_with_the_linear_ranker():
    X, Y = topics()
    documents, labels = Documents(sparse(X)), pattern(Y)
    tree, clusters = balanced.build(documents, labels, max_leaf_size=3)
    found = disentangle(
        documents,
        labels,
        tree,
        clusters,
        lambda: ClassifierAsMatcher(RidgeClassifier()),
        LinearSlotRanker,
        TrainingPlan(beam_size=2),
        Run(),
    )
    scores = found.ranker.score(
        documents, found.matcher.match(documents, 2, Run()), found.clusters, Run()
    )
    assert scores.shape == (60, found.clusters.n_slots)
    assert len(found.assignments) == 1


@pytest.mark.slow
def test_three_lines_make_a_model(classifier):
    X, Y = topics(n=120)
    model = MatchedBy(classifier, max_leaf_size=3, beam_size=2, **QUICK).fit(X, Y)
    other = XRLinear(max_leaf_size=3, beam_size=2, **QUICK).fit(X, Y)
    assert model.score(X, Y) > other.score(X, Y) - 0.15
    labels, scores = model.predict_top_k(X, 3)
    assert labels.shape == scores.shape == (120, 3)


def test_order_and_senses_are_learned_as_ever():
    X, Y = topics(n=400)
    model = MatchedBy(RidgeClassifier(), max_leaf_size=3, verbose=0).fit(sp.csr_matrix(X), Y)
    assert model.ordering_ is not None
    assert model.senses_ is not None
    _, scores = model.predict_top_k(X, 2)
    assert scores.max() <= 1


def test_a_dense_block_reaches_the_classifier_as_one():
    seen = []

    class Seeing(RidgeClassifier):
        def fit(self, X, y):
            seen.append(type(X))
            return super().fit(X, y)

    X, Y = topics()
    MatchedBy(Seeing(), max_leaf_size=3, **QUICK).fit(X + 0.01, Y)
    assert set(seen) == {np.ndarray}


def test_it_is_an_estimator_with_parameters_inside():
    model = MatchedBy(OneVsRestClassifier(LogisticRegression()), copies=2)
    copy = clone(model).set_params(classifier__estimator__C=7, copies=1)
    assert copy.classifier.estimator.C == 7
    assert model.classifier.estimator.C == 1
    assert (copy.copies, model.copies) == (1, 2)


@pytest.mark.parametrize("wrong", [None, 3, RidgeClassifier, object()])
def test_what_is_no_classifier_is_refused(wrong):
    with pytest.raises(ValueError, match="classifier must be a classifier of scikit-learn"):
        MatchedBy(wrong).fit(np.eye(3), np.eye(3))


def test_a_classifier_of_one_label_a_document_is_told_what_to_do():
    X, Y = topics()
    with pytest.raises(ValueError, match="OneVsRestClassifier") as refusal:
        MatchedBy(LogisticRegression(), max_leaf_size=3, **QUICK).fit(X, Y)
    assert "LogisticRegression cannot learn several clusters" in str(refusal.value)


def test_answers_that_are_none_are_refused():
    class Odd(DummyClassifier):
        def predict_proba(self, X):
            return np.full((X.shape[0], 4), np.nan)

    X, _ = topics()
    with pytest.raises(ValueError, match="Odd must give a finite score"):
        matched(Odd(), X, np.eye(4)[np.arange(60) % 4])
