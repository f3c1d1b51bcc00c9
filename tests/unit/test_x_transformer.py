"""XTransformer: trained, stored and asked as every other method, with the text itself."""

import json
import warnings

import numpy as np
import pytest

import polyseme
from polyseme import TextModel, XRLinear, XTransformer
from polyseme.demo import make_corpus
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.text.features import TextFeatures
from tests.tiny_encoders import need_libraries, table_folder, transformer_folder

pytestmark = pytest.mark.slow  # networks take seconds

need_libraries()

CORPUS, TEST = make_corpus(800, seed=0), make_corpus(100, seed=1)
HOW = {"copies": 2, "max_leaf_size": 20, "verbose": 0, "n_jobs": 1}
BARE = {"ordering": "product", "senses": "none"}
QUICK = {"n_steps": 6, "batch_size": 8, "learning_rate": 1e-3, "max_tokens": 60}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders")
    return {
        "transformer": str(transformer_folder(place / "transformer", CORPUS.texts)),
        "static": str(table_folder(place / "static", CORPUS.texts)),
    }


@pytest.fixture(scope="module")
def text_features():
    return TextFeatures().fit(CORPUS.texts)


@pytest.fixture(scope="module")
def data(text_features):
    return tuple(
        Documents(check_features(text_features.transform(corpus.texts)).sparse, texts=corpus.texts)
        for corpus in (CORPUS, TEST)
    )


@pytest.fixture(scope="module")
def static(folders, data):
    return XTransformer(folders["static"], **HOW).fit(data[0], CORPUS.labels)


@pytest.fixture(scope="module")
def finetuned(folders, data):
    how = {**HOW, **QUICK, **BARE}
    return XTransformer(folders["transformer"], **how).fit(data[0], CORPUS.labels)


@pytest.fixture(params=["static", "finetuned"])
def model(request):
    return request.getfixturevalue(request.param)


def same(one, other, X, tolerance=0.0):
    for found, expected in zip(one.predict_top_k(X, 5), other.predict_top_k(X, 5), strict=True):
        np.testing.assert_allclose(found, expected, atol=tolerance)


def test_most_texts_get_a_right_label(model, data):
    assert model.score(data[1], TEST.labels) > 0.5


def test_the_ranker_sees_both_kinds_of_features(model, data):
    n_words, n_dimensions = data[0].n_sparse, model.features_.encoder.n_dimensions
    assert model.layout_ == (n_words, 0)
    assert model.seen_layout_ == (n_words, n_dimensions)
    assert model.n_features_in_ == n_words


def test_saved_and_loaded_it_answers_the_same(model, data, tmp_path):
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    assert isinstance(again, XTransformer)
    same(again, model, data[1])
    assert again.finetuning_ == model.finetuning_


def test_a_saved_model_does_not_need_the_folder_of_its_encoder(folders, data, tmp_path):
    import shutil

    moved = shutil.copytree(folders["static"], tmp_path / "encoder")
    model = XTransformer(str(moved), **HOW, **BARE).fit(data[0], CORPUS.labels)
    model.save(tmp_path / "model")
    shutil.rmtree(moved)
    same(polyseme.load(tmp_path / "model"), model, data[1])


def test_a_place_of_the_machine_is_not_saved_with_the_model(folders, data, tmp_path):
    model = XTransformer(folders["static"], work_folder=str(tmp_path / "work"), **HOW, **BARE)
    model.fit(data[0], CORPUS.labels).save(tmp_path / "model")
    described = json.loads((tmp_path / "model" / "model.json").read_text())["description"]
    assert {"work_folder", "device"}.isdisjoint(described["parameters"])
    assert polyseme.load(tmp_path / "model").work_folder is None


def test_a_matrix_without_texts_is_refused(static, data):
    matrix = data[1].sparse.to_scipy()
    for ask in (static.predict_top_k, static.decision_function, static.match):
        with pytest.raises(ValueError, match="XTransformer reads texts"):
            ask(matrix)
    with pytest.raises(ValueError, match="XTransformer reads texts"):
        XTransformer(static.encoder, **HOW).fit(data[0].sparse, CORPUS.labels)


