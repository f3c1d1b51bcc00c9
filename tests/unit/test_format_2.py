"""Models that were saved in format 2, before there were senses, are loaded as they were."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import polyseme
from polyseme.demo import make_corpus
from polyseme.files.model_folder import FORMAT_VERSION
from tests.model_folders import manifest_of, replace_weights, weights_of
from tests.recorded_models import (
    KINDS,
    assert_recorded_answers,
    classifier_of,
    models_of_format,
    recorded,
)

MODELS = models_of_format(2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_format_2_gives_the_answers_that_it_gave(kind):
    assert manifest_of(MODELS / kind)["format_version"] == 2
    assert_recorded_answers(MODELS, kind, polyseme.load(MODELS / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_as_what_is_new_and_gives_the_same_answers_again(kind, tmp_path):
    folder = shutil.copytree(MODELS / kind, tmp_path / "model")
    polyseme.load(folder).save(folder)
    assert manifest_of(folder)["format_version"] == FORMAT_VERSION
    assert_recorded_answers(MODELS, kind, polyseme.load(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_no_senses_whether_it_was_saved_again_or_not(kind, tmp_path):
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    for place in (MODELS / kind, tmp_path / "model"):
        model = classifier_of(polyseme.load(place))
        assert model.senses_ is None
        assert model.senses == "none"
        assert model.get_params()["senses"] == "none"


def test_all_examples_of_a_labels_slots_are_shown_as_the_labels_own(tmp_path):
    polyseme.load(MODELS / "text").save(tmp_path / "model")
    known = recorded(MODELS, "text")["examples"]
    assert max(map(len, known.values())) > 2  # of more than one slot
    for place in (MODELS / "text", tmp_path / "model"):
        model = polyseme.load(place)
        for name, texts in known.items():
            assert model.examples_of(model.label_number(name)) == texts
            assert model.examples_of(model.label_number(name), 0) == []
    kept = len(load_file(weights_of(MODELS / "text"))["examples.documents"])
    assert sum(len(model.examples_of(i)) for i in range(model.classifier_.n_labels_)) == kept


def test_an_updated_model_still_has_no_senses():
    model, more = polyseme.load(MODELS / "text"), make_corpus(60, seed=4)
    labels = [[f"urn:{label}" for label in row] for row in more.labels]
    shown = {i: model.examples_of(i)[:2] for i in range(model.classifier_.n_labels_)}
    update = model.update(more.texts, labels)
    assert update.n_judged == 0
    assert "Finding senses" not in update.seconds
    assert model.classifier_.senses_ is None
    for label, texts in shown.items():
        assert model.examples_of(label)[: len(texts)] == texts
    new = range(len(shown), model.classifier_.n_labels_)
    assert all(model.examples_of(label) for label in new)


# What is refused


@pytest.fixture
def folder(tmp_path):
    """A copy of the text model that a test may spoil."""
    return shutil.copytree(MODELS / "text", tmp_path / "model")


@pytest.mark.parametrize("name", ["examples.starts", "examples.documents"])
def test_examples_that_do_not_fit_the_slots_are_refused(folder, name):
    arrays = load_file(weights_of(folder))
    good = arrays[name]
    far = good.copy()
    far[1] = 10**9
    for bad in (None, good[:-1], np.append(good, good[-1:]), far, good.astype(np.int32), -good):
        spoilt = {key: array for key, array in arrays.items() if key != name}
        if bad is not None:
            spoilt[name] = bad.copy()
        replace_weights(folder, save(spoilt))
        with pytest.raises(ValueError, match=r"is damaged: its array 'examples\.") as caught:
            polyseme.load(folder)
        assert "\n" not in str(caught.value)
