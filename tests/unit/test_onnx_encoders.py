"""Encoders in ONNX: near to torch, each text by itself, and checked before they are computed."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import polyseme
from polyseme import TextModel, XRLinear, XTransformer
from polyseme.backbones.transformer.encoders import load_encoder, restore_encoder
from polyseme.backbones.transformer.onnx_export import in_onnx
from polyseme.demo import make_corpus
from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents
from polyseme.machine.run import Run
from tests.tiny_encoders import (
    need_libraries,
    need_onnx,
    table_folder,
    transformer_folder,
)

need_libraries()
need_onnx()

import onnx  # noqa: E402

CORPUS, TEST = make_corpus(300, seed=0), make_corpus(60, seed=1)
TEXTS = [*TEST.texts[:6], "night", TEST.texts[0][:30]]
RUN = Run()
BARE = {"ordering": "product", "senses": "none", "verbose": 0, "n_jobs": 1, "max_leaf_size": 20}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders")
    return {
        "transformer": str(transformer_folder(place / "transformer", CORPUS.texts)),
        "static": str(table_folder(place / "static", CORPUS.texts)),
    }


@pytest.fixture(scope="module")
def torch_encoder(folders):
    return load_encoder(folders["transformer"], max_tokens=40)


@pytest.fixture(scope="module")
def encoders(torch_encoder):
    return {precision: in_onnx(torch_encoder, precision) for precision in ("float32", "int8")}


@pytest.fixture(params=["float32", "int8"])
def encoder(request, encoders):
    return encoders[request.param]


@pytest.fixture(scope="module")
def text_model(folders):
    classifier = XTransformer(folders["transformer"], finetuning="none", max_tokens=40, **BARE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts are cut off
        model = TextModel(classifier=classifier, held_out=0, verbose=0)
        return model.fit(CORPUS.texts, CORPUS.labels)


def embed(encoder, texts, run=RUN):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts are cut off
        return encoder.embed(texts, run)


def test_floats_give_what_torch_gives(torch_encoder, encoders):
    expected = embed(torch_encoder, TEXTS)
    np.testing.assert_allclose(embed(encoders["float32"], TEXTS), expected, atol=1e-5)


def test_int8_is_near_to_what_torch_gives(torch_encoder, encoders):
    expected, found = embed(torch_encoder, TEXTS), embed(encoders["int8"], TEXTS)
    cosines = (expected * found).sum(axis=1)
    assert cosines.min() > 0.99
    assert np.abs(expected - found).max() > 1e-5  # else nothing was rounded


def test_the_first_token_can_stand_for_the_text(folders):
    first = load_encoder(folders["transformer"], pooling="first", max_tokens=40)
    expected = embed(first, TEXTS)
    np.testing.assert_allclose(embed(in_onnx(first, "float32"), TEXTS), expected, atol=1e-5)


def test_what_stands_beside_a_text_does_not_matter(encoder):
    together = embed(encoder, TEXTS)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(embed(encoder, [text])[0], together[i], atol=1e-6)


def test_the_number_of_threads_does_not_matter(encoder):
    found = embed(encoder, TEXTS, Run(n_threads=2))
    np.testing.assert_allclose(found, embed(encoder, TEXTS), atol=1e-6)


def test_a_text_without_words_is_a_vector_of_zeros(encoder):
    vectors = embed(encoder, ["", "night", "  \n"])
    np.testing.assert_array_equal(np.abs(vectors).sum(axis=1) > 0, [False, True, False])
    assert embed(encoder, []).shape == (0, encoder.n_dimensions)


def test_more_texts_than_are_computed_at_once_come_back_in_their_order(encoder):
    told = []
    texts = CORPUS.texts[:40]
    vectors = embed(encoder, texts, Run(progress=told.append))
    np.testing.assert_allclose(vectors[-1], embed(encoder, texts[-1:])[0], atol=1e-6)
    assert told == [16, 32, 40]


def test_weights_are_held_in_bytes(encoders):
    sizes = {name: len(encoder.graph) for name, encoder in encoders.items()}
    held = onnx.ModelProto.FromString(encoders["int8"].graph.tobytes()).graph.initializer
    matrices = [one for one in held if len(one.dims) == 2 and 1 not in one.dims]
    assert matrices
    assert {one.data_type for one in matrices} == {onnx.TensorProto.INT8}
    assert sizes["int8"] < sizes["float32"]


def test_weights_are_small_enough_for_every_processor(encoders):
    held = onnx.ModelProto.FromString(encoders["int8"].graph.tobytes()).graph
    products = [node for node in held.node if node.op_type == "MatMulIntegerToFloat"]
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in held.initializer}
    assert len(products) == 2 * 6  # layers, and matrices of each
    assert max(np.abs(arrays[node.input[1]].astype(int)).max() for node in products) == 63


def test_a_stored_encoder_gives_the_same_vectors(encoder, tmp_path):
    again = stored_and_restored(encoder.contents(), tmp_path)
    np.testing.assert_array_equal(embed(again, TEXTS), embed(encoder, TEXTS))
    assert (again.key, again.name, again.precision) == (
        encoder.key,
        encoder.name,
        encoder.precision,
    )


def test_an_encoder_can_be_sent_to_another_process(encoder):
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(embed(again, TEXTS), embed(encoder, TEXTS))


# Models


@pytest.mark.slow
def test_a_quantized_model_suggests_nearly_the_same_and_leaves_the_first_alone(text_model):
    before = text_model.suggest(TEST.texts, limit=1, threshold=0)
    for precision, least in (("float32", 0.95), ("int8", 0.9)):
        quick = polyseme.quantize(text_model, precision)
        after = quick.suggest(TEST.texts, limit=1, threshold=0)
        same = [one[0].label == other[0].label for one, other in zip(before, after, strict=True)]
        assert np.mean(same) >= least
        assert quick.classifier_.features_.encoder.precision == precision
        assert text_model.classifier_.features_.encoder.form == "transformer"


@pytest.mark.slow
def test_a_saved_quantized_model_imports_no_torch(text_model, tmp_path):
    quick = polyseme.quantize(text_model)
    quick.save(tmp_path / "quick")
    expected = quick.suggest(TEST.texts[:1], limit=1, threshold=0)[0][0].name
    program = f"""
