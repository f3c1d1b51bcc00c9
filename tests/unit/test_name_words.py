"""What stands of a label's name in a document: which words count, and what becomes of it."""

import pickle
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.explain import explain
from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.ordering.name_words import NameWords
from polyseme.training.update import updated
from tests.examples import examples
from tests.model_folders import replace_weights, weights_of
from tests.oracles.name_words import found_in
from tests.unit.test_ordered_predictions import part_by_part, random_words

SMALL = {"max_leaf_size": 10, "branching": 4, "copies": 2, "senses": "none", "verbose": 0}


def words_of(labels, features):
    return NameWords.of(Names.from_list(labels), Names.from_list(features), len(features))


def found(labels, features, there):
    """Return how much of each label's name is found where some features are."""
    words = words_of(labels, features)
    row = sp.csr_array(np.isin(features, there)[np.newaxis].astype(np.float32))
    numbers = np.arange(len(labels))
    documents = Documents(SparseRows.from_scipy(row))
    return words.found(documents, np.zeros_like(numbers), numbers).tolist()


# Which words count


def test_names_are_told_by_how_much_of_them_stands_in_the_text():
    text = ["deep", "sea", "fishes", "live", "where", "nets", "for", "fishing", "do", "not", "go"]
    names = ["gnd:4057", "Volcanoes", "marine fishes", "long deep sea fish", "Fishing nets"]
    assert found(names, text, text) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("Volcanoes", "volcano"),
        ("agriculture", "AGRICULTURAL"),
        ("\u00c9coles", "\u00e9cole"),
        ("e\u0301coles", "\u00e9cole"),
        ("Landwirtschaft", "landwirtschaftliche"),
        ("Gardens", "garden"),
        ("Taxes", "tax"),
        ("Schulen", "schule"),
        (
            "\u0432\u0443\u043b\u043a\u0430\u043d\u0438\u0447\u0435\u0441\u043a\u0438\u0439",
            "\u0432\u0443\u043b\u043a\u0430\u043d\u0438\u0447\u043d\u044b\u0435",
        ),
        ("\u706b", "\u706b"),
        ("CO2", "co2"),
    ],
)
def test_words_that_begin_alike_are_alike_in_any_script(name, feature):
    assert found([name], [feature, "other"], [feature]) == [4]


@pytest.mark.parametrize("name", ["of", "1984", "gnd:118529579", "http://example.org/4", "", "-"])
def test_short_words_numbers_and_numbers_of_a_catalogue_are_no_names(name):
    assert found([name, "sea"], ["of", "1984", "gnd", "http", "sea"], ["of", "gnd"]) == [0, 1]


def test_a_word_that_is_twice_in_a_name_counts_once():
    assert found(["sea, seas and the sea"], ["sea", "the"], ["sea"]) == [2]


def test_pairs_of_words_are_no_words():
    assert words_of(["deep sea"], ["deep sea", "fish"]) is None


@pytest.mark.parametrize(
    ("labels", "features"),
    [(None, ["sea"]), (["sea"], None), ([1, 2], ["sea"]), (["sea"], [1, 2]), (["x:1"], ["sea"])],
)
def test_without_names_in_words_there_is_nothing_to_tell(labels, features):
    given_names = (None if one is None else Names.from_list(one) for one in (labels, features))
    assert NameWords.of(*given_names, 1) is None


def test_features_of_a_dense_block_are_no_words():
    names = Names.from_list(["sea", "fish"])
    assert NameWords.of(names, names, 0) is None
    assert NameWords.of(names, names, 1).word_of_feature.tolist() == [0]


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), is_dense=st.booleans())
def test_what_is_found_is_what_plain_loops_find(seed, is_dense):
    rng = np.random.default_rng(seed)
    n_documents, n_features, n_labels = rng.integers(1, 9, 3)
    words = random_words(rng, n_labels, n_features)
    X = np.where(rng.random((n_documents, n_features)) < 0.4, 1.0, 0.0).astype(np.float32)
    documents = (
        Documents(dense=X) if is_dense else Documents(SparseRows.from_scipy(sp.csr_array(X)))
    )
    n_pairs = int(rng.integers(0, 20))
    rows, labels = rng.integers(0, n_documents, n_pairs), rng.integers(0, n_labels, n_pairs)
    there = [set() if is_dense else set(words.word_of_feature[row > 0].tolist()) for row in X]
    expected = [
        found_in(there[row], words.of_labels.row(label).tolist())
        for row, label in zip(rows, labels, strict=True)
    ]
    assert words.found(documents, rows, labels).tolist() == expected


