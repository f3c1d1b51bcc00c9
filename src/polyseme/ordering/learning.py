"""An order is learned from candidates of documents that their scores did not see.

Each true label is to come before all wrong candidates of its document: the loss is that of a
choice among itself and these. True labels do not compete with one another, and a document counts
by the root of their number. A ridge draws the tables towards nothing, which is the bare product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.metrics import hits
from polyseme.ordering.facts import FACTS, PLACE_OF, Candidates
from polyseme.ordering.label_ordering import (
    TABLES,
    LabelOrdering,
    places_between,
    split_tables,
    table_shapes,
)

__all__ = ["FEWEST_HITS", "learn_ordering"]

FEWEST_HITS = 200  # true labels among the candidates: with fewer the product stays
N_KNOTS = 7  # of a fact at most
RIDGE = 10.0
MOST_STEPS = 100
CURVE_STEPS = 30

Doubles = npt.NDArray[np.float64]


def learn_ordering(candidates: Candidates, truth: SparsePattern) -> LabelOrdering | None:
    """Learn which of the candidates are right; None if there is too little to learn from.

    Parameters
    ----------
    candidates : Candidates
        Of documents that took no part in what their scores were learned from.
    truth : SparsePattern, shape (n_documents, n_labels)
    """
    is_candidate = candidates.is_candidate
    is_right = hits(candidates.labels, truth.to_scipy())[is_candidate]
    facts = candidates.facts[is_candidate]
    document = np.repeat(np.arange(len(is_candidate)), candidates.n_candidates)
    if min(is_right.sum(), (~is_right).sum()) < FEWEST_HITS or not np.isfinite(facts).all():
        return None
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums for any number of threads
        knots = tuple(_knots(name, facts[:, i], is_right) for i, name in enumerate(FACTS))
        basis = _basis(facts, knots)
        product = facts[:, PLACE_OF["product"]].astype(np.float64)
        weights = _first_true(basis, product, is_right, document)
        ordering = LabelOrdering(
            knots,
            split_tables(weights, table_shapes(knots)),
            np.array([1, 0, 0, 0], dtype=np.float32),
            len(is_candidate),
        )
        curve = _curve(ordering.values(facts), facts[:, PLACE_OF["length"]], is_right, document)
    learned = replace(ordering, curve=curve)
    # Where what speaks for a label does not make it likelier, nothing was learned.
    return learned if curve[0] > 0 and learned.is_bounded else None


def _knots(
    fact: str, values: npt.NDArray[np.float32], is_right: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    """Return knots where values are, most of them where right labels are.

    What is known of names is one of a few things, or the same of all labels: then it has no knots.
    """
    if fact == "name":
        kinds = np.unique(values)
        return kinds if len(kinds) > 1 else kinds[:0]
    n_of_all = N_KNOTS // 2
    found = np.unique(
        np.concatenate(
            [
                np.quantile(values, np.linspace(0, 1, n_of_all)),
                np.quantile(values[is_right], np.linspace(0, 1, N_KNOTS - n_of_all)),
            ]
        ).astype(np.float32)
    )
    least_step = 1e-3 * (found[-1] - found[0])
    kept = [found[0]]
    for knot in found[1:]:
        if knot - kept[-1] > least_step:
            kept.append(knot)
    return np.array(kept, dtype=np.float32)


def _basis(
    facts: npt.NDArray[np.float32], knots: tuple[npt.NDArray[np.float32], ...]
) -> sp.csr_array:
    """Return how much each value of the tables counts for each pair: (n_pairs, n_values)."""
    n = len(facts)
    places = {
        name: places_between(facts[:, i], own)
        for i, (name, own) in enumerate(zip(FACTS, knots, strict=True))
        if len(own)
    }
    n_knots = {name: len(own) for name, own in zip(FACTS, knots, strict=True)}
    columns, shares, offset = [], [], 0
    for names in TABLES:
        if not all(n_knots[name] for name in names):
            continue
        entries = [(np.zeros(n, dtype=np.int64), np.ones(n))]
        size = 1
        for name in names:
            below, above, share = places[name]
            entries = [
                (at * n_knots[name] + knot, part * weight)
                for at, part in entries
                for knot, weight in ((below, 1 - share), (above, share))
            ]
            size *= n_knots[name]
        columns += [offset + at for at, _ in entries]
        shares += [part for _, part in entries]
        offset += size
    rows = np.tile(np.arange(n), len(columns))
    matrix = sp.coo_array(
        (np.concatenate(shares), (rows, np.concatenate(columns))), shape=(n, offset)
    )
    return matrix.tocsr()


def _first_true(
    basis: sp.csr_array,
    product: Doubles,
    is_right: npt.NDArray[np.bool_],
    document: npt.NDArray[np.int64],
) -> Doubles:
    """Return the values of the tables that put right labels before wrong ones."""
    first = np.flatnonzero(np.append(True, document[1:] != document[:-1]))
    of_document = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(document))))
    n_right = np.bincount(of_document, is_right)
    n_wrong = np.bincount(of_document, ~is_right)
    right = np.flatnonzero(is_right)
    right = right[n_wrong[of_document[right]] > 0]
    owner = of_document[right]
    weight = 1 / np.sqrt(n_right[owner])
    transposed = basis.T.tocsr()

    def loss(weights: Doubles) -> tuple[float, Doubles]:
        values = basis @ weights + product
        top = np.maximum.reduceat(values, first)[of_document]
        wrong = np.exp(values - top) * ~is_right
        all_wrong = np.add.reduceat(wrong, first)[owner]
        own = np.exp(values[right] - top[right])
        chance = own / (own + all_wrong)
        gradient = wrong * np.bincount(owner, weight / (own + all_wrong), len(first))[of_document]
        gradient[right] = -weight * (1 - chance)
        lost = -weight @ np.log(np.maximum(chance, 1e-300))
        return (
            float(lost + RIDGE / 2 * weights @ weights),
            transposed @ gradient + RIDGE * weights,
        )

    start = np.zeros(basis.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    weights: Doubles = found.x
    return weights


def _curve(
    values: Doubles,
    lengths: npt.NDArray[np.float32],
    is_right: npt.NDArray[np.bool_],
    document: npt.NDArray[np.int64],
) -> npt.NDArray[np.float32]:
    """Return the logistic curve from values to probabilities, by Newton's method."""
    first = np.flatnonzero(np.append(True, document[1:] != document[:-1]))
    together = np.repeat(
        np.logaddexp.reduceat(values, first), np.diff(np.append(first, len(document)))
    )
    columns = np.column_stack([values, together, lengths, np.ones(len(values))])
    weights = np.zeros(columns.shape[1])
    ridge = 1e-3 * np.eye(len(weights))
    for _ in range(CURVE_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(columns @ weights, -50, 50)))
        gradient = columns.T @ (chance - is_right) + ridge @ weights
        step = np.linalg.solve(
            (columns * (chance * (1 - chance))[:, np.newaxis]).T @ columns + ridge, gradient
        )
        weights -= step
        if np.abs(step).max() < 1e-7:
            break
    return weights.astype(np.float32)
