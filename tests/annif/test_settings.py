"""From a project's settings to a model; no Annif is needed for that."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from polyseme import Bonsai, TextModel, XRLinear, XTransformer
from polyseme.annif.settings import read_setting, untrained_model
from polyseme.text import TextFeatures

PAGE = (Path(__file__).parents[2] / "docs" / "annif.md").read_text(encoding="utf-8")


def model_of(**settings):
    return untrained_model(settings, analyzer="word", keep_data=False, n_jobs=None)


def test_texts_and_values_of_toml_mean_the_same():
    texts = model_of(copies="3", C="0.5", hashing="Yes", merge="max", max_cluster_size="40")
    values = model_of(copies=3, C=0.5, hashing=True, merge="max", max_cluster_size=40)
    assert texts.classifier.get_params() == values.classifier.get_params()
    assert texts.features.get_params() == values.features.get_params()
    assert (texts.classifier.copies, texts.features.hashing) == (3, True)


def test_what_is_not_said_is_as_in_polyseme():
    model = model_of(name="Small", language="en", backend="polyseme", vocab="small", limit="10")
    assert model.classifier.get_params() == XRLinear().get_params()
    assert model.features.get_params() == TextFeatures(ngrams=(1, 2)).get_params()
    assert (model.held_out, model.refit) == (0.1, True)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam_size": "1.5"}, "beam_size must be a whole number, not '1.5'."),
        ({"beam_size": ""}, "beam_size must be a whole number, not ''."),
        ({"C": "much"}, "C must be a number, not 'much'."),
        ({"C": "nan"}, "C must be a number above 0"),
        ({"refit": "2"}, "refit must be true or false, not '2'."),
        ({"loss": "none"}, "loss must be one of"),
        ({"min_df": "0"}, "min_df must be a whole number of at least 1, not 0."),
        ({"ngram": "21"}, "ngram must be a whole number from 1 to 20, not 21."),
        ({"held_out": "1"}, "held_out must be a share"),
        ({"precision": "90"}, "precision must be None or a share"),
        ({"method": "magic"}, "there is no method 'magic'; there are: xr-linear, parabel"),
        ({"method": "plt", "copies": "many"}, "copies must be a whole number, not 'many'."),
        ({"method": "x-transformer", "max_tokens": "2"}, "max_tokens must be a whole number"),
        ({"method": "x-transformer", "ensemble": "a"}, "ensemble cannot be set in a project."),
    ],
)
def test_a_wrong_value_is_refused_by_name(settings, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model_of(**settings)


def test_the_defaults_of_the_page_are_those_of_polyseme():
    listed = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.M))
    for owner in (TextModel, TextFeatures, XRLinear):
        for parameter in inspect.signature(owner).parameters.values():
            if parameter.name in listed:
                given = listed.pop(parameter.name)
                kind = type(parameter.default).__name__
                assert read_setting({"x": given}, "x", kind, None) == parameter.default
    assert listed.pop("method") == XRLinear.kind
    assert set(listed) == {"limit", "ngram", "keep_matcher", "allow_learn"}


def test_every_parameter_of_the_estimator_can_be_set():
    given = {name: value for name, value in XRLinear().get_params().items() if value is not None}
    model = model_of(**{name: str(value) for name, value in given.items()}, n_jobs="3")
    assert model.classifier.get_params() == {**XRLinear().get_params(), "n_jobs": 3}
    assert model_of(min_weight="0.05", threshold="0.5").classifier.min_weight == 0.05


def test_another_method_has_its_own_settings_and_those_of_texts_stay_apart():
    model = model_of(
        method="x-transformer", encoder="encoders/a", finetuning="none", precision=0.9
    )
    assert isinstance(model.classifier, XTransformer)
    assert (model.classifier.encoder, model.classifier.finetuning) == ("encoders/a", "none")
    assert (model.precision, model.classifier.precision) == (0.9, "auto")
    assert isinstance(model_of(method="bonsai", n_trees="2").classifier, Bonsai)


def test_a_method_that_reads_texts_wants_no_analyzer():
    with pytest.raises(ValueError, match="method xml-cnn reads texts as they are; take analyzer"):
        untrained_model({"method": "xml-cnn"}, analyzer="token", keep_data=False, n_jobs=None)


def test_jobs_of_the_command_line_win_over_the_setting():
    model = untrained_model({"n_jobs": "3"}, analyzer="word", keep_data=False, n_jobs=2)
    assert model.classifier.n_jobs == 2


def test_an_old_name_is_refused_with_the_new_one():
    with pytest.raises(ValueError, match=r"there is no setting cost; it is called C\."):
        model_of(cost="2")
