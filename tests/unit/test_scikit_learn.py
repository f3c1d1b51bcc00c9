"""XRLinear among scikit-learn's tools."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import polyseme
from polyseme import XRLinear
from tests.small_data import topics

DATA = topics()

MANY_LABELS = (
    "it wants one label a document from predict; XRLinear is made for many and gives a 0/1 matrix "
    "with one column per label, whatever the form of y in fit"
)
EXPECTED_FAILURES = {
    "check_estimator_sparse_array": MANY_LABELS,
    "check_estimator_sparse_matrix": MANY_LABELS,
    "check_estimator_sparse_data": MANY_LABELS,  # both of them before scikit-learn 1.5
}


def small_model(**parameters):
    quick = {"max_leaf_size": 3, "beam_size": 3, "senses": "none", "n_jobs": 1}
    return XRLinear(**quick | parameters)


@parametrize_with_checks([XRLinear(n_jobs=1)])
def test_scikit_learns_own_checks_pass(estimator, check, request):
    reason = EXPECTED_FAILURES.get(check.func.__name__)
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    check(estimator)


# Parameters


def test_a_clone_has_the_parameters_but_not_the_training():
    model = small_model(copies=3, C=2.5).fit(DATA.X, DATA.Y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)


def test_parameters_are_set_by_name_and_unknown_ones_refused():
    model = XRLinear().set_params(copies=3, merge="max")
    assert model.get_params()["copies"] == 3
    assert model.merge == "max"
    with pytest.raises(ValueError, match="Invalid parameter 'n_copies'"):
        model.set_params(n_copies=3)


def test_the_text_of_an_estimator_shows_what_differs_from_the_defaults():
    assert repr(XRLinear(copies=5)) == "XRLinear(copies=5)"


def test_a_notebook_shows_parameters_and_whether_it_was_trained():
    model = small_model(copies=3)
    assert "max_leaf_size" in model._repr_html_()
    assert "<span>Not fitted</span>" in model._repr_html_()
    assert "<span>Fitted</span>" in model.fit(DATA.X, DATA.Y)._repr_html_()


def test_classes_are_the_names_of_the_labels_or_their_numbers():
    model = small_model()
    assert not hasattr(model, "classes_")
    assert model.fit(DATA.X, DATA.Y).classes_.tolist() == list(range(DATA.Y.shape[1]))
    assert model.fit(DATA.X[:3], [["b"], ["a", "c"], ["b"]]).classes_.tolist() == ["a", "b", "c"]
    ids = model.fit(DATA.X[:3], [[7], [5, 9], [7]]).classes_
    assert (ids.tolist(), ids.dtype) == ([5, 7, 9], np.int64)


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(DATA.X),
        lambda model: model.predict_top_k(DATA.X),
        lambda model: model.decision_function(DATA.X),
        lambda model: model.score(DATA.X, DATA.Y),
        lambda model: model.save("nowhere"),
    ],
)
def test_a_model_that_was_not_trained_says_so(use):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(XRLinear())


# Pipelines and searches


def test_a_pipeline_from_texts_to_names():
    texts = ["red apple pie", "apple phone", "phone screen", "sweet pie", "red sweet apple"] * 3
    labels = [["fruit"], ["brand"], ["brand"], ["fruit"], ["fruit"]] * 3
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(), XRLinear())
    pipeline.fit(texts, labels)
    assert pipeline.score(texts, labels) == 1
    model = pipeline[-1]
    best, _ = model.predict_top_k(pipeline[:-1].transform(["sweet red pie", "a screen"]), 1)
    assert [model.label_names_[i] for i in best[:, 0]] == ["fruit", "brand"]


def test_a_pipeline_with_tf_idf_on_sparse_counts():
    counts = sp.csr_matrix(DATA.X > 0, dtype=np.float64)
    pipeline = Pipeline([("tfidf", TfidfTransformer()), ("tag", small_model())])
    pipeline.fit(counts, DATA.Y)
    assert pipeline.score(sp.csr_matrix(DATA.X_test > 0, dtype=np.float64), DATA.Y_test) > 0.9
    assert pipeline.predict(counts).shape == DATA.Y.shape
    assert clone(pipeline).get_params()["tag__beam_size"] == 3


def test_cross_validation_with_many_labels():
    scores = cross_val_score(small_model(), DATA.X, DATA.Y.toarray(), cv=KFold(3))
    assert len(scores) == 3
    assert scores.min() > 0.9


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.lil_array])
def test_cross_validation_with_a_sparse_label_matrix(make):
    dense = cross_val_score(small_model(), DATA.X, DATA.Y.toarray(), cv=3)
    # scikit-learn's functions take a sparse y where they are not told to look at it first.
    with config_context(skip_parameter_validation=True):
        sparse = cross_val_score(small_model(), DATA.X, make(DATA.Y), cv=KFold(3))
    np.testing.assert_array_equal(sparse, dense)


def test_cross_validation_with_lists_of_names():
    names = [[f"label {j}" for j in np.flatnonzero(row)] for row in DATA.Y.toarray()]
    assert cross_val_score(small_model(), DATA.X, names, cv=KFold(3)).min() > 0.9


RARE = [["common", f"rare {i}"] if i % 7 == 0 else ["common"] for i in range(60)]
ONE_LABEL = [f"rare {i}" if i % 7 == 0 else "common" for i in range(60)]
NUMBERED = [{5, 100 + i} if i % 7 == 0 else {5} for i in range(60)]


@pytest.mark.parametrize("labels", [RARE, ONE_LABEL, NUMBERED], ids=["names", "one", "ids"])
def test_cross_validation_counts_labels_that_no_training_document_has_as_not_found(labels):
    scores = cross_val_score(small_model(), DATA.X[:60], labels, cv=3, error_score="raise")
    assert scores.min() > 0.5
    search = GridSearchCV(small_model(), {"copies": [1, 2]}, cv=3, error_score="raise")
    assert search.fit(DATA.X[:60], labels).best_score_ > 0.5


def test_a_label_that_the_model_never_saw_is_not_found():
    X, Y = DATA.X[:4], [["a"], ["b"], ["c"], ["a"]]
    model = small_model().fit(X, Y)
    assert model.score(X, Y) == 1
    assert model.score(X, [["a"], ["b", "new"], ["new"], ["newer"]]) == 0.5
    assert model.score(X, [["a"], [], ["new"], ["a"]]) == 0.5  # a document without labels counts
    with pytest.raises(ValueError, match="labels such as 3, but the known ones are such as 'a'"):
        model.score(X, [[3], [4], [5], [6]])


def test_labels_of_a_model_without_names_are_numbers():
    model = small_model().fit(DATA.X, DATA.Y)
    lists = [set(row.nonzero()[0].tolist()) for row in DATA.Y_test.toarray()]
    assert model.score(DATA.X_test, lists) == model.score(DATA.X_test, DATA.Y_test) == 1
    assert model.score(DATA.X_test, [{1000} for _ in lists]) == 0
    for n_labels in (3, 30):
        wrong = np.zeros((DATA.X_test.shape[0], n_labels))
        with pytest.raises(ValueError, match=f"Y has {n_labels} labels, but the model has 24"):
            model.score(DATA.X_test, wrong)


@pytest.mark.slow
def test_cross_validation_in_several_processes():
    here, there = (
        cross_val_score(small_model(), DATA.X, DATA.Y.toarray(), cv=2, n_jobs=n) for n in (1, 2)
    )
    np.testing.assert_array_equal(here, there)


def test_cross_validated_predictions_keep_their_shape():
    predicted = cross_val_predict(small_model(), DATA.X, DATA.Y, cv=3)
    assert predicted.shape == DATA.Y.shape
    assert f1_score(DATA.Y, predicted, average="micro") > 0.5


@pytest.mark.slow
def test_a_grid_search_over_our_parameters():
    search = GridSearchCV(
        small_model(), {"copies": [1, 2], "C": [1e-6, 1.0]}, cv=3, error_score="raise"
    )
    search.fit(DATA.X, DATA.Y)
    assert search.best_params_["C"] == 1.0
    assert search.best_estimator_.score(DATA.X_test, DATA.Y_test) == 1
    assert search.predict(DATA.X_test).shape == DATA.Y_test.shape


@pytest.mark.slow
def test_a_grid_search_in_a_pipeline_with_another_scorer():
    pipeline = Pipeline([("tfidf", TfidfTransformer()), ("tag", small_model())])
    search = GridSearchCV(pipeline, {"tag__beam_size": [1, 3]}, cv=2, scoring="f1_micro")
    search.fit(DATA.X, DATA.Y)
    assert search.best_score_ > 0.5


def test_train_test_split_keeps_rows_together():
    X, X_test, Y, Y_test = train_test_split(DATA.X, DATA.Y, random_state=0)
    assert small_model().fit(X, Y).score(X_test, Y_test) > 0.9


def test_the_score_is_the_accuracy_of_the_best_label():
    model = small_model().fit(DATA.X, DATA.Y)
    best = model.predict_top_k(DATA.X_test, 1)[0][:, 0]
    right = DATA.Y_test.toarray()[np.arange(len(best)), best].mean()
    assert model.score(DATA.X_test, DATA.Y_test) == pytest.approx(right)
    assert model.score(DATA.X_test, y=DATA.Y_test.toarray()) == pytest.approx(right)


# Copies


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_copy_of_a_trained_model_answers_like_it(duplicate, loaded, tmp_path):
    model = small_model().fit(DATA.X, DATA.Y)
    if loaded:
        model.save(tmp_path / "model")
        model = polyseme.load(tmp_path / "model")
    twin = duplicate(model)
    for ours, theirs in zip(
        twin.predict_top_k(DATA.X_test), model.predict_top_k(DATA.X_test), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert twin.get_params() == model.get_params()
    twin.fit(DATA.X[:, :50], DATA.Y)  # and lives a life of its own
    assert model.n_features_in_ == DATA.X.shape[1]
    assert model.score(DATA.X_test, DATA.Y_test) == 1


# Data frames


def test_a_data_frame_brings_its_column_names():
    pandas = pytest.importorskip("pandas")
    words = [f"word {i}" for i in range(DATA.X.shape[1])]
    frame = pandas.DataFrame(DATA.X.toarray(), columns=words)
    labels = pandas.DataFrame(DATA.Y.toarray())
    model = small_model().fit(frame, labels)
    assert list(model.feature_names_) == list(model.feature_names_in_) == words
    assert model.score(frame, labels) > 0.9
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[words[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(DATA.X_test)


def test_given_feature_names_bind_no_one():
    words = [f"word {i}" for i in range(DATA.X.shape[1])]
    model = small_model().fit(DATA.X, DATA.Y, feature_names=words)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(DATA.X_test).nnz > 0
