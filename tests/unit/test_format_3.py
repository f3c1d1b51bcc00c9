"""Models that were saved in format 3, before orders were learned, are loaded as they were."""

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

MODELS = models_of_format(3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_format_3_gives_the_answers_that_it_gave(kind):
    assert manifest_of(MODELS / kind)["format_version"] == 3
    assert_recorded_answers(MODELS, kind, polyseme.load(MODELS / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_as_what_is_new_and_gives_the_same_answers_again(kind, tmp_path):
    folder = shutil.copytree(MODELS / kind, tmp_path / "model")
    polyseme.load(folder).save(folder)
    assert manifest_of(folder)["format_version"] == FORMAT_VERSION
    assert_recorded_answers(MODELS, kind, polyseme.load(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_its_senses_whether_it_was_saved_again_or_not(kind, tmp_path):
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    for place in (MODELS / kind, tmp_path / "model"):
        assert_recorded_senses(MODELS, kind, polyseme.load(place))


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_the_order_of_the_bare_product_whether_it_was_saved_again_or_not(kind, tmp_path):
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    for place in (MODELS / kind, tmp_path / "model"):
        model = classifier_of(polyseme.load(place))
        assert model.ordering_ is None
        assert model.ordering == "product"
        assert model.get_params()["ordering"] == "product"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_from_before_there_were_other_trees_has_a_balanced_one(kind):
    assert classifier_of(polyseme.load(MODELS / kind)).tree == "balanced"
