"""From a transformer to a graph for ONNX Runtime, and from floats to int8."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.transformer.encoders import Encoder
from polyseme.backbones.transformer.onnx_encoder import (
    INPUTS,
    INT8_PRODUCT,
    OUTPUT,
    PRECISIONS,
    OnnxEncoder,
    what_is_wrong,
)
from polyseme.backbones.transformer.transformer import TransformerEncoder, pool
from polyseme.machine.run import Run

__all__ = ["in_onnx"]

OPERATIONS = 17  # the version of ONNX' set of operations; ONNX Runtime has read it since 1.12
TOLERANCE = 1e-4  # how far a coordinate may be from torch's
# A product of two bytes is added to another in 16 bits on processors without VNNI: weights of
# seven bits and values of eight cannot overflow there, so that every machine computes the same.
WEIGHT_STEPS, VALUE_STEPS, MIDDLE = 63, 127, 128

Array = npt.NDArray[Any]


def in_onnx(encoder: Encoder, precision: str = "int8") -> OnnxEncoder:
    """Return a transformer as a graph that ONNX Runtime computes.

    Parameters
    ----------
    encoder : Encoder
        A `TransformerEncoder`.
    precision : {'int8', 'float32'}
        Numbers that products of matrices are computed with. In int8, weights have a step of their
        own for each output, and values for each token, so that no text depends on those beside it.

    Raises
    ------
    ValueError
        If it is no transformer, or one that cannot be exported.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}.")
    for name in ("onnx", "onnxruntime"):
        needed_library(name, "onnx")
    if not isinstance(encoder, TransformerEncoder):
        what = "is in ONNX already" if isinstance(encoder, OnnxEncoder) else "is a static table"
        raise ValueError(
            f"the encoder {encoder.name} {what}; only transformers are exported to ONNX."
        )
    floats = TransformerEncoder(
        copy.deepcopy(encoder.network),
        encoder.tokens,
        encoder.pooling,
        encoder.name,
        device="cpu",
        precision="float32",
    )
    graph = _exported(floats)
    _compare(_made(graph, floats, "float32"), floats)
    return _made(_in_int8(graph) if precision == "int8" else graph, floats, precision)


def _made(content: bytes, encoder: TransformerEncoder, precision: str) -> OnnxEncoder:
    graph = np.frombuffer(content, dtype=np.uint8)
    wrong = what_is_wrong(graph)
    if wrong:  # it would be refused when it is loaded
        raise _not_exported(encoder, f"its graph {wrong}")
    return OnnxEncoder(graph, encoder.tokens, encoder.name, precision, encoder.n_dimensions)


def _not_exported(encoder: TransformerEncoder, why: str) -> ValueError:
    return ValueError(f"the encoder {encoder.name} cannot be exported to ONNX: {why}.")


