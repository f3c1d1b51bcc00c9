"""Encoders by name or folder: transformers of the Hugging Face kind, and tables of tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.transformer.onnx_encoder import OnnxEncoder
from polyseme.backbones.transformer.static_table import StaticTable
from polyseme.backbones.transformer.tokens import Tokens
from polyseme.backbones.transformer.transformer import POOLINGS, TransformerEncoder
from polyseme.files.safetensors_files import map_arrays
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.machine.run import Run

__all__ = ["POOLINGS", "Encoder", "load_encoder", "restore_encoder"]


class Encoder(Protocol):
    """Makes a vector of a text."""

    name: str
    can_be_finetuned: bool

    @property
    def n_dimensions(self) -> int:
        """Numbers of an embedding."""
        ...

    @property
    def key(self) -> str:
        """What embeddings depend on, but for the text, in a few letters."""
        ...

    def embed(self, texts: Sequence[str], run: Run) -> npt.NDArray[np.float32]:
        """Return the embedding of each text at unit length, shape (n_texts, n_dimensions)."""
        ...

    def contents(self) -> Contents:
        """Return what makes it up, to be stored."""
        ...


def load_encoder(
    name: str, *, pooling: str = "mean", max_tokens: int = 128, device: str = "auto"
) -> Encoder:
    """Return an encoder with the weights that others gave it.

    Parameters
    ----------
    name : str
        A folder with ``config.json``, weights (safetensors) and a tokenizer; a folder with a
        table of token vectors (one safetensors file) and a tokenizer; or a name that the hub of
        Hugging Face knows, which is asked for if it is not in the cache of its library.
    pooling : {'mean', 'first'}
        From the vectors of tokens to that of a text. A table is always averaged.
    max_tokens : int
        Most tokens of a text that count. Of a table all do.
    device : str
        Where to compute: 'auto', 'cpu', 'cuda', ...

    Raises
    ------
    ValueError, FileNotFoundError
        If there is no such encoder, or none that can be read without running code of its folder.
    """
    if not name.strip():
        raise ValueError("the encoder has no name; give a folder, or a name that the hub knows.")
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
            raise FileNotFoundError(f"there is no folder {name} to read an encoder from.")
        return TransformerEncoder.load(name, pooling=pooling, max_tokens=max_tokens, device=device)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = sorted(path.name for path in (*folder.glob("*.bin"), *folder.glob("*.pt")))
        if pickled:
            raise ValueError(
                f"the weights of the encoder {name} ({pickled[0]}) are pickled, which can run "
                "code when they are read; convert them to safetensors."
            )
        raise FileNotFoundError(f"the folder {name} has no weights of an encoder (*.safetensors).")
    if len(weights) == 1:
        table = _only_table(weights[0])
        if table is not None:
            return StaticTable(_tokens_beside(weights[0]), table, name)
    return TransformerEncoder.load(name, pooling=pooling, max_tokens=max_tokens, device=device)


def restore_encoder(stored: StoredModel, *, device: str = "auto") -> Encoder:
    """Return the encoder of a stored model."""
    form = stored.value("form", str)
    if form == StaticTable.form:
        return StaticTable.restored(stored)
    if form == OnnxEncoder.form:
        return OnnxEncoder.restored(stored)
    if form == TransformerEncoder.form:
        return TransformerEncoder.restored(stored, device=device)
    raise stored.damaged(f"its encoder is of the form {form[:80]!r}, which is not known here")


def _only_table(path: Path) -> npt.NDArray[Any] | None:
    """Return the table of a file that holds nothing else with rows and columns."""
    safetensors = needed_library("safetensors")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            names = list(file.keys())
            shapes = {name: file.get_slice(name).get_shape() for name in names}
    except Exception as error:  # of a file that is not one
        raise ValueError(f"{path} is not a safetensors file: {error}.") from error
    tables = [name for name in names if len(shapes[name]) == 2]
    if (
        len(tables) != 1
        or len(names) > 3
        or (path.parent / "config_sentence_transformers.json").exists()
    ):
        return None
    return map_arrays(path, path.stat().st_size)[tables[0]]


def _tokens_beside(weights: Path) -> Tokens:
    for file in sorted(weights.parent.glob("*tokenizer*.json")):
        try:
            described = json.loads(file.read_bytes())
        except ValueError:
            continue
        if isinstance(described, dict) and "model" in described:
            return Tokens(json.dumps(described), None)
    raise FileNotFoundError(
        f"the folder {weights.parent} has a table of token vectors but no tokenizer.json that can "
        "be read."
    )