# What models make of it


def named_in_texts(n_documents, seed, n_labels=30):
    """Return texts, of which each names one of its two labels; nothing else tells them apart."""
    rng = np.random.default_rng(seed)
    names = [f"{'bcdfghjklmnpqrs'[i % 15]}{'aeiou'[i // 15]}rn topic" for i in range(n_labels)]
    X = np.zeros((n_documents, 2 + n_labels), dtype=np.float32)
    Y = np.zeros((n_documents, n_labels), dtype=bool)
    for row in range(n_documents):
        one, other = rng.choice(n_labels, 2, replace=False)
        Y[row, [one, other]] = True
        X[row, [one % 2, 2 + one]] = 1
    features = ["even", "odd", *(name.split()[0] for name in names)]
    return sp.csr_array(X), Y, {"label_names": names, "feature_names": features}


@pytest.fixture(scope="module")
def data():
    return named_in_texts(600, seed=0)


@pytest.fixture(scope="module")
def model(data):
    X, Y, names = data
    found = XRLinear(**SMALL).fit(X, Y, **names)
    assert found.ordering_.knows_names
    return found


def assert_same_answers(one, other, X):
    for ours, theirs in zip(one.predict_top_k(X, 8), other.predict_top_k(X, 8), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_label_that_is_named_gains_by_it(model, data):
    X = data[0]
    words = model.name_words_
    other = copy(model)
    other.name_words_ = NameWords(words.of_labels, np.full_like(words.word_of_feature, -1))
    other._make_walk()
    named = X.indices[1::2] - 2  # the label that each document names
    scores, without = (one.decision_function(X).toarray() for one in (model, other))
    rows = np.arange(X.shape[0])
    assert scores[rows, named].mean() > without[rows, named].mean()


@pytest.mark.parametrize("missing", ["label_names", "feature_names", "both", "numbers"])
def test_without_names_it_is_not_there_and_nothing_else_changes(data, missing):
    X, Y, names = data
    if missing == "numbers":
        given_names = {**names, "label_names": [f"gnd:{i}" for i in range(Y.shape[1])]}
    else:
        given_names = {name: one for name, one in names.items() if missing not in (name, "both")}
    bare, other = XRLinear(**SMALL).fit(X, Y), XRLinear(**SMALL).fit(X, Y, **given_names)
    for one in (bare, other):
        assert one.name_words_ is None
        assert not one.ordering_.knows_names
        assert sum(table.size > 0 for table in one.ordering_.tables) == 11
    assert_same_answers(bare, other, X)


def test_the_bare_product_does_not_look_at_names(data):
    X, Y, names = data
    model = XRLinear(**SMALL, ordering="product").fit(X, Y, **names)
    assert model.ordering_ is None
    assert model.name_words_ is None


def test_an_order_that_is_taken_over_knows_the_names_of_its_new_owner(model, data):
    X, Y, names = data
    again = XRLinear(**SMALL).fit(X, Y, **names, order_from=model)
    assert again.ordering_ is model.ordering_
    assert_same_answers(again, model, X)
    nameless = XRLinear(**SMALL).fit(X, Y, order_from=model)
    assert nameless.name_words_ is None
    assert_same_answers(nameless, copy(nameless), X)


def test_copies_of_a_model_know_its_names(model, data):
    assert_same_answers(pickle.loads(pickle.dumps(model)), model, data[0])


def test_new_labels_bring_their_names(data):
    X, Y, names = data
    n_old, n_known = 500, 28
    old = sp.csr_array(Y[:n_old, :n_known])
    label_names = names["label_names"]
    model = XRLinear(**SMALL).fit(
        X[:n_old], old, label_names=label_names[:n_known], feature_names=names["feature_names"]
    )
    assert model.ordering_.knows_names
    new = X[n_old:], sp.csr_array(Y[n_old:])
    grown, _ = updated(model, X[:n_old], old, *new, label_names=label_names[n_known:])
    expected = NameWords.of(Names.from_list(label_names), grown.feature_names_, X.shape[1])
    for name, array in expected.to_arrays().items():
        np.testing.assert_array_equal(grown.name_words_.to_arrays()[name], array)
    labels, scores = grown.predict_top_k(X, 8)
    np.testing.assert_allclose(scores, part_by_part(grown).predict_top_k(X, 8)[1], atol=2e-4)
    assert (labels >= n_known).any()


def test_a_text_model_looks_at_names_by_itself():
    corpus = make_corpus(400, seed=0)
    model = TextModel(classifier=XRLinear(**SMALL), verbose=0).fit(corpus.texts, corpus.labels)
    assert model.classifier_.ordering_.knows_names
    assert model.classifier_.name_words_ is not None


def test_what_a_name_did_is_said_in_words(model, data):
    X, _, names = data
    named = int(X.indices[1] - 2)
    (one,) = explain(model, X[[0]], [named]).labels
    (effect,) = (effect for effect in one.order.effects if effect.fact == "name")
    assert (effect.value, effect.typical) == (2, 1)
    assert effect.amount > 0
    assert effect.sentence.startswith(
        "up to half of its name is in the text, of the typical candidate's nothing: speaks for it"
    )
    assert "topic" in names["label_names"][named]


# Files


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_knows_names_as_before_to_the_last_bit(model, data, folder):
    loaded = polyseme.load(folder)
    for name, array in model.name_words_.to_arrays().items():
        np.testing.assert_array_equal(loaded.name_words_.to_arrays()[name], array, strict=True)
    assert_same_answers(loaded, model, data[0])
    assert_same_answers(part_by_part(loaded), part_by_part(model), data[0])


@pytest.mark.parametrize("name", ["word_of_feature", "starts", "columns"])
def test_words_that_are_missing_or_of_another_type_or_shape_are_refused(model, folder, name):
    good = model.name_words_.to_arrays()[name]
    other = np.int32 if good.dtype == np.int64 else np.int64
    bad = [None, good.astype(other), good[:-1], good[np.newaxis], good[:0]]
    for array in bad:
        spoil(folder, name, array)
        assert_refused(folder, r"ordering\.names")


@pytest.mark.parametrize(
    ("name", "place", "value", "sentence"),
    [
        ("word_of_feature", 0, -2, "has values outside"),
        ("word_of_feature", -1, 10**6, "has values outside"),
        ("columns", 0, -1, "has values outside"),
        ("columns", -1, 2**31 - 1, "has values outside"),
        ("columns", slice(0, 2), 0, "the words of a name must ascend"),
        ("starts", 1, 10**6, "must not decrease"),
        ("starts", 0, 1, "must go from 0"),
        ("starts", -1, 0, "must go from 0"),
    ],
)
def test_words_that_lead_outside_are_refused(model, folder, name, place, value, sentence):
    array = model.name_words_.to_arrays()[name].copy()
    array[place] = value
    spoil(folder, name, array)
    assert_refused(folder, sentence)


def spoil(folder, name, array):
    arrays = load_file(weights_of(folder))
    arrays.pop(f"ordering.names.{name}", None)
    if array is not None:
        arrays[f"ordering.names.{name}"] = np.ascontiguousarray(array)
    replace_weights(folder, save(arrays))


def assert_refused(folder, sentence):
    with pytest.raises(ValueError, match=f"the model .* is damaged: .*{sentence}") as caught:
        polyseme.load(folder)
    assert "\n" not in str(caught.value)