def test_texts_alone_are_enough(folders, data):
    model = XTransformer(folders["static"], **HOW, **BARE)
    model.fit(Documents(texts=CORPUS.texts), CORPUS.labels)
    assert model.layout_ == (0, 0)
    assert model.seen_layout_ == (0, 24)
    assert model.score(Documents(texts=TEST.texts), TEST.labels) > 0.03


def test_with_a_tiny_weight_the_embedding_hardly_counts(folders, data):
    words = XRLinear(**HOW, **BARE).fit(data[0].sparse, CORPUS.labels)
    both = XTransformer(folders["static"], embedding_weight=1e-4, **HOW, **BARE)
    both.fit(data[0], CORPUS.labels)
    best = words.predict_top_k(data[1].sparse, 1)[0]
    assert (both.predict_top_k(data[1], 1)[0] == best).mean() > 0.9


@pytest.mark.parametrize("label_features", ["embedding", "tf-idf", "label-text"])
def test_labels_can_be_alike_by_other_features(folders, data, static, label_features):
    model = XTransformer(folders["static"], label_features=label_features, **HOW, **BARE)
    model.set_params(rounds=0, copies=1)
    model.fit(data[0], CORPUS.labels)
    plain = XTransformer(folders["static"], **HOW, **BARE).set_params(rounds=0, copies=1)
    plain.fit(data[0], CORPUS.labels)
    assert model.score(data[1], TEST.labels) > 0.4
    assert model.clusters_.labels.tolist() != plain.clusters_.labels.tolist()
    assert not hasattr(model, "label_texts_")


def test_labels_without_names_have_no_text(folders, data):
    names = sorted({label for row in CORPUS.labels for label in row})
    Y = np.array([[name in row for name in names] for row in CORPUS.labels], dtype=np.int8)
    model = XTransformer(folders["static"], label_features="label-text", **HOW)
    with pytest.raises(ValueError, match="needs the names of labels; give label_names"):
        model.fit(data[0], Y)


def test_what_came_of_fine_tuning_is_told(finetuned, static):
    assert static.finetuning_ == []
    assert [level["n_clusters"] for level in finetuned.finetuning_] == [32]
    for level in finetuned.finetuning_:
        assert 1 <= level["n_steps"] <= 6
        assert 0 <= level["recall"] <= 1
        assert 0 <= level["recall_before"] <= 1
        assert level["loss"] > 0
    assert "Fine-tuning the encoder" in finetuned.phase_seconds_
    assert "Encoding texts" in finetuned.phase_seconds_


@pytest.mark.slow
def test_a_second_training_computes_no_embedding_again(folders, data, tmp_path, monkeypatch):
    how = {**HOW, **BARE, **QUICK, "work_folder": str(tmp_path)}
    first = XTransformer(folders["transformer"], **how).fit(data[0], CORPUS.labels)

    def refuse(*_):
        raise AssertionError("nothing is to be computed")

    monkeypatch.setattr(
        "polyseme.backbones.transformer.transformer.TransformerEncoder.embed", refuse
    )
    monkeypatch.setattr("polyseme.backbones.neural.training._Training._step", refuse)
    again = XTransformer(folders["transformer"], **how).fit(data[0], CORPUS.labels)
    monkeypatch.undo()
    same(again, first, data[1])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model(folders, data, finetuned):
    again = XTransformer(folders["transformer"], **HOW, **QUICK, **BARE)
    same(again.fit(data[0], CORPUS.labels), finetuned, data[1])


def test_the_order_is_taken_over_with_the_encoder(folders, data, finetuned, monkeypatch):
    monkeypatch.setattr("polyseme.estimators.encoding_texts.load_encoder", lambda *_, **__: 1 / 0)
    again = XTransformer(folders["transformer"], **HOW, **QUICK, **BARE)
    again.fit(data[0], CORPUS.labels, order_from=finetuned)
    assert again.features_.encoder is finetuned.features_.encoder
    assert again.finetuning_ == finetuned.finetuning_
    same(again, finetuned, data[1])


