"""Outputs that begin as linear classifiers on what the node above them attends to.

By chance they would need many passes: most labels have a handful of documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.attention.outputs import Outputs
from polyseme.backbones.attention.words import WordRows
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.linear_start import start_of_head
from polyseme.backbones.neural.side_by_side import one_by_one
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run

__all__ = ["start_below"]

MOST_FOR_A_START = 20_000  # documents
LENGTH = 2.0  # of features that the solver sees
SHARPNESS = 2.0  # of logits, against margins of the linear solver
STREAM = 0x57A7

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def start_below(
    network: Any, above: Any, words: WordRows, outputs: Outputs, known: Integers, run: Run
) -> None:
    """Give the outputs of a network rows to begin with, by its shared layers and those above.

    Parameters
    ----------
    network : torch.nn.Module
        Started from the one above: all but the rows of its outputs are the same.
    above : torch.nn.Module
        Its outputs are the parents of the network's.
    words : WordRows
    outputs : Outputs
        With parents.
    known : ndarray of int64
        Documents to learn from.
    run : Run
    """
    torch = needed_library()
    assert outputs.parents is not None
    assert outputs.starts is not None
    if len(known) > MOST_FOR_A_START:
        chance = np.random.default_rng([STREAM, run.seed])
        known = np.sort(chance.choice(known, MOST_FOR_A_START, replace=False))
    parents = outputs.parents.take(known)
    features = _features(network, above, words, known, parents, run)
    document_of = np.repeat(np.arange(len(known)), np.diff(parents.starts))
    order = np.argsort(parents.columns, kind="stable")
    ends = np.searchsorted(parents.columns[order], np.arange(parents.n_columns + 1))
    truth = outputs.targets.take(known).to_scipy().tocsr()
    own, bias = network.own.detach().cpu().clone(), network.bias.detach().cpu().clone()
    rows_above = above.own.detach().cpu()
    for parent in range(parents.n_columns):
        children = slice(int(outputs.starts[parent]), int(outputs.starts[parent + 1]))
        entries = order[ends[parent] : ends[parent + 1]]
        if len(entries) == 0 or children.start == children.stop:
            continue
        targets = SparsePattern.from_scipy(truth[document_of[entries]][:, children])
        weights, offsets = _solved(features[entries], targets, run)
        own[children, : -network.n_verdict] = rows_above[parent, : -network.n_verdict]
        own[children, -network.n_verdict :] = torch.from_numpy(SHARPNESS * weights)
        bias[children] = torch.from_numpy(SHARPNESS * offsets)
    with torch.no_grad():
        network.own.copy_(own)
        network.bias.copy_(bias)


def _solved(features: Floats, targets: SparsePattern, run: Run) -> tuple[Floats, Floats]:
    """Return weights and biases; the solver sees features around 0 and of about one length."""
    mean = features.mean(axis=0)
    around = features - mean
    length = max(float(np.sqrt((around**2).sum(axis=1).mean())), 1e-6)
    weights, bias = start_of_head(around * np.float32(LENGTH / length), targets, run)
    weights = weights * np.float32(LENGTH / length)
    return weights, bias - weights @ mean


def _features(
    network: Any, above: Any, words: WordRows, known: Integers, parents: SparsePattern, run: Run
) -> Floats:
    """Return what the parents of each document attend to, a row for each entry of `parents`."""
    torch = needed_library()
    device = network.bias.device

    def ask(place: int) -> Floats:
        numbers = torch.from_numpy(words.padded(known[place : place + 1])).to(device)
        own = above.own[torch.from_numpy(parents.row(place).astype(np.int64)).to(device)]
        judged = network.judged(numbers, own[None])[0]
        found: Floats = judged.expand(len(own), -1).cpu().numpy()
        return found

    is_training = network.training
    network.eval()
    found = one_by_one(len(known), ask, run.reporting_to(None))
    network.train(is_training)
    return np.concatenate(found)
