"""Models around trees of every kind: trained, saved, updated, estimated, of texts."""

import numpy as np
import pytest

import polyseme
from polyseme import LabelHierarchy, TextModel, XRLinear, estimate_training
from polyseme.demo import make_corpus
from polyseme.partition.trees.registry import TREES
from polyseme.text import TextFeatures
from polyseme.text.estimate import estimate_text_training
from polyseme.text.problem import Pairs
from polyseme.update import updated
from tests.small_data import topics

DATA = topics()
N_LABELS = DATA.Y.shape[1]
NAMES = [f"topic {label}" for label in range(N_LABELS)]
# Uneven on purpose: groups of several sizes at several depths, and labels at an inner node.
GROUPS = [list(range(9)), [[9, 10], [[11], [12, 13]]], {"heading": [14], 15: [16, 17]}, [18, 19]]
GROUPS[-1] += list(range(20, N_LABELS))


def named(group):
    if isinstance(group, dict):
        return {name if name == "heading" else NAMES[name]: named(g) for name, g in group.items()}
    return [named(item) if isinstance(item, list | dict) else NAMES[item] for item in group]


def small(**parameters):
    usual = {"max_leaf_size": 4, "branching": 5, "senses": "none", "verbose": 0, "n_jobs": 2}
    return XRLinear(**usual | parameters)


def plain(**parameters):
    return small(copies=1, rounds=0, ordering="product", **parameters)


def first_places(model):
    top, _ = model.predict_top_k(DATA.X_test, 1)
    rows = np.arange(len(top))
    return float(np.mean(DATA.Y_test.toarray()[rows, top[:, 0]]))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("copies", [1, 2])
def test_a_model_of_every_tree_finds_labels_and_is_saved_whole(tree, copies, tmp_path):
    model = small(tree=tree, copies=copies, rounds=copies - 1).fit(DATA.X, DATA.Y)
    assert first_places(model) > 0.85
    assert model.clusters_.n_clusters == model.tree_.n_clusters
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    assert again.tree == tree
    assert again.tree_ == model.tree_
    for one, other in zip(
        model.predict_top_k(DATA.X_test, 5), again.predict_top_k(DATA.X_test, 5), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_the_model_of_a_tree_does_not_depend_on_the_number_of_threads(tree):
    one, many = (small(tree=tree, n_jobs=n).fit(DATA.X, DATA.Y) for n in (1, 3))
    found, expected = many.contents().arrays, one.contents().arrays
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("settings", [{"copies": 1, "rounds": 0}, {"copies": 3}, {"rounds": 2}])
def test_a_hierarchy_takes_the_place_of_the_tree(settings):
    hierarchy = LabelHierarchy.from_nested(named(GROUPS))
    model = small(**settings).fit(DATA.X, DATA.Y, label_names=NAMES, hierarchy=hierarchy)
    tree, clusters = LabelHierarchy.from_nested(GROUPS).tree_of(N_LABELS)
    assert model.tree_ == tree
    assert first_places(model) > 0.85
    if settings.get("rounds") == 0:
        np.testing.assert_array_equal(model.clusters_.labels, clusters.labels)
        nested = model.tree_.to_nested(model.clusters_, model.label_names_)
        assert nested == tree.to_nested(clusters, NAMES)


def test_a_label_in_two_groups_is_trained_in_both_and_found():
    hierarchy = LabelHierarchy.from_nested([list(range(16)), list(range(12, N_LABELS))])
    model = small(copies=1, rounds=0).fit(DATA.X, DATA.Y, hierarchy=hierarchy)
    assert model.clusters_.n_slots == N_LABELS + 4
    assert first_places(model) > 0.85


def test_a_model_of_a_hierarchy_is_saved_and_updated(tmp_path):
    hierarchy = LabelHierarchy.from_nested(GROUPS)
    model = small().fit(DATA.X, DATA.Y, hierarchy=hierarchy)
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.tree_ == model.tree_
    newer, _ = updated(loaded, DATA.X, DATA.Y, DATA.X_test, DATA.Y_test)
    assert newer.tree_ == model.tree_


@pytest.mark.parametrize("wrong", [[["a"], ["b"]], "tree.json", LabelHierarchy])
def test_what_is_no_hierarchy_is_refused_and_the_model_stays(wrong):
    model = small().fit(DATA.X, DATA.Y)
    before = model.clusters_
    for refused in (
        lambda: model.fit(DATA.X, DATA.Y, hierarchy=wrong),
        lambda: estimate_training(plain(), DATA.X, DATA.Y, hierarchy=wrong),
        lambda: TextModel(verbose=0).fit(["a b"], [["c"]], hierarchy=wrong),
    ):
        with pytest.raises(ValueError, match=r"must be a polyseme\.LabelHierarchy, not"):
            refused()
    with pytest.raises(ValueError, match="the hierarchy has no place for"):
        model.fit(DATA.X, DATA.Y, hierarchy=LabelHierarchy.from_nested([0, 1]))
    assert model.clusters_ is before


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_every_tree_has_an_estimate(tree):
    found = estimate_training(plain(tree=tree), DATA.X, DATA.Y)
    assert found.total_seconds.about > 0
    assert found.model_bytes.about > 0


@pytest.mark.slow
def test_a_hierarchy_has_an_estimate():
    hierarchy = LabelHierarchy.from_nested(named(GROUPS))
    found = estimate_training(plain(), DATA.X, DATA.Y, label_names=NAMES, hierarchy=hierarchy)
    assert found.total_seconds.about > 0
    with pytest.raises(ValueError, match="no place for 24 labels, such as 0, 1, 2"):
        estimate_training(plain(), DATA.X, DATA.Y, hierarchy=hierarchy)


@pytest.mark.slow
def test_texts_may_have_a_hierarchy_of_uris_or_of_names():
    corpus = make_corpus(300, seed=0)
    names = sorted({label for labels in corpus.labels for label in labels})
    uri_of = {name: f"http://example.org/{name}" for name in names}
    labels = [[uri_of[label] for label in row] for row in corpus.labels]
    name_of = {uri: name for name, uri in uri_of.items()}
    groups = [names[::2], [names[1::4], names[3::4]]]
    of_uris = [[uri_of[name] for name in groups[0]]]
    of_uris.append([[uri_of[name] for name in group] for group in groups[1]])
    model = TextModel(TextFeatures(ngrams=(1, 1)), plain(), held_out=0, verbose=0)
    trees = []
    for given in (groups, of_uris):
        hierarchy = LabelHierarchy.from_nested(given)
        model.fit(corpus.texts, labels, label_names=name_of, hierarchy=hierarchy)
        trees.append(model.classifier_.tree_)
        found = estimate_text_training(
            model, Pairs(corpus.texts, labels), label_names=name_of, hierarchy=hierarchy
        )
        assert found.total_seconds.about > 0
    assert trees[0] == trees[1]
    assert trees[0].n_clusters == 3
    assert model.suggest(corpus.texts[:1])[0]
