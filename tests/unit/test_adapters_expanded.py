"""Models with one place a label that are given one column per slot."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.adapters import ExpandedLabels


class Remembering:
    """Answers for documents that it knows with their columns, all with the same score."""

    def fit(self, X, Y):
        self.Y = Y
        return self

    def predict_top_k(self, X, k):
        columns = np.full((self.Y.shape[0], k), -1)
        scores = np.zeros((self.Y.shape[0], k))
        for i in range(self.Y.shape[0]):
            own = self.Y[i].indices[:k]
            columns[i, : len(own)], scores[i, : len(own)] = own, 1
        return columns, scores


class Told(Remembering):
    """Is told where its columns belong."""

    def fit_in_clusters(self, X, Y, tree, cluster_of_column):
        self.tree, self.cluster_of_column = tree, cluster_of_column
        return self.fit(X, Y)


class Answering(Remembering):
    """Answers with what it was made with."""

    def __init__(self, answer):
        self.answer = answer

    def predict_top_k(self, X, k):
        return self.answer


@pytest.fixture(scope="module")
def problem():
    """Words and labels of four topics; the last label is at home in all of them."""
    random = np.random.default_rng(0)
    topic = np.arange(240) % 4
    X = np.zeros((240, 40), dtype=np.float32)
    Y = np.zeros((240, 17), dtype=np.float32)
    for i, t in enumerate(topic):
        X[i, 10 * t + random.permutation(10)[:4]] = 1
        Y[i, 4 * t + random.integers(4)] = 1
        Y[i, 16] = random.random() < 0.5
    return sp.csr_matrix(X), sp.csr_matrix(Y)


SMALL = {"max_leaf_size": 4, "beam_size": 2}


def test_a_label_of_several_senses_gets_columns_of_its_own(problem):
    X, Y = problem
    model = ExpandedLabels(Remembering(), copies=3, **SMALL).fit(X, Y)
    columns = model.label_of_column_
    assert set(columns) == set(range(17))
    assert np.bincount(columns).max() <= 3
    assert (columns == 16).sum() > 1


def test_every_document_of_a_label_is_in_some_of_its_columns(problem):
    X, Y = problem
    model = ExpandedLabels(Remembering(), copies=3, **SMALL).fit(X, Y)
    merged = np.zeros(Y.shape)
    np.add.at(merged.T, model.label_of_column_, model.model_.Y.toarray().T)
    np.testing.assert_array_equal(merged > 0, Y.toarray() > 0)
    assert merged.sum() < Y.toarray()[:, model.label_of_column_].sum()
    assert (model.model_.Y.sum(axis=0) > 0).all()


def test_columns_may_have_all_documents_of_their_label(problem):
    X, Y = problem
    model = ExpandedLabels(Remembering(), copies=3, positives="all", **SMALL).fit(X, Y)
    wanted = Y.toarray()[:, model.label_of_column_]
    np.testing.assert_array_equal(model.model_.Y.toarray(), wanted)


def test_answers_are_labels_and_each_comes_up_once(problem):
    X, Y = problem
    model = ExpandedLabels(Remembering(), copies=3, positives="all", **SMALL).fit(X, Y)
    labels, scores = model.predict_top_k(X, 5)
    for i in range(X.shape[0]):
        found = labels[i][labels[i] >= 0]
        assert sorted(found) == sorted(Y[i].indices)
        assert (scores[i][labels[i] < 0] == 0).all()


@pytest.mark.parametrize(("merge", "wanted"), [("sum", 0.75), ("mean", 0.375), ("max", 0.5)])
def test_scores_of_a_label_are_merged(problem, merge, wanted):
    X, Y = problem
    model = ExpandedLabels(Remembering(), copies=2, merge=merge, **SMALL).fit(X, Y)
    two = np.flatnonzero(model.label_of_column_ == 16)[:2]
    other = np.flatnonzero(model.label_of_column_ == 3)[0]
    model.model_ = Answering((np.array([[two[0], other, two[1]]]), np.array([[0.5, 0.4, 0.25]])))
    labels, scores = model.predict_top_k(X[:1], 2)
    found = dict(zip(labels[0].tolist(), scores[0].tolist(), strict=True))
    assert found == pytest.approx({16: wanted, 3: 0.4})
    assert scores[0, 0] >= scores[0, 1]


def test_a_model_that_takes_clusters_is_told_them(problem):
    X, Y = problem
    model = ExpandedLabels(Told(), copies=2, **SMALL).fit(X, Y)
    told = model.model_
    assert len(told.cluster_of_column) == told.Y.shape[1] == len(model.label_of_column_)
    assert told.cluster_of_column.max() < told.tree.n_clusters
    pairs = set(zip(model.label_of_column_.tolist(), told.cluster_of_column, strict=True))
    assert len(pairs) == told.Y.shape[1]
    np.testing.assert_array_equal(told.Y.toarray(), Y.toarray()[:, model.label_of_column_])


def test_a_pair_of_functions_is_a_model(problem):
    X, Y = problem
    pair = (lambda X, Y: Remembering().fit(X, Y), lambda model, X, k: model.predict_top_k(X, k))
    model = ExpandedLabels(pair, **SMALL).fit(X, Y)
    other = ExpandedLabels(Remembering(), **SMALL).fit(X, Y)
    for ours, theirs in zip(model.predict_top_k(X), other.predict_top_k(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_labels_given_by_name_are_remembered(problem):
    X, _ = problem
    names = [["fruit", "brand"] if i % 2 else ["animal"] for i in range(X.shape[0])]
    model = ExpandedLabels(Remembering(), **SMALL).fit(X, names)
    assert list(model.label_names_) == ["animal", "brand", "fruit"]
    assert model.n_labels_ == 3


def test_labels_without_documents_and_single_documents_are_borne():
    Y = np.zeros((3, 5))
    Y[:, 1] = 1
    model = ExpandedLabels(Remembering(), **SMALL).fit(np.eye(3), Y)
    assert sorted(set(model.label_of_column_)) == [0, 1, 2, 3, 4]
    one = ExpandedLabels(Remembering(), **SMALL).fit(np.eye(3)[:1], Y[:1])
    assert one.predict_top_k(np.eye(3)[:1], 1)[0].tolist() == [[1]]


def test_the_given_model_stays_as_it_is(problem):
    given = Remembering()
    ExpandedLabels(given, **SMALL).fit(*problem)
    assert not hasattr(given, "Y")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        (np.zeros((1, 2)),),
        (np.zeros((1, 2)), np.zeros((1, 2))),
        (np.array([[10**6]]), np.ones((1, 1))),
        (np.array([[-2]]), np.ones((1, 1))),
        (np.array([[1, 2]]), np.ones((1, 1))),
        (np.array([[1, 2]]), np.array([["a", "b"]])),
    ],
)
def test_an_answer_that_is_none_is_refused(problem, answer):
    X, Y = problem
    model = ExpandedLabels(Remembering(), **SMALL).fit(X, Y)
    model.model_ = Answering(answer)
    with pytest.raises(ValueError, match="must answer with columns and scores"):
        model.predict_top_k(X[:1], 1)


@pytest.mark.parametrize("wrong", [None, object(), Remembering, (print,), (1, 2)])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(ValueError, match="model must be an object with fit and predict_top_k"):
        ExpandedLabels(wrong).fit(np.eye(2), np.eye(2))


def test_parameters_are_checked(problem):
    for wrong in ({"copies": 0}, {"merge": "median"}, {"positives": "some"}):
        with pytest.raises(ValueError, match="must be"):
            ExpandedLabels(Remembering(), **wrong).fit(*problem)
