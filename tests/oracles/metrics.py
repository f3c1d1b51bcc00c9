"""Metrics in plain loops, straight from their definitions; everything in percent.

A ranking is a list of labels, best first; the truth of a document is a set of labels.
"""

import math


def discount(place):
    return 1 / math.log2(place + 2)


def best_ranking(truth, weight):
    return sorted(truth, key=lambda label: -weight[label])


def gain(ranking, truth, k, weight):
    return sum(weight[label] for label in ranking[:k] if label in truth)


def discounted_gain(ranking, truth, k, weight):
    places = enumerate(ranking[:k])
    return sum(weight[label] * discount(place) for place, label in places if label in truth)


def largest_discounts(truth, k):
    return sum(discount(place) for place in range(min(k, len(truth))))


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def ratio(part, whole):
    return 100 * part / whole if whole else 0.0


def precision_at_k(rankings, truths, k):
    hits = (len(set(r[:k]) & t) for r, t in zip(rankings, truths, strict=True))
    return 100 * mean(n / k for n in hits)


def recall_at_k(rankings, truths, k):
    pairs = zip(rankings, truths, strict=True)
    return 100 * mean(len(set(r[:k]) & t) / len(t) for r, t in pairs if t)


def f1_at_k(rankings, truths, k):
    pairs = zip(rankings, truths, strict=True)
    return 100 * mean(2 * len(set(r[:k]) & t) / (k + len(t)) for r, t in pairs if t)


def ndcg_at_k(rankings, truths, k, n_labels):
    same = [1.0] * n_labels
    return 100 * mean(
        discounted_gain(r, t, k, same) / largest_discounts(t, k) if t else 0.0
        for r, t in zip(rankings, truths, strict=True)
    )


def inverse_propensities(label_counts, n_documents, a, b):
    scale = (math.log(n_documents) - 1) * (b + 1) ** a
    return [1 + scale * (count + b) ** -a for count in label_counts]


def psp_at_k(rankings, truths, k, weight):
    pairs = list(zip(rankings, truths, strict=True))
    found = mean(gain(r, t, k, weight) / k for r, t in pairs)
    best = mean(gain(best_ranking(t, weight), t, k, weight) / k for _, t in pairs)
    return ratio(found, best)


def psndcg_at_k(rankings, truths, k, weight):
    def relative(ranking, truth):
        if not truth:
            return 0.0
        return discounted_gain(ranking, truth, k, weight) / largest_discounts(truth, k)

    pairs = list(zip(rankings, truths, strict=True))
    found = mean(relative(r, t) for r, t in pairs)
    best = mean(relative(best_ranking(t, weight), t) for _, t in pairs)
    return ratio(found, best)


def reach(matched, clusters_of_label, truths):
    pairs = [(document, label) for document, truth in enumerate(truths) for label in truth]
    covered = [pair for pair in pairs if matched[pair[0]] & clusters_of_label[pair[1]]]
    return ratio(len(covered), len(pairs))
