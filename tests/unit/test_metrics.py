from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from polyseme.metrics import (
    Propensities,
    evaluate,
    f1_at_k,
    hits,
    ndcg_at_k,
    precision_at_k,
    propensities,
    psndcg_at_k,
    psp_at_k,
    reach,
    recall_at_k,
)
from polyseme.partition.label_clusters import LabelClusters
from tests.examples import examples
from tests.oracles import metrics as oracle

# Two documents; hits are at places 1 and 3 of the first, and at place 2 of the second.
TOP = np.array([[0, 1, 2], [3, 4, -1]])
Y_TRUE = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 1]])


def weighted(*inverse):
    return Propensities(np.array(inverse, dtype=np.float64), 0.55, 1.5, 9)


def test_a_small_example_agrees_with_numbers_from_hand():
    discount = 1 / np.log2([2, 3, 4])
    assert precision_at_k(TOP, Y_TRUE, 1) == pytest.approx(50)
    assert precision_at_k(TOP, Y_TRUE, 3) == pytest.approx(100 * (2 / 3 + 1 / 3) / 2)
    assert recall_at_k(TOP, Y_TRUE, 3) == pytest.approx(100 * (2 / 3 + 1) / 2)
    first = (discount[0] + discount[2]) / discount.sum()
    assert ndcg_at_k(TOP, Y_TRUE, 3) == pytest.approx(100 * (first + discount[1]) / 2)


def test_a_small_propensity_scored_example_agrees_with_numbers_from_hand():
    weights = weighted(1, 1, 2, 4, 3)
    discount = 1 / np.log2([2, 3, 4])
    # Gains are 1 + 2 and 3; the best ranking of the first document is 3, 2, 0.
    assert psp_at_k(TOP, Y_TRUE, 3, weights) == pytest.approx(100 * (3 + 3) / (7 + 3))
    assert psp_at_k(TOP, Y_TRUE, 1, weights) == pytest.approx(100 * 1 / (4 + 3))
    found = (1 * discount[0] + 2 * discount[2]) / discount.sum() + 3 * discount[1]
    best = np.dot([4, 2, 1], discount) / discount.sum() + 3
    assert psndcg_at_k(TOP, Y_TRUE, 3, weights) == pytest.approx(100 * found / best)


def test_hits_are_the_predictions_that_are_true():
    np.testing.assert_array_equal(hits(TOP, Y_TRUE), [[1, 0, 1], [0, 1, 0]])
    assert hits(TOP[:0], Y_TRUE[:0]).shape == (0, 3)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_documents, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    n_columns = draw(st.integers(1, 8))
    Y = rng.random((n_documents, n_labels)) < draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    top = np.full((n_documents, n_columns), -1, dtype=draw(st.sampled_from([np.int32, np.int64])))
    for row in top:
        n_given = rng.integers(0, min(n_columns, n_labels) + 1)
        row[:n_given] = rng.permutation(n_labels)[:n_given]
    return top, Y, rng


@examples(150)
@given(problems())
def test_every_metric_agrees_with_its_plain_twin(problem):
    top, Y, rng = problem
    n_labels = Y.shape[1]
    counts = rng.integers(0, 50, n_labels)
    scored = propensities(counts, 50, a=0.6, b=2.6)
    rankings = [[int(label) for label in row if label >= 0] for row in top]
    truths = [set(np.flatnonzero(row).tolist()) for row in Y]
    weight = oracle.inverse_propensities(counts, 50, 0.6, 2.6)
    np.testing.assert_allclose(scored.inverse, weight)

    ks = range(1, top.shape[1] + 1)
    found = evaluate(top, sp.csr_array(Y), ks=ks, recall_ks=ks, propensities=scored)
    expected = {}
    for k in ks:
        expected[f"P@{k}"] = oracle.precision_at_k(rankings, truths, k)
        expected[f"nDCG@{k}"] = oracle.ndcg_at_k(rankings, truths, k, n_labels)
        expected[f"R@{k}"] = oracle.recall_at_k(rankings, truths, k)
        expected[f"PSP@{k}"] = oracle.psp_at_k(rankings, truths, k, weight)
        expected[f"PSnDCG@{k}"] = oracle.psndcg_at_k(rankings, truths, k, weight)
    assert found == pytest.approx(expected)
    assert all(0 <= value <= 100 + 1e-9 for value in found.values())

    k = top.shape[1]
    assert found[f"P@{k}"] == precision_at_k(top, Y, k)
    assert found[f"R@{k}"] == recall_at_k(top, Y, k)
    assert found[f"nDCG@{k}"] == ndcg_at_k(top, Y, k)
    assert f1_at_k(top, Y, k) == pytest.approx(oracle.f1_at_k(rankings, truths, k))
    assert found[f"PSP@{k}"] == psp_at_k(top, Y, k, scored)
    assert found[f"PSnDCG@{k}"] == psndcg_at_k(top, Y, k, scored)


