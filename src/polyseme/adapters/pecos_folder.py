"""The files of PECOS' XR-Linear models, as libpecos 1.2 writes and reads them.

A model is a folder with ``param.json`` and ``ranker/``, which has a ``param.json`` with sizes and
a folder ``<level>.model`` for each level of the tree, from the root down. A level has ``W.npz``,
the weights (features x nodes, a row more for the bias), ``C.npz``, which node is below which
(nodes x nodes above), and ``param.json`` with the value of the bias feature, the beam and the post
processor. Nodes of the last level are labels.

Where a label has several slots, its columns are told by a file of ours, ``label_map.json``, which
libpecos does not look at.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.partition.merging import MERGES

__all__ = ["LABEL_MAP", "LabelMap", "PecosLevel", "read_folder", "read_label_map", "write_folder"]

LABEL_MAP = "label_map.json"
# What PECOS takes where a level does not say.
BEAM_SIZE, POST_PROCESSOR = 20, "l3-hinge"
_ANOTHER = "give the folder that XLinearModel.save has written"


@dataclass(frozen=True, eq=False)
class PecosLevel:
    """A level of the tree in PECOS' form.

    Attributes
    ----------
    weights : csc_matrix of float32, shape (n_features, n_nodes)
    bias : ndarray of float32, shape (n_nodes,)
        What is added to the margin of each node: the bias feature times its weight.
    above : ndarray of int64, shape (n_nodes,)
        The node of the level above that each is below.
    n_above : int
    bias_value : float
        Of the bias feature; 0 for none.
    beam_size : int
    post_processor : str
    """

    weights: Any
    bias: npt.NDArray[np.float32]
    above: npt.NDArray[np.int64]
    n_above: int
    bias_value: float
    beam_size: int
    post_processor: str

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.above)


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Which label each column of the last level is a slot of.

    Attributes
    ----------
    label_of_column : ndarray of int32, shape (n_columns,)
    n_labels : int
    merge : str
        How scores of a label's columns become one.
    """

    label_of_column: npt.NDArray[np.int32]
    n_labels: int
    merge: str


# Reading


def read_folder(folder: Path) -> list[PecosLevel]:
    """Read all levels; each size is compared with the others."""
    if not folder.exists():
        raise FileNotFoundError(f"there is no PECOS model at {folder}.")
    about_file = folder / "ranker" / "param.json"
    if not about_file.is_file():
        raise ValueError(
            f"{folder} is not a PECOS XR-Linear model: ranker/param.json is missing; {_ANOTHER}."
        )
    about = _read_json(about_file)
    depth = _whole(about, "depth", about_file, least=1)
    n_features = _whole(about, "nr_features", about_file, least=1)
    n_labels = _whole(about, "nr_labels", about_file, least=1)
    levels: list[PecosLevel] = []
    for number in range(depth):
        n_above = levels[-1].n_nodes if levels else 1
        levels.append(_read_level(folder / "ranker" / f"{number}.model", n_features, n_above))
    if levels[-1].n_nodes != n_labels:
        raise ValueError(
            f"{about_file} speaks of {n_labels} labels, but the last level has "
            f"{levels[-1].n_nodes}; the folder is damaged, copy it again."
        )
    return levels


def _read_level(folder: Path, n_features: int, n_above: int) -> PecosLevel:
    about_file, weights_file, tree_file = (
        folder / name for name in ("param.json", "W.npz", "C.npz")
    )
    about = _read_json(about_file)
    bias_value = _number(about, "bias", about_file)
    prediction = about.get("pred_kwargs") or {}
    if not isinstance(prediction, dict):
        raise ValueError(f"{about_file}: pred_kwargs are not settings; {_ANOTHER}.")
    weights, tree = _read_matrix(weights_file), _read_matrix(tree_file)
    n_rows = n_features + (bias_value > 0)
    if weights.shape[0] != n_rows:
        raise ValueError(
            f"{weights_file} has {weights.shape[0]} rows, but {n_features} features"
            f"{' and a bias' if bias_value > 0 else ''} need {n_rows}."
        )
    n_nodes = weights.shape[1]
    if n_nodes < 1 or tree.shape != (n_nodes, n_above):
        raise ValueError(
            f"{tree_file} has the shape {tree.shape}, but {n_nodes} nodes below {n_above} need "
            f"({n_nodes}, {n_above}); a part of a tree cannot be imported."
        )
    rows = sp.csr_matrix(tree)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    counts = np.diff(rows.indptr)
    if (counts != 1).any():
        odd = int(np.argmax(counts != 1))
        raise ValueError(
            f"{tree_file}: column {odd} is in {int(counts[odd])} clusters; each must be in one."
        )
    return PecosLevel(
        weights=weights[:n_features],
        bias=(
            (weights[n_features:].toarray().ravel() * bias_value).astype(np.float32)
            if bias_value > 0
            else np.zeros(n_nodes, dtype=np.float32)
        ),
        above=rows.indices.astype(np.int64),
        n_above=n_above,
        bias_value=max(0.0, bias_value),
        beam_size=_whole({"only_topk": BEAM_SIZE, **prediction}, "only_topk", about_file, 1),
        post_processor=str(prediction.get("post_processor", POST_PROCESSOR)),
    )


