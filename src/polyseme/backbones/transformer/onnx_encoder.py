"""A transformer as a graph that ONNX Runtime computes, in floats or in int8, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.transformer.static_table import restored_tokens
from polyseme.backbones.transformer.tokens import Tokens
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.machine.run import Run
from polyseme.machine.threads import count_threads

__all__ = ["INPUTS", "INT8_PRODUCT", "OUTPUT", "PRECISIONS", "OnnxEncoder", "what_is_wrong"]

PRECISIONS = ("int8", "float32")
INPUTS, OUTPUT = ("ids", "mask"), "vectors"
INT8_PRODUCT = ("com.microsoft", "MatMulIntegerToFloat")
MOST_BYTES = 2**31 - 1  # of one protobuf message
TEXTS_AT_ONCE = 16  # more are not quicker on a CPU, and Ctrl-C would have to wait for them

Floats = npt.NDArray[np.float32]
TokenLists = Sequence[npt.NDArray[np.int32]]


class OnnxEncoder:
    """A graph from tokens to embeddings, and the tokenizer.

    Parameters
    ----------
    graph : ndarray of uint8
        An ONNX model of int64 ``ids`` and ``mask``, shape (n_texts, n_tokens), that gives float
        ``vectors``, shape (n_texts, n_dimensions), at unit length.
    tokens : Tokens
    name : str
        Where the encoder came from, for messages.
    precision : {'int8', 'float32'}
    n_dimensions : int
    """

    form = "onnx"
    can_be_finetuned = False

    def __init__(
        self,
        graph: npt.NDArray[np.uint8],
        tokens: Tokens,
        name: str,
        precision: str,
        n_dimensions: int,
    ) -> None:
        self.graph, self.tokens, self.name = graph, tokens, name
        self.precision, self.n_dimensions = precision, n_dimensions
        self._session: tuple[int, Any] | None = None

    @property
    def key(self) -> str:
        """What embeddings depend on, but for the text, in a few letters."""
        digest = hashlib.sha256(self.tokens.described.encode())
        digest.update(json.dumps([self.tokens.max_tokens]).encode())
        digest.update(self.graph.data)
        return digest.hexdigest()[:24]

    def embed(self, texts: Sequence[str], run: Run) -> Floats:
        """Return the embedding of each text at unit length, or zeros if it has no token.

        Returns
        -------
        ndarray of float32, shape (n_texts, n_dimensions)
        """
        return self.embed_tokens(self.tokens.of(texts), run)

    def embed_tokens(self, tokens: TokenLists, run: Run) -> Floats:
        """Do the same for texts that were taken apart before.

        Raises
        ------
        ValueError
            If the graph is not one that makes embeddings of these tokens.
        """
        found = np.zeros((len(tokens), self.n_dimensions), dtype=np.float32)
        lengths = np.array([len(one) for one in tokens], dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        for first in range(0, len(order), TEXTS_AT_ONCE):
            rows = order[first : first + TEXTS_AT_ONCE]
            found[rows] = self._computed([tokens[row] for row in rows], run.n_threads)
            if run.progress is not None:
                run.progress(first + len(rows))
        return found

    def _computed(self, tokens: TokenLists, n_threads: int) -> Floats:
        session = self._session_with(n_threads)
        try:
            [vectors] = session.run(
                [OUTPUT], dict(zip(INPUTS, self.tokens.padded(tokens), strict=True))
            )
        except Exception as error:  # the library has many kinds of its own
            raise ValueError(
                f"the encoder {self.name} cannot be computed by ONNX Runtime: {_first(error)}."
            ) from error
        wanted = len(tokens), self.n_dimensions
        if (
            not isinstance(vectors, np.ndarray)
            or vectors.shape != wanted
            or vectors.dtype != np.float32
            or not np.isfinite(vectors).all()
        ):
            raise ValueError(f"the encoder {self.name} gives no finite vectors of shape {wanted}.")
        return vectors

    def _session_with(self, n_threads: int) -> Any:
        """Return the graph, ready to be computed by so many threads."""
        made = self._session
        if made is None or made[0] != n_threads:
            runtime = needed_library("onnxruntime", "onnx")
            options = runtime.SessionOptions()
            options.intra_op_num_threads = n_threads
            options.log_severity_level = 4  # what goes wrong is raised as well
            # Threads that wait busily take the cores from all else that a server does.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            try:
                session = runtime.InferenceSession(
                    self.graph.tobytes(),
                    options,
                    providers=["CPUExecutionProvider"],
                    enable_fallback=0,  # another try would be the same, and be printed
                )
            except Exception as error:  # the library has many kinds of its own
                raise ValueError(
                    f"the encoder {self.name} cannot be read by ONNX Runtime: {_first(error)}."
                ) from error
            made = self._session = n_threads, session
        return made[1]

    def contents(self) -> Contents:
        """Return what makes it up, to be stored."""
        return Contents(
            {
                "form": self.form,
                "name": self.name,
                "max_tokens": self.tokens.max_tokens,
                "precision": self.precision,
                "n_dimensions": self.n_dimensions,
            },
            {"tokenizer": self.tokens.to_array(), "graph": self.graph},
            {},
        )

    @classmethod
    def restored(cls, stored: StoredModel) -> OnnxEncoder:
        """Return what was stored, after checking it and computing two texts."""
        precision = stored.value("precision", str)
        if precision not in PRECISIONS:
            raise stored.damaged(f"the precision of its encoder is {precision[:80]!r}")
        graph = stored.array("graph", np.uint8, (None,))
        wrong = what_is_wrong(graph)
        if wrong:
            raise stored.damaged(f"the ONNX graph of its encoder {wrong}")
        tokens = restored_tokens(stored)
        name, n_dimensions = stored.value("name", str), stored.whole_number("n_dimensions", 1)
        made = cls(graph, tokens, name, precision, n_dimensions)
        of_two = [
            np.array(ids, dtype=np.int32) for ids in ([tokens.pad], [0, tokens.n_tokens - 1])
        ]
        try:
            made.embed_tokens(of_two, Run(n_threads=count_threads(None)))
        except ValueError as error:
            if "need onnxruntime" in str(error):
                raise
            raise stored.damaged(str(error).rstrip(".")) from error
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_session": None}


def what_is_wrong(graph: npt.NDArray[np.uint8]) -> str:
    """Say why a graph is not computed; nothing if it is fine.

    It has to hold all its numbers, since others would be read from any file that it names, and
    nothing that can go on for ever: no loops, no functions of its own.
    """
    onnx = needed_library("onnx", "onnx")
    if len(graph) > MOST_BYTES:
        return "is larger than 2 GiB"
    try:
        model = onnx.ModelProto.FromString(graph.tobytes())
    except Exception:  # protobuf's own kind
        return "cannot be read"
    if [one.name for one in model.graph.input] != list(INPUTS) or [
        one.name for one in model.graph.output
    ] != [OUTPUT]:
        return "is not one from tokens to vectors"
    if model.functions or model.training_info:
        return "has more than nodes"
    for message in _parts_of(model.graph):
        if isinstance(message, onnx.TensorProto) and (
            message.data_location == onnx.TensorProto.EXTERNAL or message.external_data
        ):
            return "names other files"
        if isinstance(message, onnx.GraphProto):
            return "has loops or branches"
        if isinstance(message, onnx.NodeProto) and not (
            message.domain in ("", "ai.onnx") or (message.domain, message.op_type) == INT8_PRODUCT
        ):
            return f"has an unknown operation, {message.op_type[:40]!r}"
    return ""


def _parts_of(message: Any) -> Iterator[Any]:
    """Walk through all messages within one of protobuf's."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "ListFields") else value:
            yield part
            yield from _parts_of(part)


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]