def _exported(encoder: TransformerEncoder) -> bytes:
    """Follow two texts through the network, and write down what is computed."""
    torch = needed_library()

    class Pooled(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.network = encoder.network

        def forward(self, ids: Any, mask: Any) -> Any:
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
            return pool(states, mask, encoder.pooling)

    ids, mask = (torch.from_numpy(array) for array in encoder.tokens.padded(_two_texts(encoder)))
    written = io.BytesIO()
    sizes = {0: "n_texts", 1: "n_tokens"}
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # notes on how the exporter will be replaced
            torch.onnx.export(
                Pooled().eval(),
                (ids, mask),
                written,
                input_names=list(INPUTS),
                output_names=[OUTPUT],
                dynamic_axes={INPUTS[0]: sizes, INPUTS[1]: sizes, OUTPUT: {0: "n_texts"}},
                opset_version=OPERATIONS,
                dynamo=False,
            )
    except Exception as error:  # there is no end to what an exporter may raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise _not_exported(encoder, lines[0][:200].rstrip(".")) from error
    return written.getvalue()


def _two_texts(encoder: TransformerEncoder) -> list[npt.NDArray[np.int32]]:
    ids = np.arange(7, dtype=np.int32) % encoder.tokens.n_tokens
    return [ids, ids[:5]]


def _compare(made: OnnxEncoder, encoder: TransformerEncoder) -> None:
    """Refuse a graph that fits the texts it was made from and no others."""
    chance = np.random.default_rng(0)
    longest = encoder.tokens.max_tokens or 64
    texts = [
        chance.integers(0, encoder.tokens.n_tokens, length, dtype=np.int32)
        for length in (longest, 1, (longest + 1) // 2)
    ]
    run = Run()
    expected = encoder.embed_tokens(texts, run)
    for rows in ([0, 1, 2], [1]):
        found = made.embed_tokens([texts[row] for row in rows], run)
        if np.abs(found - expected[rows]).max() > TOLERANCE:
            raise _not_exported(encoder, "its graph gives other embeddings than torch does")


def _in_int8(content: bytes) -> bytes:
    """Return the same graph with products and tables of int8."""
    onnx = needed_library("onnx", "onnx")
    model = onnx.ModelProto.FromString(content)
    graph = _Int8Graph(model.graph)
    for node in list(model.graph.node):
        graph.add(node)
    graph.finish()
    model.opset_import.append(onnx.helper.make_opsetid(INT8_PRODUCT[0], 1))
    return bytes(model.SerializeToString())


class _Int8Graph:
    """Takes the nodes of a graph one by one, and puts others of int8 in the place of some.

    A product ``x @ w`` of values and weights becomes that of whole numbers::

        step = max(abs(x)) / 127, for each token
        (round(x / step) @ round(w / step_of_w)) * step_of_w * step
    """

    def __init__(self, graph: Any) -> None:
        onnx = needed_library("onnx", "onnx")
        self._onnx, self._graph = onnx, graph
        self._weights = {
            one.name: one
            for one in graph.initializer
            if one.data_type == onnx.TensorProto.FLOAT and len(one.dims) == 2
        }
        self._nodes: list[Any] = []
        self._known: set[str] = set()
        self._new: dict[str, Array] = {
            "int8.share": np.array(1 / VALUE_STEPS, dtype=np.float32),
            "int8.least": np.array(np.finfo(np.float32).tiny, dtype=np.float32),
            "int8.one": np.array(1, dtype=np.float32),
            "int8.middle": np.array(MIDDLE, dtype=np.uint8),
            "int8.zero": np.array(0, dtype=np.int8),
        }

    def add(self, node: Any) -> None:
        """Take over a node, or what is put in its place."""
        if node.op_type == "MatMul" and node.input[1] in self._weights:
            self._add_product(node.input[0], node.input[1], node.output[0])
        elif node.op_type == "Gather" and node.input[0] in self._weights and not _axis(node):
            self._add_lookup(node.input[0], node.input[1], node.output[0])
        else:
            self._nodes.append(node)

    def _add_product(self, values: str, weights: str, result: str) -> None:
        whole_values, step = self._in_steps(values)
        whole_weights, steps = self._stored(weights, axis=0, n_steps=WEIGHT_STEPS)
        own = [whole_weights, "int8.one", steps, "int8.middle", "int8.zero"]
        domain, operation = INT8_PRODUCT
        self._node(operation, [whole_values, *own], f"{result}.in_steps", domain=domain)
        self._node("Mul", [f"{result}.in_steps", step], result)

    def _add_lookup(self, table: str, rows: str, result: str) -> None:
        whole, steps = self._stored(table, axis=1, n_steps=VALUE_STEPS)
        self._node("Gather", [whole, rows], f"{result}.int8")
        self._node("Cast", [f"{result}.int8"], f"{result}.in_steps", to=1)
        self._node("Gather", [steps, rows], f"{result}.steps")
        self._node("Mul", [f"{result}.in_steps", f"{result}.steps"], result)

    def _in_steps(self, values: str) -> tuple[str, str]:
        """Return what values are called as whole numbers, and the step of each row."""
        whole, step = f"{values}.uint8", f"{values}.step"
        if values not in self._known:
            self._known.add(values)
            self._node("Abs", [values], f"{values}.abs")
            self._node("ReduceMax", [f"{values}.abs"], f"{values}.max", axes=[-1], keepdims=1)
            self._node("Mul", [f"{values}.max", "int8.share"], f"{values}.exact_step")
            self._node("Max", [f"{values}.exact_step", "int8.least"], step)
            self._node("Div", [values, step], f"{values}.in_steps")
            self._node("QuantizeLinear", [f"{values}.in_steps", "int8.one", "int8.middle"], whole)
        return whole, step

    def _stored(self, name: str, *, axis: int, n_steps: int) -> tuple[str, str]:
        """Return what a matrix is called as whole numbers, and the steps of columns or rows."""
        whole, steps = f"{name}.int8.{axis}", f"{name}.steps.{axis}"
        if whole not in self._new:
            matrix = self._onnx.numpy_helper.to_array(self._weights[name])
            sizes = np.abs(matrix).max(axis=axis, keepdims=True) / np.float32(n_steps)
            sizes[sizes == 0] = 1
            self._new[whole] = np.rint(matrix / sizes).astype(np.int8)
            self._new[steps] = sizes[0] if axis == 0 else sizes
        return whole, steps

    def _node(self, operation: str, inputs: list[str], output: str, **how: Any) -> None:
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [output], **how))

    def finish(self) -> None:
        """Put the new nodes and numbers into the graph; what nothing needs any more goes."""
        needed = {name for node in self._nodes for name in node.input}
        kept = [one for one in self._graph.initializer if one.name in needed]
        del self._graph.node[:], self._graph.initializer[:]
        self._graph.node.extend(self._nodes)
        self._graph.initializer.extend(kept)
        self._graph.initializer.extend(
            self._onnx.numpy_helper.from_array(array, name) for name, array in self._new.items()
        )


def _axis(node: Any) -> int:
    return next((one.i for one in node.attribute if one.name == "axis"), 0)
