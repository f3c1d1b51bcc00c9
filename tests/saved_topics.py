"""A model of small topics, trained once and saved, for tests that load it or spoil it.

A test module takes the fixtures by name: ``folder = saved_topics.folder``, and what it needs.
"""

import shutil
from functools import cache

import numpy as np
import pytest

from polyseme import XRLinear
from tests.small_data import topics

DATA = topics()
NAMES = [f"label {i}" for i in range(DATA.Y.shape[1])]
WORDS = [f"word {i}" for i in range(DATA.X.shape[1])]


def trained(names=True, **parameters):
    model = XRLinear(**{"max_leaf_size": 3, "beam_size": 3, **parameters})
    given = {"label_names": NAMES, "feature_names": WORDS} if names else {}
    return model.fit(DATA.X, DATA.Y, **given)


usual_model = cache(trained)


@pytest.fixture(scope="module")
def model():
    return usual_model()


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the saved model that a test may spoil."""
    return shutil.copytree(saved, tmp_path / "model")


def assert_same_answers(first, second):
    for ours, theirs in zip(
        first.predict_top_k(DATA.X_test), second.predict_top_k(DATA.X_test), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
