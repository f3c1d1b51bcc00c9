"""A ranker keeps a draft that did not see some documents, and goes on from it with all of them."""

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.tasks import RankingTask
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.training import held_out as held_out_module
from tests.oracles.beam_search import dense_weights
from tests.small_data import topics
from tests.small_problems import clusters_of, pattern, random_problem

EXACT = {"tolerance": 1e-5, "max_iter": 3000, "min_weight": 0.0, "weight_bits": 32}
CLUSTERS = clusters_of(range(5), range(3, 20), n_labels=20)


def problem(n_dense=0, seed=0):
    """Return documents, their labels and those that are held out."""
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, 70, 12, 20)
    X = np.asarray(X, dtype=np.float32)
    parts = Documents(dense=X).in_layout(X.shape[1] - n_dense, n_dense)
    return parts, Y, rng.random(len(X)) < 0.3


def train(documents, Y, n_threads=1, *, how=None, **drafting):
    rows = np.ones((documents.n_rows, CLUSTERS.n_clusters))
    how = LinearTraining(**(how or EXACT))
    run = Run(0, n_threads)
    parts = documents, pattern(rows), CLUSTERS.starts, CLUSTERS.labels, pattern(Y), how, run
    return LinearWeights.train(*parts, **drafting)


def assert_close(one, other):
    for ours, theirs in zip(dense_weights(one), dense_weights(other), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
@pytest.mark.parametrize("n_dense", [0, 5, 12])
def test_the_draft_is_that_of_the_other_documents_and_the_rest_that_of_all(loss, n_dense):
    documents, Y, is_held_out = problem(n_dense)
    how = {**EXACT, "loss": loss}
    drafting = {"held_out": is_held_out, "draft_how": LinearTraining(**how)}
    trained, draft = train(documents, Y, how=how, **drafting)
    others = np.flatnonzero(~is_held_out)
    assert_close(draft, train(documents.take(others), Y[others], how=how)[0])
    assert_close(trained, train(documents, Y, how=how)[0])
    assert np.abs(dense_weights(draft)[0] - dense_weights(trained)[0]).max() > 0.02


def test_labels_of_held_out_documents_leave_no_trace_in_the_draft():
    documents, Y, is_held_out = problem()
    hasty = LinearTraining(max_iter=4)
    other = Y ^ (is_held_out[:, np.newaxis] & (np.random.default_rng(1).random(Y.shape) < 0.5))
    drafts = [
        train(documents, labels, n_threads, held_out=is_held_out, draft_how=hasty)[1]
        for labels, n_threads in ((Y, 1), (other, 1), (Y, 3))
    ]
    for draft in drafts[1:]:
        for name, array in drafts[0].to_arrays().items():
            np.testing.assert_array_equal(draft.to_arrays()[name], array)


def test_a_ranker_keeps_a_draft_only_where_documents_are_held_out():
    documents, Y, is_held_out = problem()
    rows = pattern(np.ones((documents.n_rows, CLUSTERS.n_clusters)))
    ranker = LinearSlotRanker(LinearTraining())
    task = RankingTask(pattern(Y), CLUSTERS, rows, held_out=is_held_out)
    draft = ranker.fit(documents, task, Run()).draft
    assert draft.how == ranker.how
    assert draft.trained.bias.tolist() != ranker.trained.bias.tolist()
    assert ranker.fit(documents, RankingTask(pattern(Y), CLUSTERS, rows), Run()).draft is None


def test_an_order_is_learned_with_the_kept_draft_which_then_goes(monkeypatch):
    monkeypatch.setattr(held_out_module, "FEWEST_HELD_OUT", 150)
    data = topics(n_labels=40, n_documents=500)
    n_trainings = []
    fit = LinearSlotRanker.fit

    def counted(ranker, *arguments):
        n_trainings.append(ranker)
        return fit(ranker, *arguments)

    monkeypatch.setattr(LinearSlotRanker, "fit", counted)
    how = {"max_leaf_size": 8, "branching": 4, "senses": "none", "verbose": 0}
    model = XRLinear(**how).fit(data.X, data.Y)
    assert model.ordering_ is not None
    assert len(n_trainings) == 1
    assert model.ranker_.draft is None


def test_a_mask_of_another_length_is_refused():
    documents, Y, _ = problem()
    with pytest.raises(ValueError, match="held_out and X differ in documents"):
        train(documents, Y, held_out=np.zeros(3, np.bool_), draft_how=LinearTraining())
