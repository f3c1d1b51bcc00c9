"""Models that were saved in format 5 are loaded as they were."""

import pytest

import polyseme
from tests.model_folders import manifest_of
from tests.recorded_models import (
    KINDS,
    assert_recorded_answers,
    assert_recorded_senses,
    classifier_of,
    models_of_format,
)

MODELS = models_of_format(5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_format_5_gives_the_answers_that_it_gave(kind, tmp_path):
    assert manifest_of(MODELS / kind)["format_version"] == 5
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    for place in (MODELS / kind, tmp_path / "model"):
        model = polyseme.load(place)
        assert classifier_of(model).ordering_.knows_names
        assert_recorded_answers(MODELS, kind, model)
        assert_recorded_senses(MODELS, kind, model)
