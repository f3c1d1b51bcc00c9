"""Encoders: read from folders without a network and without pickles, stored, kept on disk."""

import json
import shutil
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from polyseme.backbones.transformer.embedding_store import EmbeddingStore
from polyseme.backbones.transformer.encoders import load_encoder, restore_encoder
from polyseme.backbones.transformer.features import EncodedFeatures
from polyseme.backbones.transformer.sampled_encoder import SampledEncoder
from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from tests.small_problems import sparse
from tests.tiny_encoders import need_libraries, table_folder, transformer_folder

need_libraries()

TEXTS = ["the bat flies at night", "a ball and a bat", "owls hunt at night", "he swung", "night"]
RUN = Run()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders")
    return {
        "transformer": transformer_folder(place / "transformer", TEXTS),
        "static": table_folder(place / "static", TEXTS),
    }


@pytest.fixture(params=["transformer", "static"])
def encoder(request, folders):
    return load_encoder(str(folders[request.param]))


def test_a_text_becomes_a_vector_of_unit_length(encoder):
    vectors = encoder.embed(TEXTS, RUN)
    assert vectors.shape == (5, encoder.n_dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01


def test_a_text_without_words_is_a_vector_of_zeros(encoder):
    vectors = encoder.embed(["", "night", "  \n"], RUN)
    np.testing.assert_array_equal(np.abs(vectors).sum(axis=1) > 0, [False, True, False])
    assert encoder.embed([], RUN).shape == (0, encoder.n_dimensions)


def test_what_stands_beside_a_text_does_not_matter(encoder):
    together = encoder.embed(TEXTS, RUN)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(encoder.embed([text], RUN)[0], together[i], atol=1e-6)


def test_an_encoder_of_samples_encodes_a_few_texts_and_makes_up_the_others(folders, monkeypatch):
    monkeypatch.setattr("polyseme.backbones.transformer.sampled_encoder.N_ENCODED", 2)
    encoder = load_encoder(str(folders["transformer"]))
    real = encoder.embed(TEXTS, RUN)
    made_up = SampledEncoder(encoder).embed(TEXTS, RUN)
    np.testing.assert_allclose(made_up[:2], real[:2], atol=1e-6)
    assert (np.abs(made_up[2:] - real[2:]).max(axis=1) > 0.01).all()
    np.testing.assert_allclose(np.linalg.norm(made_up, axis=1), 1, rtol=1e-5)


def test_a_static_table_gives_the_very_same_numbers_in_any_pieces(folders):
    encoder = load_encoder(str(folders["static"]))
    together = encoder.embed(TEXTS, RUN)
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(encoder.embed([text], RUN)[0], together[i])


def test_a_static_table_is_the_mean_of_its_tokens(folders):
    encoder = load_encoder(str(folders["static"]))
    known = json.loads(encoder.tokens.described)["model"]["vocab"]
    words = ["[CLS]", "a", "ball", "and", "a", "bat", "[SEP]"]
    mean = encoder.table[[known[word] for word in words]].astype(np.float64).mean(axis=0)
    expected = mean / np.linalg.norm(mean)
    np.testing.assert_allclose(encoder.embed(TEXTS[1:2], RUN)[0], expected, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_tokens_are_pooled_as_asked(folders, pooling):
    import torch
    from transformers import AutoModel

    folder = str(folders["transformer"])
    encoder = load_encoder(folder, pooling=pooling)
    ids = torch.tensor([encoder.tokens.of(TEXTS[:1])[0].tolist()])
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(ids).last_hidden_state[0].numpy()
    wanted = states[0] if pooling == "first" else states.mean(axis=0)
    wanted /= np.linalg.norm(wanted)
    np.testing.assert_allclose(encoder.embed(TEXTS[:1], RUN)[0], wanted, atol=1e-5)


def test_what_is_cut_off_is_said_once(folders):
    encoder = load_encoder(str(folders["transformer"]), max_tokens=4)
    with pytest.warns(UserWarning, match="3 of 5 texts have more than 4 tokens"):
        vectors = encoder.embed(TEXTS, RUN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.embed(TEXTS, RUN)
        shorter = encoder.embed(["the bat"], RUN)
    np.testing.assert_allclose(vectors[0], shorter[0], atol=1e-6)


def test_no_more_tokens_are_read_than_the_encoder_has_places_for(folders):
    encoder = load_encoder(str(folders["transformer"]), max_tokens=1000)
    assert encoder.tokens.max_tokens == 64
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 64 tokens"):
        encoder.embed(["night " * 200], RUN)


def test_a_stored_encoder_gives_the_same_vectors(encoder, tmp_path):
    save_model(tmp_path / "model", Contents({}, {}, {}).with_part("encoder", encoder.contents()))
    again = restore_encoder(open_model(tmp_path / "model").model("encoder"))
    np.testing.assert_array_equal(again.embed(TEXTS, RUN), encoder.embed(TEXTS, RUN))
    assert again.key == encoder.key
    assert again.name == encoder.name


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("form", "abacus", "is of the form 'abacus'"),
        ("max_tokens", -3, "max_tokens of its encoder is -3"),
        ("max_tokens", "many", "max_tokens of its encoder is 'many'"),
    ],
)
def test_a_damaged_description_of_an_encoder_is_refused(encoder, tmp_path, what, value, said):
    contents = encoder.contents()
    contents.description[what] = value
    save_model(tmp_path / "model", Contents({}, {}, {}).with_part("encoder", contents))
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        restore_encoder(open_model(tmp_path / "model").model("encoder"))


def test_weights_that_do_not_fit_the_description_are_refused(folders, tmp_path):
    contents = load_encoder(str(folders["transformer"])).contents()
    name = next(name for name in contents.arrays if name.endswith("word_embeddings.weight"))
    for change in (contents.arrays[name][:3], None):
        arrays = {**contents.arrays, name: change} if change is not None else {**contents.arrays}
        if change is None:
            del arrays[name]
        damaged = Contents(contents.description, arrays, {})
        save_model(tmp_path / "model", Contents({}, {}, {}).with_part("encoder", damaged))
        with pytest.raises(ValueError, match="its encoder cannot be made"):
            restore_encoder(open_model(tmp_path / "model").model("encoder"))


# Bad folders and names


def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match=r"pytorch_model.bin\) are pickled.*convert"):
        load_encoder(str(tmp_path))


