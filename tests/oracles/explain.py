"""Why a label has its score, from dense weights."""

from math import exp, log, sqrt

from tests.oracles.beam_search import beam_search, score_slots


def margin(dense, bias, slot, document):
    """Return the margin of a slot, and what each feature of the document adds to it."""
    amounts = document * dense[slot]
    return bias[slot] + amounts.sum(), {i: amounts[i] for i in amounts.nonzero()[0].tolist()}


def beams(levels, document, beam_size, activation):
    """Return {node: score} of every level, or None where a tie decides."""
    found = [
        beam_search(levels[:depth], [document], beam_size, activation)[0]
        for depth in range(1, len(levels) + 1)
    ]
    return None if None in found else found


def slot_scores(ranker, document, beam, activation):
    """Return {slot: score} of all slots of the clusters in the beam."""
    return score_slots(ranker, [document], [beam], activation)[0]


def order_facts(slots, count, length):
    """Return the facts of a label from (score of the cluster, own score) of its reached slots."""
    best_path, _ = max(slots, key=lambda slot: slot[0] * slot[1])
    return [
        log(best_path),
        (-log(max(own for _, own in slots))) ** (1 / 3),
        count,
        len(slots),
        log(sum(sqrt(path) * own for path, own in slots)),
        log(sum(path * own for path, own in slots)),
        length,
        0,  # without names
    ]


def order_facts_but(fact, typical, slots, count, length):
    """Return the facts of a label that is as typical in one, given as the facts have it."""
    own = order_facts(slots, count, length)
    if fact == "count":
        return order_facts(slots, typical, length)
    if fact == "path":
        factor = exp(typical - own[0])
        return order_facts([(factor * path, score) for path, score in slots], count, length)
    if fact == "slot":
        factor = exp(own[1] ** 3 - typical**3)
        return order_facts([(path, factor * score) for path, score in slots], count, length)
    more = log(typical / len(slots))  # as many clusters, each of the mean of its own
    return [*own[:3], typical, own[4] + more, own[5] + more, *own[6:]]