import sys, warnings
warnings.simplefilter("ignore")
import polyseme
model = polyseme.load({str(tmp_path / "quick")!r})
print(model.suggest([{TEST.texts[0]!r}], limit=1, threshold=0)[0][0].name)
print("torch" in sys.modules, "transformers" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == [expected, "False False"], done.stderr


@pytest.mark.slow
def test_members_of_an_ensemble_are_quantized_and_tables_stay(folders):
    members = [(folders["static"], "both"), (folders["transformer"], "both")]
    documents = polyseme.inputs.documents.Documents(texts=CORPUS.texts[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = XTransformer(ensemble=members, finetuning="none", max_tokens=40, **BARE)
        model.fit(documents, CORPUS.labels[:60])
        quick = polyseme.quantize(model)
        assert [one.features_.encoder.form for one in quick.members_] == ["static", "onnx"]
        assert [one.features_.encoder.form for one in model.members_] == ["static", "transformer"]
        found, expected = (
            quick.predict_top_k(documents, 1)[0],
            model.predict_top_k(documents, 1)[0],
        )
    assert np.mean(found == expected) > 0.8


# What is refused


def stored_and_restored(contents, place):
    save_model(place / "model", Contents({}, {}, {}).with_part("encoder", contents))
    return restore_encoder(open_model(place / "model").model("encoder"))


def edited(encoder, change):
    """Return what is stored of an encoder whose graph somebody has changed."""
    model = onnx.ModelProto.FromString(encoder.graph.tobytes())
    change(model)
    graph = np.frombuffer(model.SerializeToString(), dtype=np.uint8)
    contents = encoder.contents()
    return Contents(contents.description, {**contents.arrays, "graph": graph}, {})


def name_another_file(model):
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../secret")


def name_another_file_in_a_node(model):
    tensor = next(
        one.t for node in model.graph.node for one in node.attribute if one.HasField("t")
    )
    tensor.external_data.add(key="location", value="secret")


def put_a_loop_in(model):
    body = onnx.helper.make_graph([], "body", [], [])
    model.graph.node.append(onnx.helper.make_node("Loop", [], ["for_ever"], body=body))


def bring_an_operation_along(model):
    model.graph.node[0].domain = "com.stranger"


def bring_a_function_along(model):
    model.functions.add(name="own")


def take_other_inputs(model):
    model.graph.input[0].name = "letters"


def leave_nodes_out(model):
    del model.graph.node[10:20]


def shorten_the_table(model):
    table = max(model.graph.initializer, key=lambda one: one.dims[0] if len(one.dims) == 2 else 0)
    few = onnx.numpy_helper.to_array(table)[:3]
    table.CopyFrom(onnx.numpy_helper.from_array(few, table.name))


def spoil_the_numbers(model):
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            array = np.full(tuple(tensor.dims), np.nan, dtype=np.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))


def give_another_shape(model):
    model.graph.output[0].name = "ids_again"
    model.graph.node.append(onnx.helper.make_node("Identity", ["ids"], ["ids_again"]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (name_another_file, "names other files"),
        (name_another_file_in_a_node, "names other files"),
        (put_a_loop_in, "has loops or branches"),
        (bring_an_operation_along, "has an unknown operation"),
        (bring_a_function_along, "has more than nodes"),
        (take_other_inputs, "is not one from tokens to vectors"),
        (give_another_shape, "is not one from tokens to vectors"),
        (leave_nodes_out, "cannot be read by ONNX Runtime"),
        (shorten_the_table, "cannot be computed by ONNX Runtime"),
        (spoil_the_numbers, "gives no finite vectors"),
    ],
)
def test_an_edited_graph_is_refused(encoder, tmp_path, change, said):
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        stored_and_restored(edited(encoder, change), tmp_path)


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("precision", "int4", "the precision of its encoder is 'int4'"),
        ("n_dimensions", 0, "n_dimensions is 0"),
        ("n_dimensions", 31, "gives no finite vectors of shape"),
        ("max_tokens", "many", "max_tokens of its encoder is 'many'"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(encoder, tmp_path, what, value, said):
    contents = encoder.contents()
    contents.description[what] = value
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        stored_and_restored(contents, tmp_path)


def test_a_graph_that_was_cut_short_is_refused(encoder, tmp_path):
    contents = encoder.contents()
    for length in (0, 10, len(encoder.graph) // 2, len(encoder.graph) - 1):
        arrays = {**contents.arrays, "graph": encoder.graph[:length]}
        with pytest.raises(ValueError, match=r"is damaged: .*(cannot be read|tokens to vectors)"):
            stored_and_restored(Contents(contents.description, arrays, {}), tmp_path)


def test_a_static_table_is_not_quantized(folders, encoders):
    with pytest.raises(ValueError, match="is a static table; only transformers"):
        in_onnx(load_encoder(folders["static"]))
    with pytest.raises(ValueError, match="is in ONNX already"):
        in_onnx(encoders["int8"])


def test_a_model_without_encoder_is_not_quantized():
    with pytest.raises(ValueError, match="XRLinear has no encoder to quantize"):
        polyseme.quantize(XRLinear())


def test_a_precision_that_is_not_there_is_refused(torch_encoder):
    with pytest.raises(ValueError, match="one of int8, float32, not 'int4'"):
        in_onnx(torch_encoder, "int4")


def test_an_encoder_that_cannot_be_exported_is_named(torch_encoder, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("there is no such operation.\nA long story follows.")

    monkeypatch.setattr("torch.onnx.export", fail)
    with pytest.raises(ValueError, match=r"to ONNX: there is no such operation\.$"):
        in_onnx(torch_encoder)


def test_a_graph_that_does_not_give_what_torch_gives_is_refused(torch_encoder, monkeypatch):
    def pooled_otherwise(states, is_token, pooling):
        return states[:, 0]

    monkeypatch.setattr("polyseme.backbones.transformer.onnx_export.pool", pooled_otherwise)
    with pytest.raises(ValueError, match="its graph gives other embeddings than torch does"):
        in_onnx(torch_encoder)


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_a_missing_extra_is_named(torch_encoder, encoders, tmp_path, monkeypatch, missing):
    contents = encoders["int8"].contents()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ValueError, match=rf"need {missing}; .*pip install '.\[onnx\]'"):
        in_onnx(torch_encoder)
    with pytest.raises(ValueError, match=rf"need {missing}; .*pip install '.\[onnx\]'"):
        stored_and_restored(contents, tmp_path)
