"""omikuji and napkinXC with the face of the others; what stands for them here is made up."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from polyseme.adapters import ExpandedLabels
from polyseme.adapters.napkinxc import NapkinTree
from polyseme.adapters.omikuji import OmikujiTrees
from polyseme.datasets.xmc_text import read_xmc_text

X = np.eye(6, dtype=np.float32)
Y = np.eye(6)[:, :4]


class FakeOmikuji:
    """Remembers what is in the file, and answers with the label of a document's feature."""

    @staticmethod
    def default_hyper_param():
        return SimpleNamespace(n_trees=3, max_depth=20)

    @classmethod
    def train_on_data(cls, path, settings, n_threads):
        model = cls()
        _, labels = read_xmc_text(path)
        model.Y = labels.to_scipy()
        model.settings, model.n_threads = settings, n_threads
        return model

    def predict(self, pairs, beam_size, top_k):
        feature, _ = pairs[0]
        return [(int(label), 0.5) for label in self.Y[[feature]].tocsr().indices[:top_k]]


class FakePLT:
    """The same with the face of napkinXC."""

    def __init__(self, folder, threads, seed, **settings):
        self.folder, self.settings = folder, settings

    def fit(self, X, Y):
        self.Y = Y

    def predict_proba(self, X, top_k):
        return [
            [(int(label), 0.5) for label in self.Y[feature].indices[:top_k]]
            for feature in X.argmax(axis=1).A1
        ]


@pytest.fixture
def fakes(monkeypatch):
    omikuji, napkinxc = ModuleType("omikuji"), ModuleType("napkinxc")
    models = ModuleType("napkinxc.models")
    omikuji.Model, models.PLT = FakeOmikuji, FakePLT
    for module in (omikuji, napkinxc, models):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("model", [OmikujiTrees(n_jobs=1), NapkinTree(n_jobs=1)])
def test_a_baseline_has_the_face_of_the_others(fakes, model):
    labels, scores = model.fit(X, Y).predict_top_k(X, 2)
    assert labels.tolist() == [[0, -1], [1, -1], [2, -1], [3, -1], [-1, -1], [-1, -1]]
    assert scores[:4].tolist() == [[0.5, 0]] * 4
    expanded = ExpandedLabels(model).fit(X, Y)
    np.testing.assert_array_equal(expanded.predict_top_k(X, 2)[0], labels)


def test_settings_reach_the_packages(fakes):
    trees = OmikujiTrees({"n_trees": 1}).fit(X, Y)
    assert trees.model_.settings == SimpleNamespace(n_trees=1, max_depth=20)
    with pytest.raises(ValueError, match="omikuji has no setting 'n_bushes'"):
        OmikujiTrees({"n_bushes": 1}).fit(X, Y)
    assert NapkinTree({"max_leaves": 7}).fit(X, Y).model_.settings == {"max_leaves": 7}


@pytest.mark.parametrize(
    ("model", "package"), [(OmikujiTrees(), "omikuji"), (NapkinTree(), "napkinxc")]
)
def test_a_package_that_is_missing_is_named(monkeypatch, model, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.models", None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        model.fit(X, Y)
