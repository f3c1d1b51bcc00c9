"""Every check at the border of the native core refuses what it is there for, and says so."""

from types import SimpleNamespace

import numpy as np
import pytest

from polyseme import _native
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.machine.run import Run
from tests.small_problems import pattern, sparse


def level(starts=(0, 1), sizes=(0, 0), n_bytes=64, scales=(), bias=(0.0,), n_features=2):
    """Return a level without weights; one cluster with one slot unless said otherwise."""
    return _native.linear_level(
        np.array(starts, dtype=np.int64),
        np.array(sizes, dtype=np.uint32),
        np.zeros(n_bytes, dtype=np.uint8),
        np.array(scales, dtype=np.float32),
        np.array(bias, dtype=np.float32),
        n_features,
        False,
    )


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"sizes": (), "n_features": 0}, "there must be at least one feature"),
        ({"n_features": 3}, "the records do not fit the number of features"),
        ({"scales": (1.0, 1.0)}, "scales and bias differ in length"),
        ({"starts": ()}, "slot starts do not fit the bias"),
        ({"starts": (1, 1)}, "slot starts do not fit the bias"),
        ({"starts": (0, 2)}, "slot starts do not fit the bias"),
        ({"starts": (0, 2, 1)}, "slot starts do not fit the bias"),
        ({"n_bytes": 63}, "the records do not fit their sizes"),
        ({"sizes": (0, 1)}, "the records do not fit their sizes"),
    ],
)
def test_a_level_whose_arrays_do_not_fit_is_refused(arrays, message):
    level()
    with pytest.raises(ValueError, match=message):
        level(**arrays)


@pytest.mark.parametrize(
    ("cluster", "slot", "feature", "message"),
    [
        (-1, 0, 0, "there is no such cluster"),
        (1, 0, 0, "there is no such cluster"),
        (0, -1, 0, "there is no such slot in the cluster"),
        (0, 1, 0, "there is no such slot in the cluster"),
        (0, 0, -1, "there is no such feature"),
        (0, 0, 2, "there is no such feature"),
    ],
)
def test_weights_of_what_is_not_there_are_refused(cluster, slot, feature, message):
    level().slot_weights(0, 0, np.array([1], dtype=np.int32))
    with pytest.raises(ValueError, match=message):
        level().slot_weights(cluster, slot, np.array([feature], dtype=np.int32))


@pytest.mark.parametrize(
    ("parts", "part_of_cluster", "message"),
    [
        ([], [], "there must be at least one part"),
        ([level()], [1], "part_of_cluster names a part that is not there"),
        ([level()], [-1], "part_of_cluster names a part that is not there"),
        ([level()], [0, 0], "a part must have either all clusters or those that come from it"),
        ([level(), level(sizes=(0,), n_features=1)], [0, 1], "the parts differ in features"),
        ([level(), level(scales=(1.0,))], [0, 1], "differ in the kind of their weights"),
    ],
)
def test_parts_that_cannot_be_joined_are_refused(parts, part_of_cluster, message):
    with pytest.raises(ValueError, match=message):
        _native.join_levels(parts, np.array(part_of_cluster, dtype=np.int32))


def test_a_predictor_refuses_what_it_cannot_do():
    X, labels = sparse(np.ones((1, 2))), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="a ranker needs the labels of its slots"):
        _native.Predictor([], level(), None, 1, 2, "none")
    ranking = _native.Predictor([], level(), labels, 1, 2, "none")
    matching = _native.Predictor([level()], None, None, 0, 2, "none")
    for beam_size, k in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="beam_size and k must be at least 1"):
            ranking.top_k(X, beam_size, k, "mean", 1, None)
    with pytest.raises(ValueError, match="beam_size must be at least 1"):
        matching.match(X, 0, 1, None)
    with pytest.raises(ValueError, match="beam_size must be at least 1"):
        ranking.all_scores(X, 0, "mean", 1, None)
    for call in (
        lambda: matching.top_k(X, 1, 1, "mean", 1, None),
        lambda: matching.all_scores(X, 1, "mean", 1, None),
    ):
        with pytest.raises(ValueError, match="this predictor has no ranker"):
            call()


