"""What a sense is called: by what tells it from the label's other senses."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from polyseme.inputs.names import name_of
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.layer import SenseLayer
from polyseme.senses.slots import label_name

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["is_code", "sense_name", "telling"]

N_IN_NAME = 2  # labels, or words, that a sense is called by
N_CONSIDERED = 50
WORTH_NAMING = 0.25  # of what tells most; less would mislead
THE_REST = "the rest"  # where nothing tells a sense apart
COMMON_FROM, LEAST_COMMON = 0.08, 20  # share, and least number, of senses that have a common word

_common: WeakKeyDictionary[SenseLayer, frozenset[str | int]] = WeakKeyDictionary()


def sense_name(model: Model, sense: int) -> str:
    """Return what tells a sense, by its number in the model's layer, from the label's others.

    That is two labels that go with it, or words where there are none. Names that people can read
    are preferred to numbers and codes, and words that few senses have to common ones. The senses
    of a label have different names.
    """
    layer = model.senses_
    if layer is None:
        raise ValueError("The model has no senses.")
    if sense not in layer.names:
        place = layer.label_place(sense)
        own = range(int(layer.starts[place]), int(layer.starts[place + 1]))
        names = _names(model, layer, int(layer.labels[place]), own)
        layer.names.update(zip(own, names, strict=True))
    return layer.names[sense]


def telling(rows: SparseRows, own: range, n: int) -> list[list[tuple[int, float]]]:
    """Return for each sense of a label the columns in which it exceeds the others most."""
    dense = rows.rows(own.start, own.stop).to_scipy()
    columns = np.unique(dense.indices)
    values = dense[:, columns].toarray()
    found = []
    for i in range(len(own)):
        others = np.delete(values, i, axis=0)
        excess = values[i] - others.max(axis=0, initial=0)
        if not (excess > 0).any():  # it lies between the others
            excess = values[i] - others.mean(axis=0)
        order = np.lexsort((columns, -excess))[:n]
        found.append([(int(columns[j]), float(excess[j])) for j in order if excess[j] > 0])
    return found


def _names(model: Model, layer: SenseLayer, label: int, own: range) -> list[str]:
    """Return the names of all senses of a label."""
    found: list[str] = []
    common = _common_words(model, layer)
    word = partial(name_of, model.feature_names_)
    for beside, words in zip(
        telling(layer.beside, own, N_CONSIDERED),
        telling(layer.words, own, N_CONSIDERED),
        strict=True,
    ):
        labels = [label_name(model, i) for i in _worth_naming(beside)]
        rare = [(i, amount) for i, amount in words if not _is_common(word(i), common)]
        features = [word(i) for i in _worth_naming(rare or words)]
        name = _called(labels, features, but=label_name(model, label))
        while name in found:
            name += f", {THE_REST}"
        found.append(name)
    return found


def _common_words(model: Model, layer: SenseLayer) -> frozenset[str | int]:
    """Return words that senses of many labels have, such as "the"; few senses do not tell."""
    if layer not in _common:
        times = np.bincount(layer.words.columns)
        often = np.flatnonzero(times >= max(LEAST_COMMON, COMMON_FROM * layer.n_senses))
        _common[layer] = frozenset(name_of(model.feature_names_, i) for i in often.tolist())
    return _common[layer]


def _is_common(name: str | int, common: frozenset[str | int]) -> bool:
    """Return whether a word is common, or a phrase begins or ends with one that is."""
    first, *others = str(name).split(" ")
    return name in common or (bool(others) and not common.isdisjoint((first, others[-1])))


def _worth_naming(excess: list[tuple[int, float]]) -> list[int]:
    return [i for i, amount in excess if amount >= WORTH_NAMING * excess[0][1]]


def _called(labels: list[str | int], features: list[str | int], but: str | int) -> str:
    features = [name for name in features if not _is_same(name, but)]
    readable = [str(name) for name in (*labels, *features) if not is_code(name)]
    codes = _spoken("label", labels) or _spoken("feature", features)
    return ", ".join(_without_repeats(readable or codes)[:N_IN_NAME]) or THE_REST


def _without_repeats(names: list[str]) -> list[str]:
    """Return names without those that say no more, or no less, than one before them."""
    kept: list[str] = []
    for name in names:
        words = set(name.casefold().split())
        if not any(
            words <= set(k.casefold().split()) or words >= set(k.casefold().split()) for k in kept
        ):
            kept.append(name)
    return kept


def _spoken(kind: str, names: list[str | int]) -> list[str]:
    return [name if isinstance(name, str) else f"{kind} {name}" for name in names]


def _is_same(name: str | int, other: str | int) -> bool:
    """Return whether a word is the very name of the label, which all its senses share."""
    return isinstance(name, str) and name.casefold() == str(other).casefold()


def is_code(name: str | int) -> bool:
    """Return whether a name says nothing to people: a number, an address, or 'gnd:4020588-5'."""
    if not isinstance(name, str) or "://" in name:
        return True
    own = re.sub(r"^\w+:(?=\S)", "", name)
    return sum(map(str.isdecimal, own)) >= 3 and re.search(r"[^\W\d_]{2}", own) is None
