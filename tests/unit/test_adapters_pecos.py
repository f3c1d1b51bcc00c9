"""Models of PECOS: imported and exported, with the same scores, and refused where they must be."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import polyseme
from polyseme import XRLinear
from polyseme.adapters.pecos import PecosXRLinear, read_pecos, write_pecos
from polyseme.cli import main
from polyseme.explain import explain
from polyseme.tagger import tagger_for
from tests.pecos_folders import PecosModel, change_json

try:
    from pecos.xmc.xlinear.model import XLinearModel
except ImportError:
    XLinearModel = None


def documents(n_features=17, seed=5, n=30):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features)).astype(np.float32)
    X[random.random(X.shape) < 0.5] = 0
    X[0] = 0  # a document without features
    return X


def small_model(**settings):
    random = np.random.default_rng(1)
    X = documents(n=200)
    Y = random.random((200, 30)) < 0.1
    kept = {"ordering": "product", "senses": "none", "verbose": 0, "min_weight": 0.01}
    model = XRLinear(**{"max_leaf_size": 4, "branching": 4, **kept, **settings})
    return model.fit(sp.csr_matrix(X), Y)


def assert_same_scores(model, X, wanted):
    found = model.decision_function(X).tocoo()
    dense = np.full(found.shape, np.nan)
    dense[found.row, found.col] = found.data
    np.testing.assert_allclose(dense, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("post_processor", ["l3-hinge", "sigmoid", "noop"])
@pytest.mark.parametrize("bias", [1.0, 0.5, 0.0, -1.0])
def test_an_imported_model_has_the_scores_of_pecos(tmp_path, post_processor, bias):
    theirs = PecosModel(bias=bias, post_processor=post_processor)
    X = documents()[bias <= 0 :]  # without features and bias, every cluster is as good
    assert_same_scores(read_pecos(theirs.write(tmp_path)), X, theirs.scores(X))


@pytest.mark.parametrize("sizes", [(7,), (1, 5), (3, 3, 3, 3), (2, 40, 300)])
def test_trees_of_any_shape_are_imported(tmp_path, sizes):
    theirs = PecosModel(sizes=sizes, seed=2)
    model = read_pecos(theirs.write(tmp_path))
    assert (model.tree_.n_levels, model.n_labels_) == (len(sizes) - 1, sizes[-1])
    X = documents()
    assert_same_scores(model, X, theirs.scores(X, beam=20 if len(sizes) == 1 else None))


def test_another_beam_may_be_asked_for(tmp_path):
    theirs = PecosModel(beam=2)
    model = read_pecos(theirs.write(tmp_path), beam_size=5)
    assert model.beam_size == 5
    X = documents()
    assert_same_scores(model, X, theirs.scores(X, beam=5))


def test_an_imported_model_is_saved_loaded_explained_and_tags(tmp_path):
    theirs = PecosModel()
    folder = theirs.write(tmp_path / "theirs")
    names = {
        "label_names": [f"label {i}" for i in range(40)],
        "feature_names": [f"word {i}" for i in range(17)],
    }
    read_pecos(folder, **names).save(tmp_path / "ours")
    model = polyseme.load(tmp_path / "ours")
    X = documents()
    assert_same_scores(model, X, theirs.scores(X))
    tagger = tagger_for(model)
    (suggested,) = tagger.suggest(sp.csr_matrix(X[1:2]), limit=3)
    assert [label.name for label in suggested] == [
        f"label {label}" for label in model.predict_top_k(X[1:2], 3)[0][0]
    ]
    (explanation, *_) = explain(model, X[1:2], n_labels=1).labels
    assert explanation.name == suggested[0].name
    assert tagger.sizes()["n_documents"] == 0


def test_a_model_is_exported_with_the_same_scores(tmp_path):
    model = small_model(copies=1, rounds=0)
    write_pecos(model, tmp_path / "theirs")
    X = documents()
    back = read_pecos(tmp_path / "theirs")
    assert back.beam_size == model.beam_size
    assert_same_scores(back, X, dense(model.decision_function(X)))
    levels = sorted(place.name for place in (tmp_path / "theirs" / "ranker").iterdir())
    assert levels == ["0.model", "1.model", "2.model", "param.json"]
    W = sp.load_npz(tmp_path / "theirs" / "ranker" / "2.model" / "W.npz")
    assert isinstance(W, sp.csc_matrix)
    assert (W.shape, W.dtype, W.indices.dtype) == ((18, 30), np.float32, np.int32)
    weights = model.ranker_.weights_of(int(np.flatnonzero(model.clusters_.labels == 7)[0]))
    np.testing.assert_allclose(W[:17, [7]].toarray().ravel()[weights.features], weights.weights)
    assert W[17, 7] == pytest.approx(weights.bias)


@pytest.mark.parametrize("activation", ["sigmoid", "none"])
def test_other_activations_are_exported_too(tmp_path, activation):
    model = small_model(copies=1, rounds=0, activation=activation)
    write_pecos(model, tmp_path / "theirs")
    X = documents()
    back = read_pecos(tmp_path / "theirs")
    assert back.activation == activation
    assert_same_scores(back, X, dense(model.decision_function(X)))


def test_labels_with_several_slots_are_exported_only_as_columns_of_their_own(tmp_path):
    model = small_model(copies=2, merge="mean")
    with pytest.raises(ValueError, match="labels are in several clusters"):
        write_pecos(model, tmp_path / "theirs")
    assert list(tmp_path.iterdir()) == []
    write_pecos(model, tmp_path / "theirs", expanded=True)
    found = json.loads((tmp_path / "theirs" / "label_map.json").read_text())
    assert found["label_of_column"] == model.clusters_.labels.tolist()
    back = read_pecos(tmp_path / "theirs")
    assert (back.merge, back.n_labels_, back.copies) == ("mean", 30, 2)
    X = documents()
    assert_same_scores(back, X, dense(model.decision_function(X)))


def test_a_learned_order_is_left_out_with_a_warning(tmp_path):
    random = np.random.default_rng(0)
    X, Y = documents(n=400), random.random((400, 12)) < 0.2
    model = XRLinear(copies=1, rounds=0, max_leaf_size=4, senses="none", verbose=0).fit(X, Y)
    assert model.ordering_ is not None
    with pytest.warns(UserWarning, match="learned order"):
        write_pecos(model, tmp_path / "theirs")


def test_an_export_replaces_nothing_and_leaves_nothing_half_done(tmp_path, monkeypatch):
    model = small_model(copies=1, rounds=0)
    (tmp_path / "empty").mkdir()
    write_pecos(model, tmp_path / "empty")
    with pytest.raises(ValueError, match="something already"):
        write_pecos(model, tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="something already"):
        write_pecos(model, tmp_path / "file")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polyseme.adapters.pecos_folder.sp.save_npz", full)
    with pytest.raises(OSError, match="No space"):
        write_pecos(model, tmp_path / "new")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["empty", "file"]


def test_a_model_that_is_not_linear_is_not_exported(tmp_path):
    from sklearn.linear_model import RidgeClassifier

    from polyseme import OneVsRest
    from polyseme.adapters import MatchedBy

    settings = {"senses": "none", "ordering": "product", "verbose": 0}
    X, Y = documents(), np.random.default_rng(0).random((30, 9)) < 0.3
    for model in (
        MatchedBy(RidgeClassifier(), max_leaf_size=4, **settings),
        OneVsRest(**settings),
    ):
        with pytest.raises(
            ValueError, match=r"^(MatchedBy|OneVsRest) cannot be exported to PECOS"
        ):
            write_pecos(model.fit(X, Y), tmp_path / "theirs")


def dense(scores):
    found = scores.tocoo()
    array = np.full(found.shape, np.nan)
    array[found.row, found.col] = found.data
    return array


# Folders that are none


def level_file(folder, name, number=1):
    return folder / "ranker" / f"{number}.model" / name


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no PECOS model at"):
        read_pecos(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"is not a PECOS XR-Linear model: ranker/param\.json"):
        read_pecos(tmp_path)
    folder = PecosModel().write(tmp_path / "theirs")
    for name in ("W.npz", "C.npz", "param.json"):
        content = level_file(folder, name).read_bytes()
        level_file(folder, name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"1\.model/{name} is missing"):
            read_pecos(folder)
        level_file(folder, name).write_bytes(content)


@pytest.mark.parametrize("post_processor", ["l2-hinge", "log-sigmoid", "softmax", ["a"], 3])
def test_post_processors_that_we_do_not_have_are_refused(tmp_path, post_processor):
    folder = PecosModel().write(tmp_path)
    for number in range(3):
        about = level_file(folder, "param.json", number)
        change_json(about, pred_kwargs={"only_topk": 3, "post_processor": post_processor})
    with pytest.raises(ValueError, match="has the post processor"):
        read_pecos(folder)


def test_levels_that_disagree_are_refused(tmp_path):
    folder = PecosModel().write(tmp_path)
    change_json(level_file(folder, "param.json"), pred_kwargs={"only_topk": 7})
    with pytest.raises(ValueError, match="beams of 3 and 7"):
        read_pecos(folder)
    assert read_pecos(folder, beam_size=3).beam_size == 3
    change_json(level_file(folder, "param.json"), pred_kwargs={"post_processor": "sigmoid"})
    with pytest.raises(ValueError, match="l3-hinge and sigmoid"):
        read_pecos(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("depth", 4),
        ("depth", 2),
        ("depth", 0),
        ("depth", True),
        ("depth", "3"),
        ("depth", 10**12),
        ("nr_features", 18),
        ("nr_features", None),
        ("nr_labels", 41),
        ("nr_labels", -1),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, name, value):
    folder = PecosModel().write(tmp_path)
    change_json(folder / "ranker" / "param.json", **{name: value})
    with pytest.raises((ValueError, FileNotFoundError), match=r"ranker") as refusal:
        read_pecos(folder)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("value", [None, "1", float("nan"), float("inf"), 0.0, True])
def test_a_bias_that_does_not_fit_is_refused(tmp_path, value):
    folder = PecosModel().write(tmp_path)
    change_json(level_file(folder, "param.json"), bias=value)
    with pytest.raises(ValueError, match=r"bias must be a number|has 18 rows"):
        read_pecos(folder)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((11, 4)), "column 0 is in 0 clusters"),
        (np.ones((11, 4)), "column 0 is in 4 clusters"),
        (np.eye(11, 5), "a part of a tree"),
        (np.full((11, 4), np.nan), "not finite"),
        (np.full((11, 4), 1j), "not numbers"),
    ],
)
def test_a_tree_that_is_none_is_refused(tmp_path, matrix, message):
    folder = PecosModel().write(tmp_path)
    sp.save_npz(level_file(folder, "C.npz"), sp.csc_matrix(matrix))
    with pytest.raises(ValueError, match=message):
        read_pecos(folder)


def test_damaged_matrices_are_refused(tmp_path):
    folder = PecosModel().write(tmp_path)
    file = level_file(folder, "W.npz")
    whole = file.read_bytes()
    for content in (b"", b"PK", whole[: len(whole) // 2], pickle.dumps([1, 2])):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"W\.npz is not a sparse matrix"):
            read_pecos(folder)
    indices = np.full(3, 99, dtype=np.int32)
    starts = np.array([0, *[3] * 11], dtype=np.int32)
    np.savez(
        file, indices=indices, indptr=starts, format=b"csc", shape=(18, 11), data=np.ones(3, "f4")
    )
    with pytest.raises(ValueError, match=r"W\.npz"):
        read_pecos(folder)


def test_nothing_in_a_folder_is_unpickled(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "harm"), "w"))

    folder = PecosModel().write(tmp_path / "theirs")
    np.savez(
        level_file(folder, "W.npz"),
        indices=np.array([Harmful()], dtype=object),
        indptr=np.zeros(12, np.int32),
        format=b"csc",
        shape=(18, 11),
        data=np.zeros(0, "f4"),
    )
    with pytest.raises(ValueError, match="is not a sparse matrix"):
        read_pecos(folder)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"label_of_column": [0] * 40},
        {"label_of_column": [*range(39), 40]},
        {"label_of_column": list(range(39))},
        {"label_of_column": "x"},
        {"merge": "median"},
        {"n_labels": 41},
    ],
)
def test_a_label_map_that_is_none_is_refused(tmp_path, changes):
    folder = PecosModel().write(tmp_path)
    whole = {"n_labels": 40, "merge": "sum", "label_of_column": list(range(40))}
    file = folder / "label_map.json"
    file.write_text(json.dumps(whole))
    assert read_pecos(folder).n_labels_ == 40
    change_json(file, **changes)
    with pytest.raises(ValueError, match=r"label_map\.json does not say"):
        read_pecos(folder)


def test_names_must_be_as_many_as_labels(tmp_path):
    folder = PecosModel().write(tmp_path)
    with pytest.raises(ValueError, match="40 labels, but 2 names"):
        read_pecos(folder, label_names=["a", "b"])


# On the command line


def test_a_folder_goes_through_the_command_line_and_back(tmp_path):
    folder = PecosModel().write(tmp_path / "theirs")
    (tmp_path / "labels.txt").write_text("".join(f"label {i}\n" for i in range(40)))
    ours = str(tmp_path / "ours")
    runner = CliRunner()
    names = ["--labels", str(tmp_path / "labels.txt")]
    result = runner.invoke(main, ["import-pecos", str(folder), "-o", ours, *names])
    assert result.exit_code == 0, result.output
    assert "40 labels in 40 slots of 11 clusters" in result.output
    assert polyseme.load(ours).label_names_[3] == "label 3"
    again = str(tmp_path / "again")
    result = runner.invoke(main, ["export-pecos", ours, "-o", again, "--json"])
    assert (result.exit_code, json.loads(result.output)["folder"]) == (0, again)
    X = documents()
    assert_same_scores(read_pecos(again), X, PecosModel().scores(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import-pecos", "{}/nowhere", "-o", "{}/ours"], "there is no PECOS model"),
        (["import-pecos", "{}", "-o", "{}/ours"], "is not a PECOS XR-Linear model"),
        (["import-pecos", "{}/theirs", "-o", "{}/ours", "--labels", "{}/none"], "none"),
        (["import-pecos", "{}/theirs", "-o", "{}/theirs"], "holds something else"),
        (["export-pecos", "{}/theirs", "-o", "{}/again"], "not a polyseme model"),
        (["export-pecos", "{}/nowhere", "-o", "{}/again"], "there is no model"),
    ],
)
def test_mistakes_end_in_one_sentence_and_exit_code_2(tmp_path, arguments, message):
    PecosModel().write(tmp_path / "theirs")
    filled = [argument.format(tmp_path) for argument in arguments]
    result = CliRunner().invoke(main, filled)
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not (tmp_path / "ours").exists()


# With libpecos


@pytest.mark.skipif(XLinearModel is not None, reason="libpecos is there")
def test_without_libpecos_training_says_what_to_install():
    with pytest.raises(ImportError, match=r"pip install libpecos \(which wants numpy before 2\)"):
        PecosXRLinear().fit(np.eye(3), np.eye(3))


@pytest.mark.skipif(XLinearModel is None, reason="libpecos cannot be imported")
@pytest.mark.filterwarnings("ignore")  # of libpecos' own
def test_libpecos_itself_gives_the_same_scores(tmp_path):
    random = np.random.default_rng(0)
    X, Y = documents(n=200), random.random((200, 30)) < 0.1
    theirs = PecosXRLinear(max_leaf_size=4, branching=4, beam_size=3).fit(X, Y)
    theirs.save(tmp_path / "theirs")
    model = read_pecos(tmp_path / "theirs")
    _, scores = theirs.predict_top_k(X, 5)
    np.testing.assert_allclose(model.predict_top_k(X, 5)[1], scores, atol=1e-5)

    write_pecos(small_model(copies=1, rounds=0), tmp_path / "exported")
    loaded = XLinearModel.load(str(tmp_path / "exported"), is_predict_only=True)
    found = loaded.predict(sp.csr_matrix(X), only_topk=5)
    wanted = small_model(copies=1, rounds=0).predict_top_k(X, 5)[1]
    np.testing.assert_allclose(-np.sort(-found.toarray(), axis=1)[:, :5], wanted, atol=1e-5)