def with_changed(of, folder, config=None, weights=None):
    """Copy the folder of a transformer, and change its description or its weights."""
    shutil.copytree(of, folder)
    described = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**described, **(config or {})}))
    if weights is not None:
        arrays = load_file(folder / "model.safetensors")
        save_file(weights(arrays), folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def test_weights_that_are_missing_are_not_made_up(folders, tmp_path):
    place = with_changed(folders["transformer"], tmp_path / "e", {"num_hidden_layers": 3})
    with pytest.raises(ValueError, match=r"lacks \d+ of the weights .* such as encoder.layer.2"):
        load_encoder(place)


def test_weights_of_another_shape_are_refused_in_a_sentence(folders, tmp_path):
    place = with_changed(folders["transformer"], tmp_path / "e", {"intermediate_size": 48})
    with pytest.raises(ValueError, match=r"the folder .* does not hold an encoder"):
        load_encoder(place)


def test_weights_that_are_no_numbers_are_refused_by_name(folders, tmp_path):
    name = "embeddings.word_embeddings.weight"
    place = with_changed(
        folders["transformer"],
        tmp_path / "e",
        weights=lambda own: {**own, name: own[name] * np.nan},
    )
    with pytest.raises(ValueError, match=f"the weights {name} of the encoder .* not all finite"):
        load_encoder(place)


def test_a_transformer_without_its_tokenizer_is_refused(folders, tmp_path):
    place = with_changed(folders["transformer"], tmp_path / "e")
    for file in tmp_path.glob("e/*token*"):
        file.unlink()
    with pytest.raises(ValueError, match=r"tokenizer"):
        load_encoder(place)


def test_an_encoder_without_a_name_is_refused():
    with pytest.raises(ValueError, match="the encoder has no name"):
        load_encoder("")


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no weights of an encoder"):
        load_encoder(str(tmp_path))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nothing"):
        load_encoder(str(tmp_path / "nothing"))


def test_a_name_that_nobody_knows_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ValueError, match=r"'nobody/nothing' is no folder.*no network.*give the path"
    ):
        load_encoder("nobody/nothing")


def test_a_file_that_is_no_safetensors_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        load_encoder(str(tmp_path))


def test_a_table_without_tokenizer_is_refused(folders, tmp_path):
    table = (folders["static"] / "table.safetensors").read_bytes()
    (tmp_path / "table.safetensors").write_bytes(table)
    with pytest.raises(FileNotFoundError, match=r"but no tokenizer\.json"):
        load_encoder(str(tmp_path))


def test_too_few_tokens_for_any_text_are_refused(folders):
    with pytest.raises(ValueError, match="max_tokens=2 leaves no room"):
        load_encoder(str(folders["transformer"]), max_tokens=2)


# Embeddings on disk


class Counted:
    """An encoder that counts what it is asked for."""

    name, can_be_finetuned, n_dimensions, key = "counted", False, 3, "abc"

    def __init__(self):
        self.asked = []

    def embed(self, texts, run):
        self.asked += texts
        vectors = [[len(text), text.count("a"), 1] for text in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(texts), 3)