# What napkinxc 0.7.2 (napkinxc.metrics) gives for `napkinxc_problem`, at k = 1, 3, 5, 10.
NAPKINXC = {
    "P": [0.6933333333333334, 0.37777777777777755, 0.24133333333333382, 0.12700000000000025],
    "R": [0.35925396825396794, 0.5108730158730158, 0.5372936507936508, 0.5699920634920634],
    "nDCG": [0.6933333333333334, 0.5735691831416518, 0.5687603739137095, 0.5803825563332462],
}
NAPKINXC_SCORED = {
    (0.55, 1.5): {
        "PSP": [0.6032944908161192, 0.5648331505767963, 0.5579985367709384, 0.5834385155971948],
        "PSnDCG": [0.6032944908161192, 0.5765873052204307, 0.5786814456007131, 0.5912359686554504],
    },
    (0.6, 2.6): {
        "PSP": [0.5977849430258646, 0.5636662763128102, 0.5576252916835338, 0.5832234073323787],
        "PSnDCG": [0.5977849430258646, 0.5744643018930154, 0.5769447784001056, 0.5895390616400425],
    },
}


def napkinxc_problem():
    random = np.random.RandomState(7)  # its stream of numbers never changes
    n_documents, n_labels, k = 300, 40, 10
    chance = 0.5 / (1 + np.arange(n_labels))
    Y_train = (random.random_sample((n_documents, n_labels)) < chance).astype(np.int64)
    Y_true = (random.random_sample((n_documents, n_labels)) < chance).astype(np.int64)
    scores = random.random_sample((n_documents, n_labels)) + 0.6 * Y_true
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    n_given = random.randint(0, k + 1, n_documents)
    top[np.arange(k) >= n_given[:, np.newaxis]] = -1
    return Y_train, Y_true, top


@pytest.mark.parametrize(("a", "b"), NAPKINXC_SCORED)
def test_the_metrics_agree_with_napkinxc(a, b):
    Y_train, Y_true, top = napkinxc_problem()
    scored = propensities(Y_train.sum(axis=0), len(Y_train), a=a, b=b)
    ks = (1, 3, 5, 10)
    found = evaluate(top, Y_true, ks=ks, propensities=scored)
    # Where a document has no label, napkinxc counts its recall as 0; here it does not count.
    share_labelled = np.mean(Y_true.any(axis=1))
    assert share_labelled < 1
    for name, values in (NAPKINXC | NAPKINXC_SCORED[a, b]).items():
        scale = 100 / share_labelled if name == "R" else 100
        assert [found[f"{name}@{k}"] for k in ks] == pytest.approx([scale * v for v in values])


def test_the_propensities_agree_with_napkinxc():
    Y_train, _, _ = napkinxc_problem()
    inverse = propensities(Y_train.sum(axis=0), len(Y_train)).inverse
    assert inverse[[0, 1, 39]] == pytest.approx([1.47840516, 1.76152545, 4.04870045])
    assert inverse.sum() == pytest.approx(131.61549588806795)


def test_ndcg_agrees_with_scikit_learn():
    rng = np.random.default_rng(3)
    Y = (rng.random((50, 20)) < 0.2).astype(int)
    scores = rng.random((50, 20))
    top = np.argsort(-scores, axis=1)
    for k in (1, 3, 10):
        assert ndcg_at_k(top, Y, k) == pytest.approx(100 * ndcg_score(Y, scores, k=k))


def test_a_perfect_ranking_scores_100_by_all_but_precision():
    rng = np.random.default_rng(4)
    Y = rng.random((30, 12)) < 0.2
    Y[:, 0] = True
    scored = propensities(Y.sum(axis=0), 30)
    top = np.argsort(-(Y * scored.inverse), axis=1, kind="stable")
    found = evaluate(top, Y, recall_ks=[12], propensities=scored)
    assert {round(value, 9) for name, value in found.items() if name[:2] != "P@"} == {100.0}


def test_the_keys_are_those_of_published_tables():
    top = np.tile(np.arange(10), (2, 1))
    Y = np.eye(2, 20)
    names = ["P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5", "R@1", "R@3", "R@5", "R@10"]
    assert list(evaluate(top, Y)) == names
    assert list(evaluate(top[:, :5], Y)) == names[:-1]
    more = [f"{name}@{k}" for name in ("PSP", "PSnDCG") for k in (1, 3, 5)]
    scored = propensities(np.ones(20), 2)
    assert list(evaluate(top, Y, propensities=scored)) == names + more


def test_the_truth_may_come_in_any_form():
    repeated = sp.csr_array(
        ([1, 1, 1, 1, 0, 1], [3, 0, 3, 2, 1, 4], [0, 5, 6]), shape=(2, 5)
    )  # unsorted, one label twice, one stored zero
    pattern = SimpleNamespace(
        indptr=np.array([0, 3, 4]), indices=np.array([0, 2, 3, 4]), shape=(2, 5)
    )
    expected = evaluate(TOP, Y_TRUE, ks=[3])
    for Y in (Y_TRUE.tolist(), sp.coo_matrix(Y_TRUE), sp.csc_array(Y_TRUE), repeated, pattern):
        assert evaluate(TOP, Y, ks=[3]) == expected
    assert repeated.indices.tolist() == [3, 0, 3, 2, 1, 4]