@pytest.mark.parametrize(
    ("starts", "columns", "values"),
    [
        ([0, 1], [2], [1.0]),
        ([0, 1], [-1], [1.0]),
        ([0, 2], [1, 0], [1.0, 1.0]),
        ([0, 2], [0, 0], [1.0, 1.0]),
        ([0, 1], [0], [np.nan]),
        ([0, 1], [0], [np.inf]),
        ([0, 2], [0], [1.0]),
        ([1, 1], [0], [1.0]),
        ([0, 1], [0], [1.0, 1.0]),
    ],
)
def test_a_single_row_that_is_not_plain_is_declined(starts, columns, values):
    ranking = _native.Predictor([], level(), np.zeros(1, dtype=np.int32), 1, 2, "none")

    def best(starts, columns, values):
        row = np.array(starts, dtype=np.int32), np.array(columns, dtype=np.int32)
        return ranking.top_k_of_row(*row, np.array(values, dtype=np.float32), 1, 1, "mean")

    assert best([0, 2], [0, 1], [1.0, 1.0]) is not None
    assert best(starts, columns, values) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_rows": pattern(np.ones((4, 2)))}, "label_rows and X differ in documents"),
        ({"max_features": 0}, "a label needs a feature and a document at least"),
        ({"max_documents": 0}, "a label needs a feature and a document at least"),
        ({"sample_size": 1}, "sample_size must be at least 2"),
        ({"fan_outs": [2, 0]}, "a fan-out must be at least 1"),
        ({"fan_outs": [2**16, 2**16]}, "the tree has too many leaves"),
    ],
)
def test_a_tree_that_cannot_be_made_is_refused(changes, message):
    options = {
        "label_rows": pattern(np.ones((4, 3))),
        "fan_outs": [2],
        "max_features": 2,
        "max_documents": 2,
        "sample_size": 2,
        "max_iter": 2,
        "seed": 0,
        "n_threads": 1,
        "progress": None,
    }
    _native.partition_labels(sparse(np.ones((3, 2))), **options)
    with pytest.raises(ValueError, match=message):
        _native.partition_labels(sparse(np.ones((3, 2))), **options | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": [2] * 5}, "co_occurrence: counts and scores differ in length"),
        ({"counts": [2, 2, 2, 2, 2, 0]}, "counts must be positive and scores finite"),
        ({"co_occurrence": sparse([[1, 1], [1, 1], [1, np.inf]])}, "positive and scores finite"),
        ({"present": pattern(np.ones((3, 3)))}, "present and matched differ in clusters"),
        ({"matched": pattern(np.ones((2, 3)))}, "present and matched differ in clusters"),
        ({"matched": pattern(np.ones((3, 2)))}, "label_rows and matched differ in documents"),
        ({"present": pattern(np.ones((2, 2)))}, "must have one row for each label"),
        ({"label_rows": pattern(np.ones((2, 2)))}, "must have one row for each label"),
        ({"present": pattern([[1, 1], [1, 1], [0, 0]])}, "present: a label is in no cluster"),
        ({"copies": 0}, "copies must be at least 1"),
        ({"max_cluster_size": 0}, "max_cluster_size is too small"),
        ({"max_cluster_size": 1}, "max_cluster_size is too small"),
    ],
)
@pytest.mark.parametrize("method", ["closed_form", "coverage", "capped", "adaptive"])
def test_an_assignment_whose_sizes_do_not_fit_is_refused(method, changes, message):
    given = {
        "co_occurrence": sparse(np.ones((3, 2))),
        "counts": [2] * 6,
        "present": pattern(np.ones((3, 2))),
        "label_rows": pattern(np.ones((3, 2))),
        "matched": pattern(np.ones((2, 2))),
        "copies": 1,
        "max_cluster_size": 2,
        "n_threads": 1,
    }

    def choose(given):
        counts = np.array(given["counts"], dtype=np.int32)
        return getattr(_native, f"choose_{method}")(**given | {"counts": counts})

    choose(given)
    with pytest.raises(ValueError, match=message):
        choose(given | changes)


def test_counts_of_what_does_not_fit_are_refused():
    def ones(*shape):
        return pattern(np.ones(shape))

    with pytest.raises(ValueError, match="label_rows and matched differ in documents"):
        _native.count_co_occurrence(ones(3, 2), sparse(np.ones((3, 2))), 1, None)
    for sizes, message in (
        ((ones(3, 2), ones(3, 2), ones(3, 2)), "label_rows and matched differ in documents"),
        ((ones(3, 2), ones(2, 2), ones(3, 3)), "clusters and matched differ in clusters"),
        ((ones(3, 2), ones(2, 2), ones(2, 2)), "must have one row for each label"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.count_reached(*sizes, 1)


def test_a_training_of_too_many_slots_or_another_number_of_bits_is_refused():
    def train(n_slots, **changes):
        how = SimpleNamespace(**vars(LinearTraining()) | changes)
        patterns = (pattern(np.ones(shape)) for shape in ((1, 1), (1, n_slots), (n_slots, 1)))
        return _native.train_clusters(
            sparse(np.ones((1, 1))),
            *patterns,
            how,
            Run(),
            own_documents=None,
            cluster_numbers=None,
        )

    train(1)
    with pytest.raises(ValueError, match="weight_bits must be 8 or 32"):
        train(1, weight_bits=7)
    with pytest.raises(ValueError, match="a cluster may have 65536 slots at most"):
        train(65537)


def test_documents_of_different_lengths_or_with_too_many_features_are_refused():
    def match(sparse_part, dense_part):
        matching = _native.Predictor([level()], None, None, 0, 2, "none")
        matching.match(SimpleNamespace(sparse=sparse_part, dense=dense_part), 1, 1, None)

    block = np.ones((3, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="X: sparse and dense features differ in rows"):
        match(sparse(np.ones((2, 1))), block)
    one = sparse(np.ones((3, 1)))
    wide = SimpleNamespace(
        starts=one.starts, columns=one.columns, values=one.values, n_columns=2**31
    )
    with pytest.raises(ValueError, match="X has too many features"):
        match(wide, None)


def test_features_and_labels_of_different_lengths_are_not_written():
    with pytest.raises(ValueError, match="X and Y differ in their number of rows"):
        _native.format_text(sparse(np.ones((2, 2))), pattern(np.ones((3, 2))))
