"""Models of earlier formats, kept with the answers that they gave."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.suggestions import suggest

KINDS = ["xr-linear", "text"]


def models_of_format(version):
    """Return the folder of the models that were saved in a format."""
    return Path(__file__).parent / "models" / f"format-{version}"


def recorded(models, kind):
    return json.loads((models / f"{kind}.json").read_text())


def given_to_the_classifier(known):
    return sp.csr_array(np.array(known["X"], dtype=np.float32)), np.array(known["dense"], "f4")


def assert_recorded_answers(models, kind, model):
    """Compare labels and scores with those that are kept beside the models."""
    known = recorded(models, kind)
    if kind == "text":
        suggested = model.suggest(known["texts"], limit=3, threshold=0)
        for found, expected in zip(suggested, known["suggestions"], strict=True):
            assert [one.name for one in found] == [name for name, *_ in expected]
            scores = [score for _, score, *_ in expected]
            assert [one.score for one in found] == pytest.approx(scores, abs=1e-5)
        return
    labels, scores = model.predict_top_k(given_to_the_classifier(known), 3)
    assert labels.tolist() == known["labels"]
    np.testing.assert_allclose(scores, known["scores"], atol=2e-5)


def assert_recorded_senses(models, kind, model):
    """Compare the senses of labels, and a text model's examples, with those that are kept."""
    known = recorded(models, kind)
    if kind == "text":
        suggested = model.suggest(known["texts"], limit=3, threshold=0)
        found = [[one.sense and list(one.sense) for one in row] for row in suggested]
        assert found == [[sense for _, _, sense in row] for row in known["suggestions"]]
        for name, texts in known["examples"].items():
            assert model.examples_of(model.label_number(name)) == texts
        return
    suggested = suggest(model, given_to_the_classifier(known), 3, None)
    assert [[one.sense and one.sense.place for one in row] for row in suggested] == known["senses"]


def classifier_of(model):
    return getattr(model, "classifier_", model)