def test_nothing_to_measure_is_zero():
    top = np.full((2, 3), -1)
    none = np.zeros((2, 5))
    assert set(evaluate(top, none, ks=[3], propensities=weighted(*[1] * 5)).values()) == {0.0}
    assert set(evaluate(top[:0], none[:0], ks=[3]).values()) == {0.0}


@pytest.mark.parametrize(
    ("top", "Y", "sentence"),
    [
        (TOP[0], Y_TRUE, "top_labels must be a 2-D array"),
        (TOP * 0.5, Y_TRUE, "top_labels must be a 2-D array of label numbers"),
        (TOP, Y_TRUE[0], "Y_true must be a documents x labels matrix"),
        (TOP, sp.csr_array(Y_TRUE).astype(complex), "Y_true must hold numbers, but has dtype"),
        (TOP[:1], Y_TRUE, "top_labels has 1 documents, Y_true has 2"),
        (TOP + 1, Y_TRUE, "label numbers below 5"),
        (TOP - 1, Y_TRUE, "must be -1 or label numbers"),
        ([[0, 1, 2], [3, 1, 3]], Y_TRUE, "a label twice in row 1"),
        ([[0, 1, 0], [3, 1, 2]], Y_TRUE, "a label twice in row 0"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(top, Y, sentence):
    with pytest.raises(ValueError, match=sentence):
        precision_at_k(top, Y, 1)


@pytest.mark.parametrize("k", [0, 4])
def test_a_k_beyond_the_predictions_is_refused(k):
    with pytest.raises(ValueError, match=f"k is {k}, but top_labels has 3 columns"):
        ndcg_at_k(TOP, Y_TRUE, k)
    with pytest.raises(ValueError, match=f"k is {k}, but top_labels has 3 columns"):
        psp_at_k(TOP, Y_TRUE, k, weighted(1, 1, 1, 1, 1))


def test_propensities_print_their_constants():
    assert str(propensities([1, 2], 300)) == "propensities with A=0.55, B=1.5, N=300"
    assert str(propensities([1], 9, a=0.6, b=2.6)) == "propensities with A=0.6, B=2.6, N=9"


def test_propensities_of_a_tiny_training_set_are_all_one():
    assert propensities([0, 1, 2], 2).inverse.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (([-1, 2], 5), {}),
        (([[1]], 5), {}),
        (([6], 5), {}),
        (([], 0), {}),
        (([1], 5), {"a": -1}),
        (([1], 5), {"b": 0}),
        (([1], 5), {"a": np.nan}),
    ],
)
def test_propensities_without_sense_are_refused(arguments, options):
    with pytest.raises(ValueError, match=r"label_counts|n_documents|propensities"):
        propensities(*arguments, **options)


def test_propensities_of_another_label_set_are_refused():
    with pytest.raises(ValueError, match="propensities are of 4 labels, Y_true of 5"):
        psp_at_k(TOP, Y_TRUE, 1, weighted(1, 1, 1, 1))


@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_reach_agrees_with_its_plain_twin(seed):
    rng = np.random.default_rng(seed)
    n_documents, n_labels, n_clusters = rng.integers(1, 9, 3)
    matched, assigned, Y = (
        rng.random(shape) < rng.choice([0.0, 0.2, 0.5])
        for shape in [
            (n_documents, n_clusters),
            (n_labels, n_clusters),
            (n_documents, n_labels),
        ]
    )
    found = reach(sp.csr_array(matched), LabelClusters.from_matrix(sp.csr_array(assigned)), Y)
    as_sets = [[set(np.flatnonzero(row).tolist()) for row in m] for m in (matched, assigned, Y)]
    assert found == pytest.approx(oracle.reach(*as_sets))


def test_a_stored_zero_is_no_label_to_be_reached():
    Y = sp.csr_array(([1.0, 0.0], ([0, 0], [0, 1])), shape=(1, 2))
    matched = sp.csr_array([[1.0, 1.0]])
    assert reach(matched, LabelClusters.from_partition([0, 1], 2), Y) == 100
    assert reach(matched, LabelClusters.from_partition([0, 1], 2), Y.toarray()) == 100


def test_reach_is_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(5)
    matched, assigned, Y = (rng.random(shape) < 0.3 for shape in [(40, 6), (15, 6), (40, 15)])
    clusters = LabelClusters.from_matrix(sp.csr_array(assigned))
    assert reach(matched, clusters, Y, n_threads=3) == reach(matched, clusters, Y)


def test_reach_of_things_that_do_not_fit_is_refused():
    clusters = LabelClusters.from_partition([0, 1, 1], 2)
    for matched, Y in [((2, 3), (2, 3)), ((3, 2), (2, 3)), ((2, 2), (2, 4))]:
        with pytest.raises(ValueError, match=r"both need one|clusters has 3 labels and 2"):
            reach(sp.csr_array(matched), clusters, sp.csr_array(Y))
