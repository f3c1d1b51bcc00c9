"""The layer of senses: what is kept of it, joined to a newer one, stored and brought back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.files.stored_model import StoredModel
from polyseme.senses.layer import MOST_CALIBRATION, SenseLayer, check_at_least
from polyseme.senses.naming import name_senses
from tests.examples import examples
from tests.small_problems import sparse

N_LABELS, N_FEATURES, N_DOCUMENTS = 8, 10, 50


def unit_rows(rng, n_rows, n_columns):
    rows = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.5)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return sparse(rows / np.where(lengths > 0, lengths, 1))


def make_layer(labels=(1, 4, 6), sizes=(2, 3, 2), seed=0, n_labels=N_LABELS, n_typical=2, **more):
    rng = np.random.default_rng(seed)
    n_senses = sum(sizes)
    counts = [np.sort(rng.integers(1, 20, size))[::-1] for size in sizes]
    return SenseLayer(
        labels=np.array(labels, dtype=np.int32),
        probabilities=rng.random(len(labels), dtype=np.float32),
        starts=np.cumsum([0, *sizes], dtype=np.int64),
        counts=np.concatenate([*counts, np.zeros(0, dtype=np.int64)]).astype(np.int64),
        words=unit_rows(rng, n_senses, N_FEATURES),
        beside=unit_rows(rng, n_senses, n_labels),
        typical=rng.integers(-1, N_DOCUMENTS, (n_senses, n_typical)),
        **more,
    )


def by_label(layer, width=None):
    """Return all that a layer says of each label, in a form that can be compared."""
    width = layer.typical.shape[1] if width is None else width
    found = {}
    for i, label in enumerate(layer.labels.tolist()):
        senses = range(layer.starts[i], layer.starts[i + 1])
        found[label] = (
            layer.probabilities[i].tobytes(),
            [
                (
                    int(layer.counts[sense]),
                    [part.tobytes() for part in layer.words.row(sense)],
                    [part.tobytes() for part in layer.beside.row(sense)],
                    [*layer.typical[sense].tolist(), *[-1] * (width - layer.typical.shape[1])],
                )
                for sense in senses
            ],
        )
    return found


# Joined to a newer layer


def test_labels_that_were_not_looked_at_anew_keep_their_senses_and_others_have_the_new_ones():
    old = make_layer((1, 4, 6), (2, 3, 2), evidence="text", calibration={"auc": 0.9})
    new = make_layer((0, 4, 9), (2, 2, 4), seed=1, n_labels=11, calibration={"auc": 0.1})
    only = np.zeros(11, dtype=np.bool_)
    only[[4, 9]] = True
    both = old.merged_with(new, only)
    assert both.labels.tolist() == [1, 4, 6, 9]
    assert both.starts.tolist() == [0, 2, 4, 6, 10]
    found, before, after = by_label(both), by_label(old), by_label(new)
    assert found == {1: before[1], 4: after[4], 6: before[6], 9: after[9]}
    assert (both.evidence, both.calibration) == ("text", {"auc": 0.9})
    assert both.beside.n_columns == 11


def test_a_label_that_is_no_longer_judged_has_no_senses_any_more():
    old, new = make_layer(), make_layer((6,), (2,), seed=1)
    only = np.zeros(N_LABELS, dtype=np.bool_)
    only[[4, 6]] = True
    assert old.merged_with(new, only).labels.tolist() == [1, 6]


def test_names_that_were_asked_for_are_forgotten_since_senses_have_other_numbers():
    old = make_layer()
    old.names[3] = "a name"
    assert old.merged_with(make_layer(), np.zeros(N_LABELS, dtype=np.bool_)).names == {}
    assert old.names == {3: "a name"}


@st.composite
def layers(draw, n_labels):
    sizes = draw(st.dictionaries(st.integers(0, n_labels - 1), st.integers(2, 5)))
    labels = sorted(sizes)
    return make_layer(
        labels,
        [sizes[label] for label in labels],
        seed=draw(st.integers(0, 99)),
        n_labels=n_labels,
        n_typical=draw(st.integers(0, 3)),
    )


@examples(100)
@given(layers(6), layers(9), st.lists(st.booleans(), min_size=9, max_size=9))
def test_any_two_layers_are_joined_label_by_label(old, new, chosen):
    only = np.array(chosen)
    both = old.merged_with(new, only)
    width = max(old.typical.shape[1], new.typical.shape[1])
    expected = {k: v for k, v in by_label(old, width).items() if not only[k]}
    expected |= {k: v for k, v in by_label(new, width).items() if only[k]}
    assert by_label(both) == expected
    assert both.labels.tolist() == sorted(expected)
    for name, array in both.to_arrays().items():
        assert array.dtype == old.to_arrays()[name].dtype, name
    restored(*stored_parts(both), n_labels=9)


# Stored and brought back


def stored_parts(layer):
    return {name: array.copy() for name, array in layer.to_arrays().items()}, layer.describe()


def restored(arrays, description, n_labels=N_LABELS):
    stored = StoredModel(Path("m"), {}, {f"senses.{k}": v for k, v in arrays.items()}, {})
    return SenseLayer.restore(
        stored.part("senses"),
        description,
        n_labels=n_labels,
        n_features=N_FEATURES,
        n_documents=N_DOCUMENTS,
    )


def test_a_stored_layer_comes_back_as_it_was():
    layer = make_layer(evidence="text", calibration={"auc": 0.9, "curve": [0.1, 0.2]})
    again = restored(*stored_parts(layer))
    assert by_label(again) == by_label(layer)
    assert (again.evidence, again.calibration) == (layer.evidence, layer.calibration)
    assert again.words.shape == layer.words.shape
    assert again.beside.shape == layer.beside.shape


def test_a_layer_of_no_labels_comes_back_too():
    assert restored(*stored_parts(make_layer((), ()))).n_judged == 0


def refused(arrays, description=None):
    with pytest.raises(ValueError, match="the model m is damaged: ") as caught:
        restored(arrays, make_layer().describe() if description is None else description)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", make_layer().to_arrays())
def test_an_array_that_is_missing_or_of_another_type_or_shape_is_refused(name):
    arrays, _ = stored_parts(make_layer())
    good = arrays[name]
    other = np.float64 if good.dtype.kind == "f" else np.int16
    for bad in (good[:-1], np.concatenate([good, good[-1:]]), good.astype(other), good[None]):
        refused({**arrays, name: bad})
    del arrays[name]
    assert f"'senses.{name}' is missing" in refused(arrays)


@pytest.mark.parametrize(
    ("name", "position", "values"),
    [
        ("labels", 0, [-1, 4, 5, N_LABELS]),
        ("labels", -1, [4, 3, N_LABELS, 2**31 - 1]),
        ("probabilities", 1, [np.nan, np.inf, -np.inf, -0.01, 1.01]),
        ("starts", 0, [1, -1]),
        ("starts", 1, [0, 1, 4, 5, 6, -1, 2**62]),
        ("starts", -1, [6, 8, -1, 2**63 - 1]),
        ("counts", 0, [-1, N_DOCUMENTS + 1, 2**62]),
        ("counts", 1, [-1, N_DOCUMENTS, 2**63 - 1]),
        ("typical", (0, 0), [-2, N_DOCUMENTS, 2**62]),
        ("words.values", 0, [np.nan, np.inf, 1.5, -2, 1e30]),
        ("words.columns", 0, [-1, N_FEATURES]),
        ("words.starts", 1, [-1, 2**62]),
        ("beside.values", -1, [np.nan, -np.inf, 1.5]),
        ("beside.columns", -1, [-1, N_LABELS, 2**31 - 1]),
        ("beside.starts", -1, [0, 2**62]),
    ],
)
def test_numbers_that_cannot_be_are_refused(name, position, values):
    for value in values:
        arrays, _ = stored_parts(make_layer())
        arrays[name][position] = value
        refused(arrays)


@pytest.mark.parametrize("name", ["words", "beside"])
def test_columns_that_do_not_ascend_are_refused(name):
    layer = make_layer()
    rows = getattr(layer, name)
    row = int(np.argmax(np.diff(rows.starts) > 1))
    for order in ([1, 0], [0, 0]):
        arrays, _ = stored_parts(layer)
        own = arrays[f"{name}.columns"][rows.starts[row] :]
        own[:2] = own[order]
        assert f"the columns of 'senses.{name}' must ascend" in refused(arrays)


def test_senses_that_are_not_in_the_order_of_their_documents_are_refused():
    layer = make_layer()
    arrays, _ = stored_parts(layer)
    arrays["counts"][:] = [5, 5, 9, 8, 7, 3, 2]
    restored(arrays, layer.describe())
    arrays["counts"][1] = 6
    assert "the one of most documents first" in refused(arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"evidence": None},
        {"evidence": "smell"},
        {"evidence": ["labels"]},
        {"evidence": 3},
        {"calibration": None},
        {"calibration": []},
        {"calibration": "well"},
        {"calibration": {"auc": float("nan")}},
        {"calibration": {"auc": [float("inf")]}},
        {"calibration": {"auc": "x" * MOST_CALIBRATION}},
        {"calibration": {str(i): i for i in range(MOST_CALIBRATION)}},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_description_that_is_none_is_refused(changes):
    arrays, description = stored_parts(make_layer())
    refused(arrays, {**description, **changes})
    for name in description:
        refused(arrays, {key: value for key, value in description.items() if key != name})


def test_a_calibration_that_is_too_deep_is_refused():
    arrays, description = stored_parts(make_layer())
    deep: dict = {}
    for _ in range(100_000):
        deep = {"deeper": deep}
    refused(arrays, {**description, "calibration": deep})


@pytest.mark.parametrize("seed", range(60))
def test_random_damage_is_refused_or_harmless(seed):
    rng = np.random.default_rng(seed)
    layer = make_layer(seed=seed)
    arrays, description = stored_parts(layer)
    for _ in range(1 + seed % 3):
        raw = arrays[sorted(arrays)[rng.integers(len(arrays))]].reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    found = None
    with suppress(ValueError):
        found = restored(arrays, description)
    if found is None:
        refused(arrays, description)
        return
    documents, others = unit_rows(rng, 20, N_FEATURES), unit_rows(rng, 20, N_LABELS)
    label = rng.integers(0, N_LABELS, 20)
    senses = name_senses(found, documents, others, np.arange(20), label, at_least=0)
    judged = np.isin(label, found.labels)
    assert ((senses >= 0) == judged).all()
    assert (senses < found.n_senses).all()


@pytest.mark.parametrize("at_least", [2, -1, float("nan"), "x", None, True])
def test_what_is_no_probability_is_refused(at_least):
    with pytest.raises(ValueError, match="at_least must be a probability from 0 to 1"):
        check_at_least(at_least)
