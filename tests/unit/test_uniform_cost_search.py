"""The exact search against full scoring of all labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme import _native
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.walk import LinearWalk
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from tests.examples import examples
from tests.oracles import uniform_cost_search as oracle
from tests.small_problems import pattern, random_problem, sparse

MULTIPLY = ["l3-hinge", "l2-hinge", "sigmoid"]
MERGES = ["sum", "mean", "max"]
FORMS = {
    "sparse": lambda X: Documents(sparse(X)),
    "dense": lambda X: Documents(dense=np.ascontiguousarray(X, dtype=np.float32)),
    "mixed": lambda X: Documents(sparse(X[:, :5]), np.ascontiguousarray(X[:, 5:])),
}
N_LABELS = 20
models = st.builds(
    lambda **how: Model.trained(**how),
    seed=st.integers(0, 2**32 - 1),
    fan_outs=st.sampled_from([(), (1,), (6,), (2, 2, 2), (3, 1, 4), (2, 2, 2, 2)]),
    activation=st.sampled_from(MULTIPLY),
    form=st.sampled_from(list(FORMS)),
    share=st.sampled_from([0.0, 0.3, 0.7]),
    weight_bits=st.sampled_from([8, 32]),
)


@dataclass
class Model:
    X: np.ndarray
    documents: Documents
    matcher: LinearTreeMatcher
    ranker: LinearSlotRanker
    clusters: LabelClusters
    walk: LinearWalk

    @classmethod
    def trained(
        cls,
        seed=0,
        fan_outs=(2, 2, 2),
        activation="sigmoid",
        form="sparse",
        share=0.3,
        n_documents=25,
        weight_bits=32,
    ):
        """Labels are in one cluster each, and in a share of the others."""
        rng = np.random.default_rng(seed)
        X, Y = random_problem(rng, n_documents, 12, N_LABELS, signed=form != "sparse")
        n_clusters = int(np.prod(fan_outs))
        member = rng.random((N_LABELS, n_clusters)) < share
        member[np.arange(N_LABELS), rng.integers(n_clusters, size=N_LABELS)] = True
        clusters = LabelClusters.from_matrix(member)
        documents = FORMS[form](X)
        how = LinearTraining(loss="logistic", min_weight=0, weight_bits=weight_bits)
        targets = pattern(Y @ member)
        matcher = LinearTreeMatcher(how, activation=activation).fit(
            documents, MatchingTask(targets, LabelTree.uniform(*fan_outs)), Run()
        )
        ranker = LinearSlotRanker(how, activation).fit(
            documents, RankingTask(pattern(Y), clusters, targets), Run()
        )
        walk = matcher.fused_with(ranker, clusters)
        return cls(X, documents, matcher, ranker, clusters, walk)

    def everything(self, merge, k=N_LABELS):
        return self.walk.top_k(self.documents, 10**6, k, merge, Run())

    def exact(self, merge, k, n_threads=1):
        return self.walk.top_k(self.documents, None, k, merge, Run(n_threads=n_threads))


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@examples(60)
@given(model=models, merge=st.sampled_from(MERGES), k=st.sampled_from([1, 3, 5, 20, 23]))
def test_the_best_labels_are_those_of_a_beam_that_keeps_everything_to_the_last_bit(
    model, merge, k
):
    assert_same(model.exact(merge, k, n_threads=2), model.everything(merge, k))


@examples(25)
@given(model=models, merge=st.sampled_from(MERGES))
def test_the_best_labels_are_those_of_full_scoring_with_dense_weights(model, merge):
    labels, scores = model.exact(merge, 5)
    expected = oracle.all_labels(
        model.matcher.levels,
        model.ranker.trained,
        model.X,
        model.clusters.labels,
        model.walk._activation,
        merge,
    )
    for i, of_labels in enumerate(expected):
        assert len(of_labels) == N_LABELS
        best = sorted(of_labels.values(), reverse=True)[:5]
        np.testing.assert_allclose(scores[i], best, rtol=2e-4, atol=1e-6)
        own = [of_labels[label] for label in labels[i].tolist()]
        np.testing.assert_allclose(scores[i], own, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("activation", MULTIPLY)
def test_it_is_the_plain_search_with_a_queue_of_nodes_and_labels(activation):
    model = Model.trained(3, (2, 2, 2, 2), activation, share=0.0)
    labels, scores = model.exact("sum", 3)
    for i, document in enumerate(model.X):
        best, n_opened = oracle.best_first(
            model.matcher.levels,
            model.ranker.trained,
            document,
            model.clusters.labels,
            3,
            activation,
        )
        assert n_opened < 31  # some of the tree is left out, or else this shows little
        np.testing.assert_allclose(scores[i], [score for _, score in best], rtol=2e-4, atol=1e-6)
        assert labels[i].tolist() == [label for label, _ in best]


@examples(60)
@given(
    model=models,
    merge=st.sampled_from(MERGES),
    threshold=st.sampled_from([1e-6, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0]),
)
def test_all_labels_above_a_threshold_are_found_and_no_other(model, merge, threshold):
    found = model.walk.above(
        model.documents, np.array([threshold], dtype=np.float32), merge, Run(n_threads=2)
    )
    expected = model.walk.all_scores(model.documents, 10**6, merge, Run()).to_scipy().toarray()
    expected[expected < np.float32(threshold)] = 0
    np.testing.assert_array_equal(found.to_scipy().toarray(), expected)
    for i in range(found.n_rows):
        assert (np.diff(found.row(i)[0]) > 0).all()


@examples(40)
@given(model=models, merge=st.sampled_from(MERGES), seed=st.integers(0, 1000))
def test_every_label_may_have_a_threshold_of_its_own(model, merge, seed):
    own = (10 ** -np.random.default_rng(seed).uniform(0, 3, N_LABELS)).astype(np.float32)
    found = model.walk.above(model.documents, own, merge, Run()).to_scipy().toarray()
    expected = model.walk.all_scores(model.documents, 10**6, merge, Run()).to_scipy().toarray()
    expected[expected < own] = 0
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_equals_come_in_the_order_of_their_numbers(share):
    model = Model.trained(share=share)
    nothing = Documents(sparse(np.zeros((3, 12))))
    for weights in (*model.matcher.levels, model.ranker.trained):
        weights.bias[:] = 0  # every turn is as likely as the other
    labels, scores = model.walk.top_k(nothing, None, 7, "max", Run())
    np.testing.assert_array_equal(labels, np.tile(np.arange(7), (3, 1)))
    np.testing.assert_allclose(scores, 1 / 16, rtol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_scores_too_small_for_a_number_are_zeros_in_the_order_of_labels(share):
    model = Model.trained(share=share)
    for weights in (*model.matcher.levels, model.ranker.trained):
        weights.bias[:] = -1e4
    labels, scores = model.exact("sum", 25)
    assert_same((labels, scores), model.everything("sum", 25))
    np.testing.assert_array_equal(labels[:, :20], np.tile(np.arange(20), (25, 1)))
    assert (labels[:, 20:] == -1).all()


def test_documents_of_one_thread_after_another_model_are_as_before():
    small, large = Model.trained(1, (3,), share=0.5), Model.trained(2, (3, 3, 2), share=0.5)
    first = small.exact("sum", 4)
    large.exact("mean", 4)
    large.walk.above(large.documents, np.array([0.01], dtype=np.float32), "sum", Run())
    assert_same(small.exact("sum", 4), first)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_the_number_of_threads_does_not_matter(n_threads):
    model = Model.trained(n_documents=300, share=0.4)
    assert_same(model.exact("sum", 5, n_threads), model.exact("sum", 5))


def test_a_single_row_gets_what_it_gets_in_company():
    model = Model.trained(share=0.4)
    labels, scores = model.exact("sum", 5)
    rows = model.documents.sparse.to_scipy()
    for i in range(rows.shape[0]):
        alone = model.walk.top_k_of_row(rows[[i]], None, 5, "sum")
        assert_same(alone, (labels[[i]], scores[[i]]))


def test_what_does_not_multiply_or_does_not_fit_is_refused():
    model = Model.trained()
    predictor = model.walk.predictor
    bare = _native.Predictor(
        [weights.level for weights in model.matcher.levels],
        model.ranker.trained.level,
        model.clusters.labels,
        N_LABELS,
        12,
        "none",
    )
    half = np.array([0.5], dtype=np.float32)
    with pytest.raises(ValueError, match="scores that multiply"):
        bare.top_k(model.documents, None, 5, "sum", 1, None)
    with pytest.raises(ValueError, match="scores that multiply"):
        bare.above(model.documents, half, "sum", 1, None)
    for thresholds in (half[:0], np.repeat(half, 3)):
        with pytest.raises(ValueError, match="do not fit the labels"):
            predictor.above(model.documents, thresholds, "sum", 1, None)
    for value in (-0.5, 1.5, np.nan):
        with pytest.raises(ValueError, match="not from 0 to 1"):
            predictor.above(model.documents, np.full(1, value, dtype=np.float32), "sum", 1, None)
    with pytest.raises(ValueError, match="merge must be"):
        predictor.above(model.documents, half, "median", 1, None)


def test_values_that_overflow_end_in_an_answer():
    model = Model.trained(share=0.4)
    huge = Documents(sparse(np.full((2, 12), 3e38)))
    labels, scores = model.walk.top_k(huge, None, 5, "sum", Run())
    assert (labels >= 0).all()
    assert np.isfinite(scores).all()
