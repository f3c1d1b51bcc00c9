"""Models that were saved in format 1 are loaded, and saved as what they are now."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import polyseme
from polyseme.files.format_1 import RENAMED_PARAMETERS
from polyseme.files.model_folder import FORMAT_VERSION
from tests.model_folders import manifest_of, replace_weights, weights_of

MODELS = Path(__file__).parents[1] / "models" / "format-1"
KINDS = ["xr-linear", "text"]


@pytest.fixture
def folder(request, tmp_path):
    """A copy that a test may spoil, of the model that the test asks for."""
    kind = getattr(request, "param", "xr-linear")
    return shutil.copytree(MODELS / kind, tmp_path / "model")


def assert_recorded_answers(kind, model):
    recorded = json.loads((MODELS / f"{kind}.json").read_text())
    if kind == "text":
        suggested = model.suggest(recorded["texts"], limit=3, threshold=0)
        for found, expected in zip(suggested, recorded["suggestions"], strict=True):
            assert [one.name for one in found] == [name for name, _ in expected]
            scores = [score for _, score in expected]
            assert [one.score for one in found] == pytest.approx(scores, abs=1e-5)
        return
    labels, scores = model.predict_top_k(np.array(recorded["X"], dtype=np.float32), 3)
    assert labels.tolist() == recorded["labels"]
    np.testing.assert_allclose(scores, recorded["scores"], atol=2e-5)


def classifier_of(model):
    return getattr(model, "classifier_", model)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_format_1_gives_the_answers_that_it_gave(kind):
    assert manifest_of(MODELS / kind)["format_version"] == 1
    assert_recorded_answers(kind, polyseme.load(MODELS / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_as_what_is_new_and_gives_the_same_answers_again(kind, tmp_path):
    polyseme.load(MODELS / kind).save(tmp_path / "model")
    manifest = manifest_of(tmp_path / "model")
    assert manifest["format_version"] == FORMAT_VERSION
    assert manifest["description"]["kind"] == kind
    assert_recorded_answers(kind, polyseme.load(tmp_path / "model"))


@pytest.mark.parametrize("folder", KINDS, indirect=True)
def test_it_can_be_saved_over_itself(folder, request):
    kind = request.node.callspec.params["folder"]
    polyseme.load(folder).save(folder)
    assert manifest_of(folder)["format_version"] == FORMAT_VERSION
    assert len(list(folder.iterdir())) == 3
    assert_recorded_answers(kind, polyseme.load(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_another_name_now_keeps_its_value(kind):
    described = manifest_of(MODELS / kind)["description"]
    described = described.get("classifier", described)
    model = classifier_of(polyseme.load(MODELS / kind))
    parameters = {RENAMED_PARAMETERS.get(k, k): v for k, v in described["parameters"].items()}
    assert parameters.items() <= model.get_params().items()
    assert {"C", "tol", "min_weight", "random_state"} <= parameters.keys()
    (made,), (before,) = model.assignments_, described["assignments"]
    assert made == {
        "reached_before": before["objective_before"],
        "reached_after": before["objective_after"],
        "n_positives": before["n_positives"],
    }
    assert model.layout_ == (described["n_features"], 0)
    assert model.tree_ == polyseme.partition.label_tree.LabelTree.uniform(*described["fan_outs"])
    assert model.n_documents_ == described["n_documents"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_no_senses_and_learns_none_when_it_is_saved(kind, tmp_path):
    model = polyseme.load(MODELS / kind)
    assert classifier_of(model).senses_ is None
    assert classifier_of(model).senses == "none"
    model.save(tmp_path / "model")
    assert classifier_of(polyseme.load(tmp_path / "model")).senses_ is None


def test_a_text_model_of_format_1_has_its_words_and_examples():
    model = polyseme.load(MODELS / "text")
    n_shown = [len(model.examples_of(label)) for label in range(model.classifier_.n_labels_)]
    assert sum(n_shown) == len(load_file(weights_of(MODELS / "text"))["examples.documents"])
    assert max(n_shown) > 1
    assert len(model.classifier_.feature_names_) == model.classifier_.n_features_in_


# What is refused


def edit_description(folder, **changes):
    """Change model.json, which had no checksum then; the classifier of a text model in it."""
    manifest = manifest_of(folder)
    description = manifest["description"]
    description.get("classifier", description).update(changes)
    (folder / "model.json").write_text(json.dumps(manifest))


def refused(folder):
    with pytest.raises(ValueError, match="is damaged") as caught:
        polyseme.load(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("folder", KINDS, indirect=True)
@pytest.mark.parametrize(
    "fan_outs",
    [
        [4],
        [4, 5],
        [2, 2, 2],
        [2**40],
        [2**16, 2**16],
        [-4, -4],
        [16.0],
        [True] * 5,
        "16",
        16,
        None,
    ],
    ids=str,
)
def test_fan_outs_that_do_not_fit_are_refused(folder, fan_outs):
    edit_description(folder, fan_outs=fan_outs)
    assert "fan_outs is " in refused(folder)


@pytest.mark.slow
def test_more_fan_outs_than_any_tree_has_are_refused_at_once(folder):
    for fan_out in (1, 2):
        edit_description(folder, fan_outs=[16, *[fan_out] * 200_000])
        assert "fan_outs is [16, " in refused(folder)


@pytest.mark.parametrize("folder", KINDS, indirect=True)
def test_other_fan_outs_for_as_many_clusters_are_refused(folder):
    n_clusters = len(load_file(weights_of(folder))["clusters.starts"]) - 1
    for fan_outs in ([n_clusters], [n_clusters // 2, 2], [1, n_clusters], [n_clusters // 4, 2, 2]):
        edit_description(folder, fan_outs=fan_outs)
        refused(folder)


@pytest.mark.parametrize("folder", KINDS, indirect=True)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_features", [0, -1, 29, 31, 2**31 - 1, 2**31, 1.5, "30", None]),
        ("n_labels", [0, -1, 39, 41, 2**31 - 1, 2**31, 1.5, "40", None]),
        ("n_documents", [0, -1, 2**31, 1.5, None]),
        ("kind", ["TextModel", "xr-linear", "Forest", None, 3]),
        ("parameters", [None, [], {"copies": 0}, {"cost": -1.0}, {"__class__": "os"}]),
        ("assignments", [None, 3, [3], [{"objective_before": 3}]]),
        ("phase_seconds", [None, 3, {"Label tree": "long"}]),
        ("updates", [None, 3, [3]]),
    ],
)
def test_a_description_that_does_not_fit_is_refused(folder, name, values):
    for value in values:
        edit_description(folder, **{name: value})
        refused(folder)


@pytest.mark.parametrize("folder", KINDS, indirect=True)
@pytest.mark.parametrize("name", ["n_features", "n_labels", "fan_outs", "parameters", "kind"])
def test_a_description_that_lacks_something_is_refused(folder, name):
    manifest = manifest_of(folder)
    description = manifest["description"]
    del description.get("classifier", description)[name]
    (folder / "model.json").write_text(json.dumps(manifest))
    refused(folder)


@pytest.mark.parametrize("folder", ["text"], indirect=True)
@pytest.mark.parametrize("classifier", [None, [], "XRLinear", {}])
def test_a_text_model_without_a_classifier_is_refused(folder, classifier):
    manifest = manifest_of(folder)
    manifest["description"]["classifier"] = classifier
    (folder / "model.json").write_text(json.dumps(manifest))
    refused(folder)
    del manifest["description"]["classifier"]
    (folder / "model.json").write_text(json.dumps(manifest))
    assert "it has no classifier" in refused(folder)


@pytest.mark.parametrize("folder", KINDS, indirect=True)
def test_arrays_that_are_missing_or_too_short_are_refused(folder):
    arrays = load_file(weights_of(folder))
    for name, array in arrays.items():
        spoilt = {key: value for key, value in arrays.items() if key != name}
        if name != "training.features.starts":  # without it no training data was kept
            replace_format_1_weights(folder, save(spoilt))
            refused(folder)
        if len(array) > 0:
            replace_format_1_weights(folder, save(spoilt | {name: array[:-1].copy()}))
            refused(folder)
    replace_format_1_weights(folder, save(arrays))
    polyseme.load(folder)


def replace_format_1_weights(folder, content):
    replace_weights(folder, content)
    manifest = manifest_of(folder)
    manifest.pop("crc32")
    (folder / "model.json").write_text(json.dumps(manifest))


def test_the_report_of_a_text_model_speaks_of_reach():
    report = polyseme.load(MODELS / "text").report_
    assert 0 < report["reach"] <= 100
    assert "beam_coverage" not in report
