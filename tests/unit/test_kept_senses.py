"""The senses that a model keeps: of any features and backbone, on disk, in copies and updates."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import polyseme
from polyseme import XRLinear, senses
from polyseme.demo import make_corpus
from polyseme.files import kinds
from polyseme.suggestions import suggest
from polyseme.training.update import updated
from tests import toy_backbone
from tests.small_data import two_senses
from tests.unit.test_encoding import Encoding

CORPUS = make_corpus(1000, seed=0)
NEW = [i for i, labels in enumerate(CORPUS.labels) if "tank" in labels]
NEW_LABELS = [[*CORPUS.labels[i], "brand new"] for i in NEW]
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0}


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return sp.csr_array(TfidfVectorizer(sublinear_tf=True).fit_transform(CORPUS.texts), dtype="f4")


def trained(X, estimator=XRLinear, labels=CORPUS.labels, **parameters):
    return estimator(**{**SMALL, "n_jobs": 2, **parameters}).fit(X, labels)


@pytest.fixture(scope="module")
def model(X):
    return trained(X)


def assert_same_layer(one, other):
    for name, array in one.senses_.to_arrays().items():
        np.testing.assert_array_equal(other.senses_.to_arrays()[name], array, strict=True)
    assert other.senses_.describe() == one.senses_.describe()


def assert_sound(model):
    """See to it that a layer is one that could be stored."""
    stored = polyseme.files.stored_model.StoredModel(
        "m", {}, {f"senses.{k}": v for k, v in model.senses_.to_arrays().items()}, {}
    )
    senses.SenseLayer.restore(
        stored.part("senses"),
        model.senses_.describe(),
        n_labels=model.n_labels_,
        n_features=sum(model.seen_layout_),
        n_documents=model.n_documents_,
    )


def test_the_ambiguous_labels_of_the_corpus_are_shown_with_senses(model):
    assert model.senses_.n_shown > 5
    assert_sound(model)


@pytest.mark.slow
def test_senses_are_the_same_for_any_number_of_threads(model, X):
    for n_jobs in (1, 3):
        assert_same_layer(trained(X, n_jobs=n_jobs), model)


def test_senses_come_back_from_disk_as_they_were(model, X, tmp_path):
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert_same_layer(loaded, model)
    assert suggest(loaded, X[:50], 5, None) == suggest(model, X[:50], 5, None)
    assert senses.most_ambiguous(loaded, 20) == senses.most_ambiguous(model, 20)
    for label, _ in senses.most_ambiguous(model, 20):
        assert senses.senses_of(loaded, label) == senses.senses_of(model, label)


def test_copies_have_the_senses_and_clones_have_none(model):
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same_layer(twin, model)
    assert clone(model).senses == "induce"
    assert not hasattr(clone(model), "senses_")


def test_without_senses_a_model_predicts_the_same_and_is_saved_without(model, X, tmp_path):
    plain = trained(X, senses="none")
    assert plain.senses_ is None
    assert "Finding senses" in model.phase_seconds_
    assert "Finding senses" not in plain.phase_seconds_
    for one, other in zip(plain.predict_top_k(X, 5), model.predict_top_k(X, 5), strict=True):
        np.testing.assert_array_equal(one, other)
    plain.save(tmp_path / "plain")
    loaded = polyseme.load(tmp_path / "plain")
    assert (loaded.senses, loaded.senses_) == ("none", None)
    assert not any(name.startswith("senses.") for name in plain.contents().arrays)


def test_senses_that_were_changed_since_training_are_not_saved_as_if_trained_so(X, tmp_path):
    model = trained(X).set_params(senses="none")
    with pytest.raises(ValueError, match="senses was 'induce' in training and is 'none' now"):
        model.save(tmp_path / "m")


def test_an_unknown_way_to_find_senses_is_refused(X):
    with pytest.raises(ValueError, match="senses must be one of 'induce', 'none'"):
        trained(X, senses="guess")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["both", "dense"])
def test_dense_features_have_senses_too(X, form, tmp_path):
    dense = TruncatedSVD(32, random_state=0).fit_transform(X).astype(np.float32)
    given = dense if form == "dense" else (X, dense)
    model = trained(given)
    assert model.senses_.words.n_columns == 32 + (X.shape[1] if form == "both" else 0)
    assert model.senses_.n_shown > 0
    assert_sound(model)
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert_same_layer(loaded, model)
    assert suggest(loaded, given, 5, None) == suggest(model, given, 5, None)


@pytest.mark.slow
def test_a_backbone_without_weights_has_the_same_senses(model, X, tmp_path):
    with toy_backbone.installed(tmp_path) as estimator:
        assert_same_layer(trained(X, estimator), model)


def test_words_of_senses_are_what_the_ranker_sees(X, tmp_path, monkeypatch):
    monkeypatch.setitem(kinds.METHODS, "encoding", f"{Encoding.__module__}:Encoding")
    model = trained(X, Encoding)
    assert model.senses_.words.n_columns == X.shape[1] + model.clusters_.n_clusters
    model.save(tmp_path / "model")
    assert_same_layer(polyseme.load(tmp_path / "model"), model)
    assert suggest(model, X[:9], 3, None)


def test_documents_with_one_label_each_have_senses_by_what_they_say(tmp_path):
    data = two_senses(4, n_documents=600)
    model = trained(data.X, labels=data.Y)
    assert (np.diff(data.Y.indptr) == 1).all()
    assert model.senses_.n_judged > 0
    assert model.senses_.beside.n_stored == 0
    assert_sound(model)
    model.save(tmp_path / "model")
    assert_same_layer(polyseme.load(tmp_path / "model"), model)


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (np.zeros((40, 3)), np.ones((40, 2), dtype=int)),
        (np.eye(40), np.zeros((40, 2), dtype=int)),
        (np.ones((40, 1)), np.ones((40, 1), dtype=int)),
        (np.eye(1), np.ones((1, 1), dtype=int)),
        (np.ones((60, 4)), np.eye(60, 3, dtype=int) + np.eye(60, 3, -30, dtype=int)),
    ],
    ids=["no features", "no labels", "one feature", "one document", "all alike"],
)
def test_documents_of_hardly_anything_are_no_trouble(X, Y, tmp_path):
    model = XRLinear(verbose=0, n_jobs=1).fit(X, Y)
    assert_sound(model)
    model.save(tmp_path / "model")
    assert_same_layer(polyseme.load(tmp_path / "model"), model)
    assert suggest(model, X, 2, None) is not None


# Updates


@pytest.fixture(scope="module")
def grown(model, X):
    names = model.label_names_
    return (
        *updated(model, X, CORPUS.labels, X[NEW], NEW_LABELS, label_names=["brand new"]),
        {names.index(name) for i in NEW for name in CORPUS.labels[i]},
    )


def test_labels_without_new_documents_keep_their_senses_bit_for_bit(model, grown):
    after, _, changed = grown
    old, new = model.senses_, after.senses_
    n_kept = 0
    for i, label in enumerate(old.labels.tolist()):
        if label in changed:
            continue
        n_kept += 1
        first = old.senses_of(label, at_least=0)
        second = new.senses_of(label, at_least=0)
        assert len(first) == len(second)
        assert new.probability_of(label) == old.probabilities[i]
        np.testing.assert_array_equal(
            new.counts[second.start : second.stop], old.counts[first.start : first.stop]
        )
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(new.typical[other], old.typical[one])
            for rows in ("words", "beside"):
                for ours, theirs in zip(
                    getattr(old, rows).row(one), getattr(new, rows).row(other), strict=True
                ):
                    np.testing.assert_array_equal(ours, theirs)
    assert n_kept > 5
    assert_sound(after)


def test_labels_with_new_documents_and_new_ones_are_looked_at_anew(model, grown, X):
    after, update, changed = grown
    new_label = after.n_labels_ - 1
    assert new_label in after.senses_.labels
    assert update.n_judged == np.isin(after.senses_.labels, [*changed, new_label]).sum()
    assert "Finding senses" in update.seconds
    both = changed & set(model.senses_.labels.tolist())
    for label in both:
        n_before, n_after = (
            layer.counts[list(layer.senses_of(label, at_least=0))].sum()
            for layer in (model.senses_, after.senses_)
        )
        assert n_after > n_before
    assert both
    assert model.senses_.n_judged < after.senses_.n_judged
    assert suggest(after, X[:9], 3, None)


def test_an_update_keeps_the_calibration_of_the_training(model, grown):
    assert grown[0].senses_.describe() == model.senses_.describe()


def test_an_updated_model_is_saved_with_its_senses_for_any_number_of_threads(X, grown, tmp_path):
    after, *_ = grown
    after.save(tmp_path / "model")
    assert_same_layer(polyseme.load(tmp_path / "model"), after)
    alone = trained(X, n_jobs=1)
    again, _ = updated(alone, X, CORPUS.labels, X[NEW], NEW_LABELS, label_names=["brand new"])
    assert_same_layer(again, after)


def test_a_model_without_senses_stays_without(X):
    model = trained(X, senses="none")
    after, update = updated(model, X, CORPUS.labels, X[:30], CORPUS.labels[:30])
    assert (after.senses_, update.n_judged) == (None, 0)
    assert "Finding senses" not in update.seconds


def test_an_update_that_is_interrupted_among_senses_leaves_the_model_as_it_was(model, X):
    class Stopped(XRLinear):
        def find_senses(self, *_, **__):
            raise KeyboardInterrupt

    before = vars(model).copy()
    stopped = copy.copy(model)
    stopped.__class__ = Stopped
    with pytest.raises(KeyboardInterrupt):
        updated(stopped, X, CORPUS.labels, X[:9], CORPUS.labels[:9])
    assert vars(model) == before
