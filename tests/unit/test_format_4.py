"""Models that were saved in format 4, before names counted, are loaded as they were."""

import shutil

import pytest

import polyseme
from polyseme.files.model_folder import FORMAT_VERSION
from tests.model_folders import manifest_of
from tests.recorded_models import (
    KINDS,
    assert_recorded_answers,
    assert_recorded_senses,
    classifier_of,
    models_of_format,
)

MODELS = models_of_format(4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_format_4_gives_the_answers_that_it_gave(kind):
    assert manifest_of(MODELS / kind)["format_version"] == 4
    assert_recorded_answers(MODELS, kind, polyseme.load(MODELS / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_as_what_is_new_and_gives_the_same_answers_again(kind, tmp_path):
    folder = shutil.copytree(MODELS / kind, tmp_path / "model")
    polyseme.load(folder).save(folder)
    assert manifest_of(folder)["format_version"] == FORMAT_VERSION
    model = polyseme.load(folder)
    assert_recorded_answers(MODELS, kind, model)
    assert_recorded_senses(MODELS, kind, model)


@pytest.mark.parametrize("kind", KINDS)
def test_its_order_does_not_look_at_names_whether_it_was_saved_again_or_not(kind, tmp_path):
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    for place in (MODELS / kind, tmp_path / "model"):
        model = classifier_of(polyseme.load(place))
        assert model.label_names_ is not None
        assert model.feature_names_ is not None
        assert model.ordering_ is not None
        assert not model.ordering_.knows_names
        assert model.name_words_ is None
