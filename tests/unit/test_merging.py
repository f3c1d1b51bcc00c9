import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme import XRLinear
from polyseme.estimators.predicting import top_k_of_rows
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.merging import merge_slots
from tests.examples import examples
from tests.oracles import merging as oracle
from tests.oracles.beam_search import beam_search, score_slots
from tests.small_problems import clusters_of, documents, random_problem, sparse

MERGES = ["mean", "sum", "max"]
# Label 0 has slots 0 and 2, label 1 has slots 1 and 4, label 2 has slot 3.
CLUSTERS = clusters_of([0, 1], [0, 2], [1], n_labels=3)


def stored_rows(*rows):
    """Return slot scores from one {slot: score} a document, stored zeros included."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    columns = np.array([slot for row in rows for slot in row], dtype=np.int32)
    values = np.array([score for row in rows for score in row.values()], dtype=np.float32)
    return SparseRows(starts, columns, values, CLUSTERS.n_slots)


def as_dicts(rows):
    return [
        dict(zip(*(part.tolist() for part in rows.row(i)), strict=True))
        for i in range(rows.n_rows)
    ]


@pytest.mark.parametrize(
    ("merge", "expected"),
    [("mean", {0: 0.5, 1: 0.5}), ("sum", {0: 1.0, 1: 0.5}), ("max", {0: 0.75, 1: 0.5})],
)
def test_the_visited_slots_of_a_label_become_one_score(merge, expected):
    scores = stored_rows({0: 0.25, 1: 0.5, 2: 0.75})
    assert as_dicts(merge_slots(scores, CLUSTERS, merge)) == [expected]


@pytest.mark.parametrize(
    ("merge", "expected"), [("mean", [-0.5, 0.0]), ("sum", [-1.0, 0.0]), ("max", [2.0, 0.0])]
)
def test_visits_are_counted_whatever_the_sign_of_their_scores(merge, expected):
    scores = stored_rows({0: -3.0, 2: 2.0, 3: 0.0}, {}, {4: -1.0})
    merged = as_dicts(merge_slots(scores, CLUSTERS, merge))
    assert merged == [dict(zip([0, 2], expected, strict=True)), {}, {1: -1.0}]


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), merge=st.sampled_from(MERGES))
def test_merging_agrees_with_a_plain_loop(seed, merge):
    rng = np.random.default_rng(seed)
    member = rng.random((6, 4)) < 0.5
    clusters = clusters_of(*(np.flatnonzero(column) for column in member.T), n_labels=6)
    scores = rng.standard_normal((5, clusters.n_slots)) * (rng.random((5, clusters.n_slots)) < 0.6)
    slot_scores = sparse(scores)
    found = merge_slots(slot_scores, clusters, merge)
    assert found.shape == (5, 6)
    for row, visited in zip(as_dicts(found), as_dicts(slot_scores), strict=True):
        assert list(row) == sorted(row)
        assert row == pytest.approx(oracle.merge_slots(visited, clusters.labels, merge), abs=1e-6)


# The whole way, from documents to labels.


def overlapping_model(seed=0, *, n_documents=120, n_labels=40, **parameters):
    X, Y = random_problem(np.random.default_rng(seed), n_documents, 20, n_labels)
    defaults = {
        "branching": 4,
        "max_leaf_size": 4,
        "beam_size": 5,
        "copies": 3,
        "assignment": "closed_form",
        "ordering": "product",
        "senses": "none",
        "n_jobs": 2,
        "verbose": 0,
    }
    return XRLinear(**defaults | parameters).fit(sp.csr_array(X), Y), X


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("activation", ["l3-hinge", "sigmoid", "none"])
def test_decision_function_is_match_then_score_then_merge(merge, activation):
    model, X = overlapping_model(merge=merge, activation=activation)
    assert model.clusters_.copies.max() == 3
    found = model.decision_function(X)
    matched = model.match(X)
    slot_scores = model.ranker_.score(documents(X), matched, model.clusters_, Run())
    merged = merge_slots(slot_scores, model.clusters_, merge).to_scipy()
    np.testing.assert_array_equal(found.indptr, merged.indptr)
    np.testing.assert_array_equal(found.indices, merged.indices)
    np.testing.assert_allclose(found.data, merged.data, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("activation", ["l3-hinge", "none"])
def test_decision_function_agrees_with_plain_loops(merge, activation):
    model, X = overlapping_model(n_documents=30, merge=merge, activation=activation)
    beams = beam_search(model.matcher_.levels, X, model.beam_size, activation)
    decided = [i for i, beam in enumerate(beams) if beam is not None]
    assert len(decided) > len(X) / 3
    reached = [beams[i] for i in decided]
    visited = score_slots(model.ranker_.weights, X[decided], reached, activation)
    scores = model.decision_function(X)
    for i, slots in zip(decided, visited, strict=True):
        expected = oracle.merge_slots(slots, model.clusters_.labels, merge)
        row = dict(zip(scores[[i]].indices.tolist(), scores[[i]].data.tolist(), strict=True))
        assert row == pytest.approx(expected, rel=2e-4, abs=1e-5)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("activation", ["l3-hinge", "sigmoid", "none"])
def test_the_top_k_are_the_k_best_of_the_decision_function(copies, merge, activation):
    model, X = overlapping_model(copies=copies, merge=merge, activation=activation)
    everything = SparseRows.from_scipy(model.decision_function(X))
    for k in (1, 3, 10, 60):
        labels, scores = model.predict_top_k(X, k)
        expected_labels, expected_scores = top_k_of_rows(everything, k)
        np.testing.assert_array_equal(labels, expected_labels)
        np.testing.assert_array_equal(scores, expected_scores)


def test_more_labels_asked_for_than_there_are_leaves_places_empty():
    model, X = overlapping_model(n_labels=5)
    labels, scores = model.predict_top_k(X, 8)
    assert labels.shape == scores.shape == (len(X), 8)
    for row in labels:
        assert sorted(row) == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert (labels[:, 5:] == -1).all()
    assert (scores[:, 5:] == 0).all()


def test_labels_with_equal_scores_come_in_the_order_of_their_numbers():
    X, Y = random_problem(np.random.default_rng(1), n_labels=2)
    Y = Y[:, [0, 1, 0, 0, 1, 0]]  # labels 0, 2, 3 and 5 are one, and so are 1 and 4
    model = XRLinear(copies=1, rounds=0, senses="none", verbose=0).fit(X, Y)
    for k in (1, 3, 6):
        labels, scores = model.predict_top_k(X, k)
        for row, row_scores in zip(labels, scores, strict=True):
            best = [0, 2, 3, 5, 1, 4] if row[0] == 0 else [1, 4, 0, 2, 3, 5]
            assert row.tolist() == best[:k]
            assert (np.diff(row_scores) <= 0).all()


@pytest.mark.parametrize("n_threads", [2, 5])
@pytest.mark.parametrize("copies", [1, 3])
def test_predictions_do_not_depend_on_the_number_of_threads(copies, n_threads):
    one, X = overlapping_model(copies=copies, n_jobs=1)
    many, _ = overlapping_model(copies=copies, n_jobs=n_threads)
    for expected, found in zip(one.predict_top_k(X, 7), many.predict_top_k(X, 7), strict=True):
        np.testing.assert_array_equal(expected, found)


def test_a_document_gets_the_same_labels_alone_and_in_company():
    model, X = overlapping_model()
    together, scores = model.predict_top_k(X, 6)
    for i in range(0, len(X), 10):
        alone, alone_scores = model.predict_top_k(X[[i]], 6)
        np.testing.assert_array_equal(alone[0], together[i])
        np.testing.assert_array_equal(alone_scores[0], scores[i])


@pytest.mark.slow
def test_models_of_different_sizes_take_turns_without_disturbing_each_other():
    small, few = overlapping_model(n_labels=5, max_leaf_size=3)
    large, many = overlapping_model(n_labels=800, max_leaf_size=2)
    assert small.tree_.n_clusters < 10 < 300 < large.tree_.n_clusters
    expected_small, expected_large = small.predict_top_k(few)[0], large.predict_top_k(many)[0]
    for i in range(5):
        np.testing.assert_array_equal(small.predict_top_k(few[[i]])[0][0], expected_small[i])
        np.testing.assert_array_equal(large.predict_top_k(many[[i]])[0][0], expected_large[i])
