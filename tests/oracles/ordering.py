"""The learned order of labels, one document and one label at a time."""

import numpy as np

MOST_CANDIDATES = 16
CANDIDATE_SHARE = 1 / 400
FACTS = ("path", "slot", "count", "reached", "tempered", "product", "length", "name")
TABLES = (
    *(("path",), ("slot",), ("count",), ("reached",), ("tempered",), ("product",)),
    *(("path", "slot"), ("count", "slot"), ("count", "path")),
    *(("length", "count"), ("reached", "slot"), ("name",), ("count", "name")),
)


def log(score):
    return float(np.log(max(float(score), 1e-30)))


def facts_of_labels(paths, scores, clusters, counts, length, found_names=None):
    """Return {label: {fact: number}} of a document.

    Parameters
    ----------
    paths : dict
        The score of each reached cluster.
    scores : dict
        The score of each slot of these, that of its cluster multiplied in.
    clusters : LabelClusters
    counts : sequence of float
        Logarithm of one more than the documents of each label.
    length : float
        The same of the document's sparse features.
    found_names : dict, optional
        How much of each label's name stands in the document.
    """
    slots_of = {}
    for slot in sorted(scores):
        slots_of.setdefault(int(clusters.labels[slot]), []).append(slot)
    found = {}
    for label, slots in slots_of.items():
        path = {slot: paths[int(clusters.cluster_of_slot[slot])] for slot in slots}
        own = {slot: share(scores[slot], path[slot]) for slot in slots}
        best = max(slots, key=lambda slot: scores[slot])  # the first of equals
        found[label] = {
            "path": log(path[best]),
            "slot": float(np.cbrt(-log(max(own.values())))),
            "count": float(counts[label]),
            "reached": len(slots),
            "tempered": log(sum(np.sqrt(path[slot]) * own[slot] for slot in slots)),
            "product": log(sum(scores[slot] for slot in slots)),
            "length": float(length),
            "name": 0 if found_names is None else found_names[label],
        }
    return found


def share(score, path):
    """Return a slot's own score, as precise as scores are: its root shows every rounding."""
    return min(float(np.float32(score) / np.float32(path)), 1.0) if path > 0 else 0.0


def value_of(facts, ordering):
    """Return what speaks for a label with these facts."""
    knots = dict(zip(FACTS, ordering.knots, strict=True))
    value = facts["product"]
    for names, table in zip(TABLES, ordering.tables, strict=True):
        if any(len(knots[name]) == 0 for name in names):
            continue
        if len(names) == 2:  # straight along the second fact, for each knot of the first
            second = names[1]
            table = [np.interp(facts[second], knots[second], row) for row in table]
        value += np.interp(facts[names[0]], knots[names[0]], table)
    return float(value)


def count_candidates(products):
    """Return how many labels are put in order, given all their products, best first."""
    best = products[0]
    near = [i == 0 or one >= CANDIDATE_SHARE * best for i, one in enumerate(products)]
    return sum(near[:MOST_CANDIDATES])


def in_order(facts, merged, ordering, length, bonus=None):
    """Return [(label, probability)] of a document, best first.

    Parameters
    ----------
    facts : dict
        See `facts_of_labels`.
    merged : dict
        The product of each label, by which candidates are chosen.
    bonus : sequence of float, optional
        Of each label, added to the logarithm of its probability to put candidates in order.
    """
    by_product = sorted(merged, key=lambda label: (-merged[label], label))
    if not by_product:
        return []
    n = count_candidates([merged[label] for label in by_product])
    candidates, others = by_product[:n], by_product[n:]
    values = {label: value_of(facts[label], ordering) for label in by_product}
    least = min(values[label] for label in candidates)
    for label in others:  # none is above the one before
        least = values[label] = min(values[label], least)

    together = np.log(sum(np.exp(values[label]) for label in candidates))
    a, b, c, d = map(float, ordering.curve)
    log_odds = {label: a * values[label] + b * together + c * length + d for label in by_product}
    rank_by = dict(log_odds)
    if bonus is not None:
        rank_by = {x: float(bonus[x]) - np.logaddexp(0, -log_odds[x]) for x in candidates}
    candidates = sorted(candidates, key=lambda label: (-rank_by[label], label))
    return [
        (label, float(1 / (1 + np.exp(-max(log_odds[label], -80)))))
        for label in candidates + others
    ]
