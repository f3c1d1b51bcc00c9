"""Why a label has its score, from dense weights."""

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
