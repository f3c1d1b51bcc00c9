"""How the documents of a label divide, by their similarities; all sums are made anew each time."""

import numpy as np

CLUSTER_COUNTS = (2, 3, 4, 6, 8)
N_STARTS, MAX_ITER, MAX_REFINEMENTS = 4, 20, 10
CONCENTRATION, WORTH_OF_EVENNESS, BY_CHANCE = 40, 0.2, 0.01
FEWEST_DOCUMENTS, MOST_PARTS = 3, 5


def split(similarities, least_within, random):
    """Return the best partition into two to five parts, by count: (part of each, alikeness).

    Parameters
    ----------
    similarities : ndarray, shape (n, n)
    least_within : float
        Mean similarity that the documents of a part must have.
    random : Random
    """
    n = len(similarities)
    least_size = min(max(n // 5, FEWEST_DOCUMENTS), 8)
    best = {}
    for m in CLUSTER_COUNTS:
        if m > max(2, n // 4) or m > n:
            break
        part_of = _k_means(similarities, m, random)
        for candidate in _candidates(similarities, part_of, least_size):
            _offer(similarities, candidate, least_within, best)
    return {m: (part_of, alikeness) for m, (_, part_of, alikeness) in best.items()}


def _k_means(similarities, m, random):
    """Return the best of several starts, parts numbered without gaps."""
    best, chosen = -1, None
    for _ in range(N_STARTS):
        total, part_of = _k_means_once(similarities, m, random)
        if total > best:
            best, chosen = total, part_of
    return np.unique(chosen, return_inverse=True)[1]


def _k_means_once(similarities, m, random):
    n = len(similarities)
    part_of, nearest = np.zeros(n, dtype=int), np.full(n, -1.0)
    centre = random.below(n)
    for part in range(m):
        if part > 0:
            unlike = np.maximum(0, 1 - nearest)
            drawn = unlike.sum() * random.below(2**24) / 2**24
            beyond = np.flatnonzero(np.cumsum(unlike) > drawn)
            centre = beyond[0] if len(beyond) else n - 1
        is_nearer = similarities[centre] > nearest
        part_of[is_nearer], nearest[is_nearer] = part, similarities[centre][is_nearer]
    for iteration in range(MAX_ITER + 1):
        to_part = _to_part(similarities, part_of, m)
        lengths = _lengths(to_part, part_of)
        sizes = np.bincount(part_of, minlength=m)
        cosines = np.where(sizes[:, None] > 0, to_part / lengths[:, None], -np.inf)
        after = cosines.argmax(axis=0)
        if iteration == MAX_ITER or (after == part_of).all():
            return lengths.sum(), part_of
        part_of = after
    raise AssertionError


def _to_part(similarities, part_of, m):
    """Return how similar documents are to all of each part, shape (m, n)."""
    return np.array([similarities[part_of == part].sum(axis=0) for part in range(m)])


def _lengths(to_part, part_of):
    squares = [row[part_of == part].sum() for part, row in enumerate(to_part)]
    return np.sqrt(np.maximum(squares, 1e-12))


def _candidates(similarities, part_of, least_size):
    """Yield every partition on the way to two parts, and what it is refined to."""
    while (m := part_of.max() + 1) >= 2:
        sizes = np.bincount(part_of)
        smallest = sizes.argmin()
        is_too_small = sizes[smallest] < least_size
        if m <= MOST_PARTS and (not is_too_small or m == 2):
            yield part_of
            yield _refined(similarities, part_of)
        if m == 2:
            return
        pairs = [
            (similarities[np.ix_(part_of == a, part_of == b)].mean(), a, b)
            for a in range(m)
            for b in range(a + 1, m)
            if not is_too_small or smallest in (a, b)
        ]
        _, a, b = max(pairs, key=lambda pair: pair[0])
        joined = np.where(part_of == b, a, part_of)
        part_of = np.where(joined == m - 1, b, joined) if b != m - 1 else joined


def _refined(similarities, part_of):
    """Let documents go to the part that is likeliest by similarity and size."""
    m = part_of.max() + 1
    for _ in range(MAX_REFINEMENTS):
        to_part = _to_part(similarities, part_of, m)
        shares = np.bincount(part_of) / len(part_of)
        near = CONCENTRATION * to_part / _lengths(to_part, part_of)[:, None]
        after = (near + np.log(shares)[:, None]).argmax(axis=0)
        if (after == part_of).all() or len(np.unique(after)) < m:
            break
        part_of = after
    return part_of


def _offer(similarities, part_of, least_within, best):
    sizes = np.bincount(part_of)
    m = len(sizes)
    if sizes.min() < FEWEST_DOCUMENTS:
        return
    if min(within(similarities, part_of, part) for part in range(m)) < least_within:
        return
    alikeness = max(alike(similarities, part_of, a, b) for a in range(m) for b in range(a))
    evenness = (1 - ((sizes / sizes.sum()) ** 2).sum()) * m / (m - 1)
    cost = alikeness - WORTH_OF_EVENNESS * evenness
    if m not in best or cost < best[m][0]:
        best[m] = cost, part_of, alikeness


def within(similarities, part_of, part):
    """Return the mean similarity of different documents of a part."""
    own = similarities[np.ix_(part_of == part, part_of == part)]
    return (own.sum() - len(own)) / max(1, len(own) * (len(own) - 1))


def alike(similarities, part_of, a, b):
    """Return the mean similarity across two parts, as a share of that within them."""
    across = similarities[np.ix_(part_of == a, part_of == b)].mean()
    own = [max(0, within(similarities, part_of, part)) + BY_CHANCE for part in (a, b)]
    return (across + BY_CHANCE) / np.sqrt(own[0] * own[1])