def test_whatever_fails_leaves_the_earlier_model(folders, data):
    model = XTransformer(folders["static"], **HOW, **BARE).fit(data[0], CORPUS.labels)
    before = model.predict_top_k(data[1], 3)
    model.encoder = "/nowhere"
    with pytest.raises(FileNotFoundError, match="there is no folder /nowhere"):
        model.fit(data[0], CORPUS.labels)
    np.testing.assert_array_equal(model.predict_top_k(data[1], 3)[0], before[0])


@pytest.mark.parametrize(
    "wrong",
    [{"encoder": 3}, {"finetuning": "some"}, {"max_tokens": 1}, {"embedding_weight": 0}],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused_by_name(wrong, data):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be|{next(iter(wrong))}="):
        XTransformer(**wrong).fit(data[0], CORPUS.labels)


def test_explanations_reach_from_words_to_embeddings(static, data):
    found = polyseme.explain.explain(static, data[1].take([0]), n_labels=1, n_features=9999)
    slot = found.labels[0].slots[0]
    of_slot = {word.feature for word in slot.margin.contributions}
    of_path = {word.feature for word in slot.path[0].margin.contributions}
    for features in (of_slot, of_path):
        assert min(features) < data[0].n_sparse <= max(features)


# With texts


@pytest.fixture(scope="module")
def text_model(folders):
    classifier = XTransformer(folders["transformer"], **HOW, **{**QUICK, "n_steps": 2})
    return TextModel(classifier=classifier, verbose=0).fit(CORPUS.texts, CORPUS.labels)


def test_a_text_model_hands_texts_on(text_model):
    assert text_model.score(TEST.texts, TEST.labels) > 0.4
    assert text_model.report_["accuracy"]["P@1"] > 40
    assert text_model.suggest([""], threshold=0)[0] is not None


def test_a_saved_text_model_answers_the_same(text_model, tmp_path):
    text_model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    for one, other in zip(
        again.suggest(TEST.texts[:20]), text_model.suggest(TEST.texts[:20]), strict=True
    ):
        assert [(label.name, label.score) for label in one] == [
            (label.name, label.score) for label in other
        ]


def test_a_text_model_learns_more_documents(folders):
    classifier = XTransformer(folders["static"], **HOW, **BARE)
    model = TextModel(classifier=classifier, verbose=0, held_out=0).fit(
        CORPUS.texts[:300], CORPUS.labels[:300]
    )
    old = [polyseme.text.Record(text, tuple(labels)) for text, labels in pairs(300)]
    update = model.update(["a quokka hops by"] * 4, [["quokka"]] * 4, old=old)
    assert update.n_labels == 1
    assert "quokka" in model.predict(["a quokka hops by"])[0]


def pairs(n):
    return list(zip(CORPUS.texts[:n], CORPUS.labels[:n], strict=True))


def test_a_long_text_is_cut_and_that_is_said(text_model):
    long = "battle " * 100
    text_model.classifier_.features_.encoder.tokens._has_told = False
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 60 tokens"):
        text_model.suggest([long])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text_model.suggest([long])


@pytest.mark.slow
def test_an_estimate_counts_fine_tuning_and_encoding(folders, data):
    model = XTransformer(folders["transformer"], **HOW, **{**QUICK, "n_steps": 400})
    found = polyseme.estimate_training(model, data[0], CORPUS.labels)
    tuning, encoding = (
        found.seconds[phase].about for phase in ("Fine-tuning the encoder", "Encoding texts")
    )
    assert tuning > encoding > 0
    longer = model.own_work(800, 300)["Fine-tuning the encoder"]
    assert longer > 5 * model.for_samples().own_work(800, 300)["Fine-tuning the encoder"]
    assert not hasattr(model, "features_")
