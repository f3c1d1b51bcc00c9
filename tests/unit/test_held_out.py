"""An order of labels is learned in training, from documents that the scores did not see."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import XRLinear
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.phases import ORDERING
from polyseme.ordering.learning import FEWEST_HITS
from polyseme.partition.merging import merge_slots
from polyseme.training.held_out import held_out_parts
from tests import toy_backbone
from tests.small_data import topics, two_senses
from tests.small_problems import pattern

# Which documents are held out


@pytest.mark.parametrize(
    ("n_documents", "sizes"),
    [(201, [101, 100]), (5000, [2500, 2500]), (7000, [3000]), (45_000, [4500]), (90_000, [5000])],
)
def test_few_documents_are_held_out_by_halves_and_of_many_some_are(n_documents, sizes):
    labels = SparsePattern(np.arange(n_documents + 1), np.zeros(n_documents, np.int32), 1)
    parts = held_out_parts(labels, seed=3)
    assert sorted(map(len, parts), reverse=True) == sizes
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert together.min() >= 0
    assert together.max() < n_documents
    for one, other in zip(parts, held_out_parts(labels, seed=3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(held_out_parts(labels, seed=4)[0], parts[0])


@pytest.mark.parametrize("n_documents", [0, 1, 2, FEWEST_HITS - 1])
def test_nothing_is_held_out_where_too_few_true_labels_would_be_found(n_documents):
    labels = SparsePattern(np.arange(n_documents + 1), np.zeros(n_documents, np.int32), 1)
    assert held_out_parts(labels, seed=0) == []


def test_documents_without_labels_do_not_count_as_enough():
    starts = np.minimum(np.arange(10_001), FEWEST_HITS)
    labels = SparsePattern(starts, np.zeros(FEWEST_HITS, np.int32), 1)
    assert held_out_parts(labels, seed=0) == []


# The whole of a training

DATA = topics(n_labels=40, n_documents=500)
SMALL = {"max_leaf_size": 8, "branching": 4, "beam_size": 4, "senses": "none", "verbose": 0}


def fitted(data=DATA, estimator=XRLinear, **parameters):
    return estimator(**{**SMALL, "n_jobs": 2, **parameters}).fit(data.X, data.Y)


def assert_probabilities(model, X):
    labels, scores = model.predict_top_k(X, 25)
    assert ((scores > 0) & (scores < 1))[labels >= 0].all()
    assert (np.diff(scores, axis=1) <= 0).all()


class Spying(XRLinear):
    """Remembers which documents its matchers and rankers saw; the first feature tells."""

    def make_matcher(self):
        return self.spied_on(super().make_matcher(), "match")

    def make_ranker(self):
        return self.spied_on(super().make_ranker(), None)

    def spied_on(self, part, asking):
        fit = part.fit

        def spied_fit(documents, task, run):
            part.task, part.saw, part.was_asked = task, numbers(documents), []
            PARTS.append(part)
            return fit(documents, task, run)

        part.fit = spied_fit
        if asking is not None:
            ask = getattr(part, asking)

            def spied_ask(documents, *others):
                part.was_asked.append(numbers(documents))
                return ask(documents, *others)

            setattr(part, asking, spied_ask)
        return part


PARTS = []


def numbers(documents):
    return np.rint(documents.to_scipy().tocsc()[:, [0]].toarray()[:, 0] * 1e4 - 1).astype(int)


def test_drafts_never_see_the_documents_that_they_score():
    PARTS.clear()
    number = (np.arange(500)[:, np.newaxis] + 1) / 1e4
    X = sp.csr_array(sp.hstack([sp.csr_array(number), DATA.X]), dtype=np.float32)
    how = {**SMALL, "rounds": 0, "copies": 1, "match_folds": 0, "random_state": 5}
    model = Spying(**how).fit(X, DATA.Y)
    assert model.ordering_ is not None
    drafts = [part for part in PARTS if part.task.is_draft]
    assert len(PARTS) == 6
    assert [len(part.saw) for part in PARTS if part not in drafts] == [500, 500]
    held_out = held_out_parts(pattern(DATA.Y.toarray()), seed=5)
    for matcher, ranker, part in zip(drafts[::2], drafts[1::2], held_out, strict=True):
        for draft in (matcher, ranker):
            np.testing.assert_array_equal(draft.saw, np.setdiff1d(np.arange(500), part))
        assert matcher.was_asked
        for asked in matcher.was_asked:
            assert np.isin(asked, part).all()
        np.testing.assert_array_equal(
            ranker.task.labels.to_scipy().toarray() > 0, DATA.Y.toarray()[ranker.saw] > 0
        )


def test_an_order_is_learned_unless_the_product_is_asked_for():
    learned, product = fitted(), fitted(ordering="product")
    assert learned.ordering_.n_documents == 500
    assert ORDERING in learned.phase_seconds_
    assert product.ordering_ is None
    assert ORDERING not in product.phase_seconds_
    assert_probabilities(learned, DATA.X_test)
    assert learned.score(DATA.X_test, DATA.Y_test) > product.score(DATA.X_test, DATA.Y_test) - 0.03


def assert_bare_product(model, X):
    assert model.ordering_ is None
    merged = merge_slots(model.slot_scores(X), model.clusters_, model.merge).to_scipy()
    found = model.decision_function(X)
    np.testing.assert_array_equal(found.indices, merged.indices)
    np.testing.assert_allclose(found.data, merged.data, rtol=1e-5, atol=1e-30)


def test_the_product_is_left_as_it_is_where_it_is_asked_for():
    assert_bare_product(fitted(ordering="product"), DATA.X_test)


def test_with_too_few_documents_it_is_the_product_to_the_last_bit():
    data = topics(n_labels=24, n_documents=90)
    small, product = fitted(data), fitted(data, ordering="product")
    assert_bare_product(small, data.X_test)
    for one, other in zip(
        small.predict_top_k(data.X_test), product.predict_top_k(data.X_test), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("max_leaf_size", [8, 100])
def test_bare_margins_stay_as_they_are_in_many_clusters_and_in_one(max_leaf_size):
    model = fitted(activation="none", max_leaf_size=max_leaf_size)
    assert (model.tree_.n_clusters == 1) == (max_leaf_size == 100)
    assert_bare_product(model, DATA.X_test)


def test_no_ranker_is_drafted_for_bare_margins():
    PARTS.clear()
    fitted(estimator=Spying, activation="none", rounds=0, copies=1)
    assert [part.task.is_draft for part in PARTS] == [False, False, True]


def test_an_order_is_the_same_for_any_number_of_threads():
    one, two = fitted(n_jobs=1), fitted(n_jobs=2)
    for name, array in one.ordering_.to_arrays().items():
        np.testing.assert_array_equal(two.ordering_.to_arrays()[name], array, strict=True)
    for ours, theirs in zip(
        one.predict_top_k(DATA.X_test, 30), two.predict_top_k(DATA.X_test, 30), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_another_seed_holds_out_other_documents():
    one, two = fitted().ordering_, fitted(random_state=1).ordering_
    assert not np.array_equal(one.curve, two.curve)


def test_an_order_does_not_change_what_is_matched_and_scored():
    learned, product = fitted(), fitted(ordering="product")
    for name, array in learned.ranker_.to_arrays().items():
        np.testing.assert_array_equal(product.ranker_.to_arrays()[name], array)
    for name, array in learned.matcher_.to_arrays().items():
        np.testing.assert_array_equal(product.matcher_.to_arrays()[name], array)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sense_positives": True},
        {"training_rows": "both"},
        {"training_rows": "matcher-aware", "sense_positives": True},
        {"activation": "sigmoid", "loss": "logistic"},
        {"merge": "mean"},
        {"merge": "max"},
        {"beam_size": 1},
        {"copies": 1, "rounds": 0},
        {"match_folds": 0},
    ],
    ids=str,
)
def test_an_order_is_learned_however_slots_are_trained(parameters):
    model = fitted(**parameters)
    assert model.ordering_ is not None
    assert_probabilities(model, DATA.X_test)
    assert model.score(DATA.X_test, DATA.Y_test) > 0.7


@pytest.mark.parametrize("form", ["dense", "both"])
def test_an_order_is_learned_of_dense_features(form):
    def formed(X):
        dense = X.toarray()
        return dense if form == "dense" else (sp.csr_array(dense[:, 9:]), dense[:, :9].copy())

    model = XRLinear(**SMALL).fit(formed(DATA.X), DATA.Y)
    assert model.ordering_ is not None
    assert_probabilities(model, formed(DATA.X_test))
    assert model.score(formed(DATA.X_test), DATA.Y_test) > 0.7


def test_a_backbone_without_a_walk_learns_an_order_too():
    model = fitted(estimator=toy_backbone.module().CentroidClassifier)
    assert model._walk is None
    assert model.ordering_ is not None
    assert_probabilities(model, DATA.X_test)
    product = fitted(estimator=toy_backbone.module().CentroidClassifier, ordering="product")
    assert model.score(DATA.X_test, DATA.Y_test) > product.score(DATA.X_test, DATA.Y_test) - 0.03


def test_documents_of_one_label_each_learn_an_order():
    data = two_senses(n_documents=1200)
    model = fitted(data, beam_size=2)
    assert model.ordering_ is not None
    product = copy(model)
    product.ordering_ = None
    product._make_walk()
    assert model.score(data.X_test, data.Y_test) > product.score(data.X_test, data.Y_test) - 0.03


def test_the_order_of_another_model_is_taken_over_and_so_is_its_lack_of_one():
    data = topics()
    model = fitted(data)
    assert model.ordering_ is not None
    again = XRLinear(**model.get_params()).fit(data.X, data.Y, order_from=model)
    assert again.ordering_ is model.ordering_
    assert ORDERING not in again.phase_seconds_
    without = copy(model)
    without.ordering_ = None
    bare = XRLinear(**model.get_params()).fit(data.X, data.Y, order_from=without)
    assert bare.ordering_ is None


@pytest.mark.parametrize("wrong", ["learned", 5, XRLinear(), "product", "sigmoid"], ids=repr)
def test_an_order_of_something_else_is_refused_before_the_work_begins(wrong):
    data = topics()
    model = fitted(data)
    parameters = model.get_params()
    if wrong == "product":
        parameters, wrong = {**parameters, "ordering": "product"}, model
    elif wrong == "sigmoid":
        parameters, wrong = {**parameters, "activation": "sigmoid"}, model
    fresh = XRLinear(**parameters)
    with pytest.raises(ValueError, match="order_from"):
        fresh.fit(data.X, data.Y, order_from=wrong)
    assert not hasattr(fresh, "ordering_")
