import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme.experiments import label_fusion
from polyseme.experiments.label_fusion import (
    MODES,
    balanced_groups,
    fuse_columns,
    fuse_half,
    fused_names,
    group_labels,
)
from polyseme.inputs.sparse_rows import SparsePattern
from tests.examples import examples
from tests.small_data import topics


def one_document_a_label(n_labels, n_topics):
    """Labels of a topic share all words; label i is of topic i % n_topics."""
    rng = np.random.default_rng(0)
    X = np.zeros((n_labels, n_topics * 3), dtype=np.float32)
    for label in range(n_labels):
        topic = label % n_topics
        X[label, topic * 3 : topic * 3 + 3] = 1 + 0.1 * rng.random(3)
    return sp.csr_array(X), sp.csr_array(np.eye(n_labels, dtype=np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@given(n_labels=st.integers(1, 90), n_fused=st.integers(1, 12), seed=st.integers(0, 3))
@examples(15)
def test_all_fused_labels_but_one_have_exactly_so_many_parts(mode, n_labels, n_fused, seed):
    data = topics(n_labels, n_documents=n_labels)
    numbers = group_labels(data.X, data.Y, n_fused, mode, seed=seed)
    n_parts = np.sort(np.bincount(numbers))[::-1]
    assert len(n_parts) == -(-n_labels // n_fused)
    assert (n_parts[:-1] == n_fused).all()
    assert n_parts[-1] == n_labels - n_fused * (len(n_parts) - 1)


@pytest.mark.parametrize("mode", MODES)
def test_the_seed_alone_decides(mode):
    data = topics(200)
    first = group_labels(data.X, data.Y, 3, mode, seed=1)
    assert np.array_equal(first, group_labels(data.X, data.Y, 3, mode, seed=1))
    assert not np.array_equal(first, group_labels(data.X, data.Y, 3, mode, seed=2))


def test_easy_fuses_labels_that_are_alike():
    X, Y = one_document_a_label(24, n_topics=8)
    numbers = group_labels(X, Y, 3, "easy")
    for fused in range(8):
        assert len({label % 8 for label in np.flatnonzero(numbers == fused)}) == 1


def test_medium_fuses_at_random_within_groups_of_labels_that_are_alike():
    X, Y = one_document_a_label(256, n_topics=2)
    numbers = group_labels(X, Y, 4, "medium")  # two groups of 128
    groups = [np.flatnonzero(numbers == fused) for fused in range(64)]
    assert all(len(set(group % 2)) == 1 for group in groups)
    assert any(np.ptp(group) > 64 for group in groups)


def test_hard_does_not_look_at_the_documents():
    X, Y = one_document_a_label(60, n_topics=6)
    assert np.array_equal(group_labels(X, Y, 5, "hard"), group_labels(X * 0, Y * 0, 5, "hard"))


def test_modes_are_harder_in_their_order():
    X, Y = one_document_a_label(1024, n_topics=16)
    alike = {}
    for mode in MODES:
        numbers = group_labels(X, Y, 4, mode)
        topic_of = np.arange(1024)[np.argsort(numbers, kind="stable")].reshape(-1, 4) % 16
        alike[mode] = np.mean(topic_of[:, :1] == topic_of[:, 1:])
    assert alike["easy"] > 0.95
    assert alike["easy"] > alike["medium"] > 2 * alike["hard"]


def test_many_labels_are_split_as_well_as_few():
    # More labels than are compared all with all.
    X, _ = one_document_a_label(800, n_topics=4)
    groups = balanced_groups(X, 200, np.random.default_rng(0))
    assert [len(group) for group in groups] == [200] * 4
    assert all(np.bincount(group % 4, minlength=4).max() == 200 for group in groups)


def test_labels_without_documents_are_fused_as_well():
    data = topics(20)
    Y = data.Y.toarray()
    Y[:, 5:9] = 0
    numbers = group_labels(data.X, sp.csr_array(Y), 4, "easy")
    assert np.bincount(numbers).tolist() == [4] * 5


def test_a_document_has_the_fused_label_if_it_has_any_part():
    Y = sp.csr_array(np.array([[1, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]]))
    fused = fuse_columns(Y, [1, 0, 1, 0])
    assert fused.toarray().tolist() == [[1, 1], [1, 1], [0, 0]]
    assert fused.nnz == 4


def test_fusing_leaves_the_matrix_as_it_was():
    Y = SparsePattern.from_scipy(topics(12).Y).to_scipy()  # whose arrays need no conversion
    before = Y.toarray()
    fuse_columns(Y, np.arange(12) // 2)
    assert np.array_equal(before, Y.toarray())


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@given(n_parts=st.integers(2, 4), least=st.integers(1, 14), seed=st.integers(0, 3))
@examples(15)
def test_half_of_the_frequent_labels_are_fused_and_the_others_keep_their_order(
    mode, n_parts, least, seed
):
    data = topics(50, n_documents=300)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    most = 16
    numbers, n_fused = fuse_half(data.X, data.Y, n_parts, mode, least=least, most=most, seed=seed)
    fused, stay = np.flatnonzero(numbers < n_fused), np.flatnonzero(numbers >= n_fused)
    assert ((counts[fused] >= least) & (counts[fused] <= most)).all()
    assert n_fused == np.count_nonzero((counts >= least) & (counts <= most)) // 2 // n_parts
    assert np.bincount(numbers[fused], minlength=n_fused).tolist() == [n_parts] * n_fused
    assert numbers[stay].tolist() == list(range(n_fused, n_fused + len(stay)))


def test_each_mode_fuses_the_same_half_and_another_seed_another():
    data = topics(50, n_documents=300)
    drawn = {}
    for mode in MODES:
        numbers, n_fused = fuse_half(data.X, data.Y, 2, mode, least=8, seed=1)
        drawn[mode] = set(np.flatnonzero(numbers < n_fused))
    assert drawn["easy"] == drawn["medium"] == drawn["hard"]
    numbers, n_fused = fuse_half(data.X, data.Y, 2, "hard", least=8, seed=2)
    assert set(np.flatnonzero(numbers < n_fused)) != drawn["hard"]


def test_where_no_label_is_frequent_enough_none_is_fused():
    data = topics(12)
    numbers, n_fused = fuse_half(data.X, data.Y, 2, "easy", least=1000)
    assert n_fused == 0
    assert numbers.tolist() == list(range(12))


def test_names_are_those_of_the_parts():
    names = ["tanks", "belts", "scarves"]
    assert fused_names(names, [1, 0, 1]) == [["belts"], ["tanks", "scarves"]]
    assert fused_names(None, [0, 0]) == [["label 0", "label 1"]]


def test_what_cannot_be_fused_is_refused():
    data = topics(6)
    with pytest.raises(ValueError, match="mode must be one of easy, medium, hard, not 'soft'"):
        group_labels(data.X, data.Y, 2, "soft")
    with pytest.raises(ValueError, match="n_fused must be at least 1, not 0"):
        group_labels(data.X, data.Y, 0, "easy")
    with pytest.raises(ValueError, match="Y has 6 labels, but 5 were fused"):
        fuse_columns(data.Y, np.zeros(5))


def test_of_the_features_of_a_label_the_largest_count(monkeypatch):
    monkeypatch.setattr(label_fusion, "MAX_FEATURES", 2)
    X, Y = np.array([[3.0, 1.0, -4.0, 2.0]], dtype=np.float32), np.ones((1, 1), dtype=int)
    found = label_fusion._label_features(sp.csr_array(X), sp.csr_array(Y)).toarray()
    np.testing.assert_allclose(found, [[0.6, 0, -0.8, 0]], rtol=1e-6)
