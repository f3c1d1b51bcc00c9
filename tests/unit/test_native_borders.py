"""What the native core is given is compared before it is trusted, and it lets others work."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear, _native
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from tests.model_folders import edit_manifest, manifest_of
from tests.small_data import topics
from tests.small_problems import clusters_of, random_problem, sparse, train_slots

N_FEATURES = 15


@pytest.fixture(scope="module")
def levels():
    """A root with two children, and a ranker with two slots below each."""
    X, Y = random_problem(np.random.default_rng(0), n_features=N_FEATURES, n_labels=4)
    root = train_slots(X, Y, clusters_of([0, 1], n_labels=4))
    return root.level, train_slots(X, Y, clusters_of([0, 1], [2, 3], n_labels=4)).level


LABELS = np.arange(4, dtype=np.int32)


def test_a_predictor_takes_levels_that_fit(levels):
    root, ranker = levels
    _native.Predictor([root], ranker, LABELS, 4, N_FEATURES, "none")


@pytest.mark.parametrize(
    ("labels", "n_labels", "n_features", "message"),
    [
        (LABELS, 4, 200, "a level does not fit the number of features"),
        (LABELS, 4, 3, "a level does not fit the number of features"),
        (LABELS[:3], 4, N_FEATURES, "slot labels do not fit the ranker"),
        (LABELS, 3, N_FEATURES, "a label number is out of range"),
        (LABELS, 2**31 - 1, N_FEATURES, "the number of labels does not fit the slots"),
        (LABELS, -1, N_FEATURES, "the number of labels does not fit the slots"),
        (LABELS - 1, 4, N_FEATURES, "a label number is out of range"),
    ],
)
def test_a_predictor_refuses_sizes_that_do_not_fit(levels, labels, n_labels, n_features, message):
    root, ranker = levels
    with pytest.raises(ValueError, match=message):
        _native.Predictor([root], ranker, labels, n_labels, n_features, "none")


def test_a_predictor_refuses_levels_that_do_not_fit_each_other(levels):
    root, ranker = levels
    for matcher in ([root, root], [ranker]):
        with pytest.raises(ValueError, match="a level does not fit the one above it"):
            _native.Predictor(matcher, None, None, 0, N_FEATURES, "none")
    with pytest.raises(ValueError, match="the ranker does not fit the matcher"):
        _native.Predictor([root], root, LABELS[:2], 2, N_FEATURES, "none")
    X, Y = random_problem(np.random.default_rng(0), n_features=20, n_labels=4)
    wide = train_slots(X, Y, clusters_of([0, 1], [2, 3], n_labels=4)).level
    with pytest.raises(ValueError, match="the ranker does not fit the number of features"):
        _native.Predictor([root], wide, LABELS, 4, N_FEATURES, "none")


@pytest.mark.parametrize("n_features", [3, 200])
def test_a_model_whose_number_of_features_was_edited_is_refused(tmp_path, n_features):
    data = topics(n_labels=8, n_documents=60)
    XRLinear(max_leaf_size=4, verbose=False).fit(data.X, data.Y).save(tmp_path / "m")
    assert data.X.shape[1] not in (3, 200)
    description = manifest_of(tmp_path / "m")["description"]
    edit_manifest(tmp_path / "m", description=description | {"n_sparse": n_features})
    with pytest.raises(ValueError, match="damaged"):
        polyseme.load(tmp_path / "m")


def test_documents_that_do_not_fit_a_level_are_refused(levels):
    root, ranker = levels
    wide = sparse(np.ones((2, 200)))
    matched = sparse(np.ones((2, 2)))
    with pytest.raises(ValueError, match="X and the level differ in features"):
        _native.score_matched(ranker, wide, matched, "none", 1, None)
    fitting = sparse(np.ones((2, N_FEATURES)))
    with pytest.raises(ValueError, match="matched and the level differ in clusters"):
        _native.score_matched(root, fitting, matched, "none", 1, None)
    with pytest.raises(ValueError, match="matched and X differ in rows"):
        _native.score_matched(ranker, fitting, sparse(np.ones((3, 2))), "none", 1, None)
    predictor = _native.Predictor([root], ranker, LABELS, 4, N_FEATURES, "none")
    for call in (
        lambda X: predictor.match(X, 1, 1, None),
        lambda X: predictor.top_k(X, 1, 1, "mean", 1, None),
        lambda X: predictor.all_scores(X, 1, "mean", 1, None),
    ):
        call(fitting)
        with pytest.raises(ValueError, match="X and the model differ in features"):
            call(wide)


STARTS, COLUMNS = np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32)
VALUES = np.ones(2, dtype=np.float32)


@pytest.mark.parametrize(
    ("starts", "columns", "values", "message"),
    [
        (STARTS[:0], COLUMNS, VALUES, "X: row starts must begin with 0"),
        (STARTS + 1, COLUMNS, VALUES, "X: row starts must begin with 0"),
        (np.array([0, 3, 2]), COLUMNS, VALUES, "X: row starts must not decrease"),
        (STARTS * 2, COLUMNS, VALUES, "X: the last row start must equal the number of entries"),
        (STARTS, COLUMNS + 1, VALUES, "X: a column number is out of range"),
        (STARTS, COLUMNS - 1, VALUES, "X: a column number is out of range"),
        (STARTS, COLUMNS, VALUES[:1], "X: values and columns differ in length"),
    ],
)
def test_rows_with_a_damaged_structure_are_refused_by_name(starts, columns, values, message):
    Y = SparsePattern(STARTS, COLUMNS, 2)
    with pytest.raises(ValueError, match=message):
        _native.format_text(SparseRows(starts, columns, values, 2), Y)


@pytest.mark.parametrize(
    "rows",
    [
        SparseRows(STARTS.astype(np.int32), COLUMNS, VALUES, 2),
        SparseRows(STARTS, COLUMNS.astype(np.int64), VALUES, 2),
        SparseRows(STARTS, COLUMNS, VALUES.astype(np.float64), 2),
        SparseRows(STARTS, COLUMNS, np.ones(4, dtype=np.float32)[::2], 2),
        SparsePattern(STARTS, COLUMNS, 2),
        None,
        (STARTS, COLUMNS, VALUES, 2),
    ],
)
def test_rows_of_another_type_are_refused_rather_than_copied(rows):
    with pytest.raises(TypeError):
        _native.format_text(rows, SparsePattern(STARTS, COLUMNS, 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training_rows": np.ones((2, 4))}, "training_rows and X differ in documents"),
        ({"training_rows": np.ones((3, 3))}, "slots and training_rows differ in clusters"),
        ({"positives": np.ones((5, 4))}, "positives and X differ in documents"),
        ({"positives": np.ones((6, 3))}, "slots and positives differ in targets"),
        ({"own_documents": np.ones((2, 4))}, "own_documents and X differ in documents"),
        ({"own_documents": np.ones((1, 3))}, "own_documents and slots differ in clusters"),
        ({"cluster_numbers": [0]}, "cluster_numbers and slots differ in clusters"),
        ({"cluster_numbers": [0, -1]}, "a cluster number is negative"),
    ],
)
def test_a_training_whose_sizes_do_not_fit_is_refused(changes, message):
    arrays = {
        "X": np.ones((3, 2)),
        "training_rows": np.ones((2, 3)),
        "slots": np.ones((2, 5)),
        "positives": np.ones((5, 3)),
    }
    options = {"own_documents": None, "cluster_numbers": None}

    def train(**given):
        sizes = arrays | given
        matrices = {name: sparse(sizes[name]) for name in arrays}
        own, numbers = given.get("own_documents"), given.get("cluster_numbers")
        return _native.train_clusters(
            *matrices.values(),
            LinearTraining(),
            Run(),
            own_documents=None if own is None else sparse(own),
            cluster_numbers=None if numbers is None else np.array(numbers, dtype=np.int32),
        )

    train(**options)
    with pytest.raises(ValueError, match=message):
        train(**changes)


def test_weights_without_clusters_are_refused(levels):
    nothing = np.zeros(0, dtype=np.float32)
    sizes, record = np.array([9], dtype=np.uint32), np.full(9 + 64, 251, dtype=np.uint8)
    with pytest.raises(ValueError, match="there are weights, but no clusters"):
        _native.linear_level(
            np.zeros(1, dtype=np.int64), sizes, record, nothing, nothing, 1, False
        )


@pytest.mark.parametrize("of", ["n_weights", "all_weights"])
def test_other_threads_run_while_all_weights_are_looked_at(of):
    weights = many_weights()
    look = {"n_weights": lambda: weights.n_weights, "all_weights": weights.to_rows}[of]
    may_go, went = threading.Lock(), threading.Event()
    may_go.acquire()

    def other():
        with may_go:
            went.set()

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    try:
        sys.setswitchinterval(1000)  # from here on, only who releases the GIL lets others run
        thread.start()
        may_go.release()
        for _ in range(200):
            look()
            if went.is_set():
                break
        assert went.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def many_weights() -> LinearWeights:
    rng = np.random.default_rng(0)
    X = rng.random((60, 2000), dtype=np.float32)
    clusters = clusters_of(*([range(40)] * 10), n_labels=40)
    return train_slots(X, rng.random((60, 40)) < 0.5, clusters, min_weight=0.0, max_iter=1)