def test_an_embedding_is_computed_once(tmp_path):
    encoder = Counted()
    store = EmbeddingStore(encoder, tmp_path)
    first = store.embed(["a", "bb", "a"], RUN)
    assert sorted(encoder.asked) == ["a", "bb"]
    np.testing.assert_array_equal(first[:, 0], [1, 2, 1])
    again = EmbeddingStore(encoder, tmp_path)
    np.testing.assert_array_equal(again.embed(["bb", "ccc"], RUN)[:, 0], [2, 3])
    assert encoder.asked[2:] == ["ccc"]
    assert len(again) == 3


def test_what_one_store_keeps_another_finds_that_was_open_before(tmp_path):
    encoder = Counted()
    one, other = EmbeddingStore(encoder, tmp_path), EmbeddingStore(encoder, tmp_path)
    one.embed(["a", "bb"], RUN)
    np.testing.assert_array_equal(other.embed(["bb", "ccc"], RUN)[:, 0], [2, 3])
    assert sorted(encoder.asked) == ["a", "bb", "ccc"]


def test_other_weights_have_other_embeddings(tmp_path):
    EmbeddingStore(Counted(), tmp_path).embed(["a"], RUN)
    other = Counted()
    other.key = "def"
    EmbeddingStore(other, tmp_path).embed(["a"], RUN)
    assert other.asked == ["a"]


def test_what_is_not_to_be_kept_is_not_kept(tmp_path):
    store = EmbeddingStore(Counted(), tmp_path)
    np.testing.assert_array_equal(store.embed(["aaaa"], RUN, keep=False)[:, 1], [4])
    assert len(store) == 0
    assert list(tmp_path.rglob("*.safetensors")) == []


def test_a_run_that_was_stopped_loses_only_the_block_it_was_at(tmp_path, monkeypatch):
    monkeypatch.setattr("polyseme.backbones.transformer.embedding_store.TEXTS_AT_ONCE", 2)
    texts = [f"{i:03}" for i in range(6)]

    class Stops(Counted):
        def embed(self, texts, run):
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return super().embed(texts, run)

    with pytest.raises(KeyboardInterrupt):
        EmbeddingStore(Stops(), tmp_path).embed(texts, RUN)
    assert not list(tmp_path.rglob("*.part"))
    encoder = Counted()
    EmbeddingStore(encoder, tmp_path).embed(texts, RUN)
    assert len(encoder.asked) == 2


def test_a_damaged_file_of_embeddings_is_computed_again(tmp_path):
    EmbeddingStore(Counted(), tmp_path).embed(["a", "b"], RUN)
    [file] = tmp_path.rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-4])
    encoder = Counted()
    EmbeddingStore(encoder, tmp_path).embed(["a"], RUN)
    assert encoder.asked == ["a"]


def test_without_a_place_nothing_stays_behind(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = EmbeddingStore(Counted())
    store.embed(["a"], RUN)
    assert list(tmp_path.rglob("*.safetensors"))
    del store
    assert list(tmp_path.iterdir()) == []


# Side by side


def test_both_kinds_of_features_have_the_length_that_was_asked_for():
    features = EncodedFeatures(Counted(), 0.5, (2, 0))
    features.encoder.embed = lambda texts, run: np.eye(3, dtype=np.float32)[: len(texts)]
    documents = Documents(sparse([[3, 4], [0, 0]]), texts=["a", "b"])
    seen = features.of(documents, RUN)
    np.testing.assert_allclose(seen.sparse.to_scipy().toarray(), [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(seen.dense, [[0.5, 0, 0], [0, 0.5, 0]])
    assert seen.layout == features.seen_layout == (2, 3)
    assert features.of(seen, RUN) is seen


def test_the_last_few_texts_are_not_computed_again():
    features = EncodedFeatures(Counted(), 1.0, (1, 0))
    documents = Documents(sparse([[1], [1], [1]]), texts=["a", "bb", "ccc"])
    first = features.of(documents, RUN)
    again = features.of(documents.take(np.array([2, 0])), RUN)
    assert features.encoder.asked == ["a", "bb", "ccc"]
    np.testing.assert_array_equal(again.dense, first.dense[[2, 0]])
    features.of(Documents(sparse([[1], [1]]), texts=["a", "dddd"]), RUN)
    assert features.encoder.asked[3:] == ["a", "dddd"]


def test_dense_features_of_their_own_stay_before_the_embedding():
    features = EncodedFeatures(Counted(), 1.0, (0, 1))
    documents = Documents(dense=np.array([[7]], dtype=np.float32), texts=["aa"])
    np.testing.assert_array_equal(features.of(documents, RUN).dense, [[7, 2, 2, 1]])


def test_documents_without_texts_are_refused():
    with pytest.raises(ValueError, match="these documents have none"):
        EncodedFeatures(Counted(), 1.0, (1, 0)).of(Documents(sparse([[1]])), RUN)