def read_label_map(folder: Path, n_columns: int) -> LabelMap | None:
    """Read which columns belong to which label; None where each column is one."""
    file = folder / LABEL_MAP
    if not file.exists():
        return None
    about = _read_json(file)
    n_labels = _whole(about, "n_labels", file, least=1)
    given, merge = about.get("label_of_column"), about.get("merge")
    if (
        not isinstance(given, list)
        or len(given) != n_columns
        or not all(type(label) is int and 0 <= label < n_labels for label in given)
        or len(set(given)) != n_labels
        or merge not in MERGES
    ):
        raise ValueError(
            f"{file} does not say of {n_columns} columns which of {n_labels} labels each belongs "
            f"to, and how to merge ({', '.join(MERGES)})."
        )
    return LabelMap(np.array(given, dtype=np.int32), n_labels, merge)


def _read_json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing; {_ANOTHER}.")
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{file} is not readable JSON; {_ANOTHER}.")
    return found


def _read_matrix(file: Path) -> Any:
    """Return a matrix of finite numbers, column by column, as float32."""
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; {_ANOTHER} (a memory-mapped one has no such files)."
        )
    try:
        with file.open("rb") as opened:
            matrix = sp.load_npz(opened)  # which never unpickles
    except (PermissionError, MemoryError):
        raise
    except Exception as error:  # there is no end to what SciPy raises of a damaged file
        raise ValueError(f"{file} is not a sparse matrix; {_ANOTHER}.") from error
    matrix = sound_matrix(matrix, str(file))
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{file} holds {matrix.dtype}, not numbers; {_ANOTHER}.")
    with np.errstate(over="ignore"):
        matrix = sp.csc_matrix(matrix, dtype=np.float32)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{file} holds numbers that are not finite; train the model again.")
    return matrix


def _whole(about: dict[str, Any], name: str, file: Path, least: int) -> int:
    value = about.get(name)
    if type(value) is not int or not least <= value < 2**31:
        raise ValueError(
            f"{file}: {name} must be a whole number of at least {least}, not {str(value)[:80]}."
        )
    return value


def _number(about: dict[str, Any], name: str, file: Path) -> float:
    value: Any = about.get(name)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{file}: {name} must be a number, not {str(value)[:80]}.")
    return float(value)


# Writing


def write_folder(folder: Path, levels: list[PecosLevel], label_map: LabelMap | None) -> None:
    """Write a model beside its place, and move it there when it is whole."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(
            f"cannot write a PECOS model to {folder}: there is something already; give a new or "
            "an empty folder."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        _write_levels(beside, levels)
        if label_map is not None:
            about = {
                "n_labels": label_map.n_labels,
                "merge": label_map.merge,
                "label_of_column": label_map.label_of_column.tolist(),
            }
            (beside / LABEL_MAP).write_text(json.dumps(about) + "\n")
        os.replace(beside, folder)  # an empty folder gives way
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write_levels(folder: Path, levels: list[PecosLevel]) -> None:
    last = levels[-1]
    n_features = int(last.weights.shape[0])
    _write_json(folder / "param.json", "xlinear.model###XLinearModel")
    _write_json(
        folder / "ranker" / "param.json",
        "base###HierarchicalMLModel",
        model="HierarchicalMLModel",
        depth=len(levels),
        nr_features=n_features,
        nr_codes=last.n_above,
        nr_labels=last.n_nodes,
    )
    for number, level in enumerate(levels):
        place = folder / "ranker" / f"{number}.model"
        _write_json(
            place / "param.json",
            "base###MLModel",
            model="MLModel",
            nr_labels=level.n_nodes,
            nr_features=n_features,
            nr_codes=level.n_above,
            bias=level.bias_value,
            pred_kwargs={
                **_meta("base###MLModel.PredParams"),
                "only_topk": level.beam_size,
                "post_processor": level.post_processor,
            },
        )
        weights = level.weights
        if level.bias_value > 0:
            weights = sp.vstack([weights, sp.csr_matrix(level.bias / level.bias_value)])
        # Neither arrays nor wide indices: libpecos knows matrices only.
        ones = np.ones(level.n_nodes, dtype=np.float32)
        places = np.arange(level.n_nodes), level.above
        tree = sp.csc_matrix((ones, places), shape=(level.n_nodes, level.n_above))
        for name, matrix in (("W", weights), ("C", tree)):
            columns = sp.csc_matrix(matrix, dtype=np.float32)
            columns.sort_indices()
            sp.save_npz(place / f"{name}.npz", columns, compressed=False)


def _meta(name: str) -> dict[str, Any]:
    return {"__meta__": {"class_fullname": f"pecos.xmc.{name}"}}


def _write_json(file: Path, class_name: str, **content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**_meta(class_name), **content}, indent=1) + "\n")
