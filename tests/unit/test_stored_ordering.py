"""A learned order on disk, in copies and in updates of a model."""

import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file, save
from sklearn.base import clone

import polyseme
from polyseme import XRLinear
from polyseme.training.update import updated
from tests.growing_models import SMALL, split
from tests.model_folders import edit_description, manifest_of, replace_weights, weights_of
from tests.small_data import topics
from tests.unit.test_ordered_predictions import part_by_part

DATA = topics(n_labels=40, n_documents=500)
ARRAYS = ["knot_starts", "knots", "values", "curve"]


@pytest.fixture(scope="module")
def model():
    model = XRLinear(**SMALL).fit(DATA.X, DATA.Y)
    assert model.ordering_ is not None
    return model


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def assert_same_answers(one, other):
    for k in (3, 30):
        answers = (model.predict_top_k(DATA.X_test, k) for model in (one, other))
        for ours, theirs in zip(*answers, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    scores = (model.decision_function(DATA.X_test).toarray() for model in (one, other))
    np.testing.assert_array_equal(*scores)


def test_a_loaded_model_orders_labels_as_before_to_the_last_bit(model, folder):
    loaded = polyseme.load(folder)
    assert loaded.ordering == "learned"
    assert loaded.ordering_.n_documents == 500
    for name, array in model.ordering_.to_arrays().items():
        np.testing.assert_array_equal(loaded.ordering_.to_arrays()[name], array, strict=True)
    assert_same_answers(loaded, model)
    assert_same_answers(part_by_part(loaded), part_by_part(model))


def test_a_model_without_an_order_is_stored_without_one(tmp_path):
    XRLinear(**SMALL, ordering="product").fit(DATA.X, DATA.Y).save(tmp_path)
    assert manifest_of(tmp_path)["description"]["ordering"] is None
    assert not any(name.startswith("ordering.") for name in load_file(weights_of(tmp_path)))
    loaded = polyseme.load(tmp_path)
    assert loaded.ordering == "product"
    assert loaded.ordering_ is None


def test_a_pickled_model_orders_labels_as_before(model):
    assert_same_answers(pickle.loads(pickle.dumps(model)), model)


def test_a_clone_has_the_parameter_and_nothing_that_was_learned(model):
    again = clone(model)
    assert again.ordering == "learned"
    assert not hasattr(again, "ordering_")


def test_the_parameter_cannot_be_changed_without_another_training(model, folder):
    loaded = polyseme.load(folder).set_params(ordering="product")
    with pytest.raises(ValueError, match="ordering was 'learned' in training"):
        loaded.save(folder)
    with pytest.raises(ValueError, match="ordering"):
        XRLinear(ordering="best").fit(DATA.X, DATA.Y)


# What is refused


def spoil(folder, **changes):
    """Replace arrays of the ordering, or leave out those that are None."""
    arrays = load_file(weights_of(folder))
    for name, array in changes.items():
        arrays.pop(f"ordering.{name}")
        if array is not None:
            arrays[f"ordering.{name}"] = np.ascontiguousarray(array)
    replace_weights(folder, save(arrays))


def assert_refused(folder, sentence):
    with pytest.raises(ValueError, match=f"the model .* is damaged: .*{sentence}") as caught:
        polyseme.load(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ARRAYS)
def test_an_ordering_that_lacks_an_array_is_refused(folder, name):
    spoil(folder, **{name: None})
    assert_refused(folder, rf"its array 'ordering\.{name}' is missing")


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_another_shape_or_type_is_refused(model, folder, name):
    good = model.ordering_.to_arrays()[name]
    other = np.int32 if good.dtype == np.int64 else np.float64
    for bad in (good[:-1], np.append(good, good[-1]), good[np.newaxis], good[:0]):
        spoil(folder, **{name: bad})
        assert_refused(folder, "ordering")
    spoil(folder, **{name: good.astype(other)})
    assert_refused(folder, rf"its array 'ordering\.{name}' has type")


@pytest.mark.parametrize("name", ["knots", "values", "curve"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38])
@pytest.mark.parametrize("place", [0, -1, slice(None)], ids=str)
def test_numbers_that_no_sound_ordering_has_are_refused(model, folder, name, bad, place):
    array = model.ordering_.to_arrays()[name].copy()
    array[place] = bad
    spoil(folder, **{name: array})
    assert_refused(folder, "ordering")


def test_numbers_far_apart_are_refused_without_a_warning(model, folder):
    knots = model.ordering_.to_arrays()["knots"].copy()
    knots[:2] = -3e38, 3e38
    spoil(folder, knots=knots)
    assert_refused(folder, r"its array 'ordering\.knots' has values outside")


def test_knots_that_do_not_ascend_are_refused(model, folder):
    good = model.ordering_.to_arrays()["knots"]
    for bad in (good[::-1], np.repeat(good[:1], len(good))):
        spoil(folder, knots=bad)
        assert_refused(folder, "the knots of its ordering must ascend")


def test_a_fact_without_knots_is_refused(model, folder):
    starts = model.ordering_.to_arrays()["knot_starts"].copy()
    starts[1] = starts[2]
    spoil(folder, knot_starts=starts)
    assert_refused(folder, "a fact of its ordering has no knots")
    for bad in (starts[::-1], starts + 1, np.where(np.arange(9) == 3, -1, starts)):
        spoil(folder, knot_starts=bad)
        assert_refused(folder, r"its array 'ordering\.knot_starts'")


@pytest.mark.parametrize("factor", [0, -1])
def test_a_curve_that_does_not_rise_is_refused(folder, factor):
    spoil(folder, curve=np.array([factor, 0, 0, 0], dtype=np.float32))
    assert_refused(folder, "the curve of its ordering must rise")


@pytest.mark.parametrize(
    "described",
    [
        *([], "learned", 3, True, {}, {"n_documents": None}),
        *({"n_documents": n} for n in (-1, 1.5, "500", True, [500])),
        *({"n_documents": 500, "has_names": names} for names in (None, 1, "no")),
    ],
    ids=str,
)
def test_a_description_that_is_none_is_refused(folder, described):
    edit_description(folder, ordering=described)
    assert_refused(folder, "its description of the ordering is not one")


@pytest.mark.parametrize("wrong", ["best", 3, None, True])
def test_a_parameter_that_is_none_is_refused(folder, wrong):
    parameters = manifest_of(folder)["description"]["parameters"]
    edit_description(folder, parameters=parameters | {"ordering": wrong})
    assert_refused(folder, "ordering")


# Updates


@pytest.fixture(scope="module")
def grown():
    """A model, and the same with more documents and four more labels."""
    data = topics(n_labels=80, n_documents=1600)
    parts = split(data, n_new_labels=4)
    model = XRLinear(**SMALL).fit(parts[0], parts[1])
    return data, model, updated(model, *parts)[0]


@pytest.mark.slow
def test_an_updated_model_keeps_its_order(grown):
    _, model, more = grown
    assert model.ordering_ is not None
    assert more.ordering_ is model.ordering_
    assert more.ordering == "learned"


def test_labels_of_an_updated_model_are_counted_anew(grown):
    data, model, more = grown
    np.testing.assert_array_equal(more.label_counts_, data.Y.sum(axis=0))
    assert (more.label_counts_[:76] >= model.label_counts_).all()
    assert more.label_counts_[:76].sum() > model.label_counts_.sum()
    assert (more.label_counts_[76:] > 0).all()


def test_an_updated_model_puts_labels_in_order_by_the_new_counts(grown, tmp_path):
    data, _, more = grown
    labels, scores = more.predict_top_k(data.X_test, 10)
    assert (labels >= 76).any()
    _, by_parts = part_by_part(more).predict_top_k(data.X_test, 10)
    np.testing.assert_allclose(scores, by_parts, atol=2e-4)
    more.save(tmp_path)
    for ours, theirs in zip(
        (labels, scores), polyseme.load(tmp_path).predict_top_k(data.X_test, 10), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_an_update_of_a_model_without_an_order_learns_none():
    parts = split(DATA, n_new_labels=4)
    model = XRLinear(**SMALL, ordering="product").fit(parts[0], parts[1])
    assert updated(model, *parts)[0].ordering_ is None
