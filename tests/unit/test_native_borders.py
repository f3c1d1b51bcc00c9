"""What the native core is given is compared before it is trusted, and it lets others work."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from polyseme import _native
from polyseme.backbones.linear.weights import LinearWeights
from tests.small_problems import clusters_of, random_problem, train_slots

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


def test_weights_without_clusters_are_refused(levels):
    nothing = np.zeros(0, dtype=np.float32)
    sizes, record = np.array([9], dtype=np.uint32), np.full(9 + 64, 251, dtype=np.uint8)
    with pytest.raises(ValueError, match="there are weights, but no clusters"):
        _native.linear_level(np.zeros(1, dtype=np.int64), sizes, record, nothing, nothing, False)


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
    return train_slots(X, rng.random((60, 40)) < 0.5, clusters, threshold=0.0, max_iter=1)
