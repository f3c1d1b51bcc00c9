"""How labels divide is what a slow twin finds, partition by partition."""

import numpy as np
import pytest

from polyseme import _native
from polyseme.senses.space import with_unit_rows
from polyseme.senses.splits import groups_of
from tests.examples import so_many
from tests.oracles import sense_induction as slow
from tests.oracles.sense_split import alike
from tests.small_problems import pattern, sparse


def random_problem(
    seed, n_documents, width, *, n_labels=9, n_topics=3, labels_each=2.0, noise=0.6
):
    """Return documents of a few topics, whose labels have to do with them."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((n_topics, width))
    topic = rng.integers(n_topics, size=n_documents)
    texts = topics[topic] + noise * rng.standard_normal((n_documents, width)) * np.sqrt(width) / 2
    own = rng.random((n_topics, n_labels)) ** 2
    shares = labels_each * own / own.sum(axis=1, keepdims=True)
    Y = rng.random((n_documents, n_labels)) < shares[topic]
    Y[:, 0] = True  # the label that all have
    Y[:, -1] = False
    Y[rng.integers(n_documents), -1] = True  # a label with one document
    documents = with_unit_rows(texts)
    labels = with_unit_rows(Y.T.astype(np.float64) @ documents)
    rarity = np.log(n_documents / np.maximum(1, Y.sum(axis=0)))
    return slow.Problem(documents, np.float32(labels * rarity[:, None]), Y)


def split_native(problem, groups, max_documents=300, seed=0, n_threads=2):
    return _native.split_groups(
        problem.documents,
        problem.labels,
        pattern(problem.Y),
        pattern(problem.Y.T),
        groups_of(groups, problem.Y.shape[1]),
        max_documents=max_documents,
        seed=seed,
        n_threads=n_threads,
        progress=None,
    )


def numbered_by_first(part_of):
    """Return the same partition, parts numbered in the order in which they appear."""
    _, first, number = np.unique(part_of, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number].tolist()


def rows_of(found, group):
    """Return where the documents of a group are in what was found."""
    return slice(found["starts"][group], found["starts"][group + 1])


def assert_like_the_twin(problem, groups, max_documents=300, seed=0):
    """Compare all groups; return how many partitions there were."""
    found = split_native(problem, groups, max_documents, seed)
    n_partitions = 0
    for g, group in enumerate(groups):
        documents, partitions, by_labels, rows = slow.split_group(
            problem, sorted(group), max_documents, seed
        )
        own = rows_of(found, g)
        assert found["documents"][own].tolist() == documents.tolist()
        assert found["by_labels"][g] == by_labels
        for k in range(4):
            parts, alikeness = found["parts"][own, k], found["alikeness"][g, k]
            if k + 2 not in partitions:
                assert (parts == -1).all()
                assert alikeness == np.inf
                continue
            n_partitions += 1
            part_of, expected = partitions[k + 2]
            assert alikeness == pytest.approx(expected, abs=2e-4)
            assert numbered_by_first(parts) == numbered_by_first(part_of)
        if 2 in partitions:
            expected = slow.similarity_of_two(*rows, found["parts"][own, 0])
            np.testing.assert_allclose(found["similarity"][g], expected, atol=1e-5)
        else:
            assert not found["similarity"][g].any()
    return n_partitions


GROUPS = [[label] for label in range(9)] + [[1, 2], [0, 3], [4, 2], [5, 6, 7]]


MANY = [pytest.param(n, marks=pytest.mark.slow) for n in (32, 48, 77, 120)]


@pytest.mark.parametrize("n_documents", [6, 7, 11, 12, 16, 23, 24, *MANY])
@pytest.mark.parametrize("width", [3, 8, 21])
def test_labels_divide_as_the_twin_says(n_documents, width):
    n_partitions = 0
    for seed in range(4):
        problem = random_problem(seed, n_documents, width, labels_each=1 + seed)
        n_partitions += assert_like_the_twin(problem, GROUPS, seed=seed)
    assert n_partitions >= (n_documents > 20)


@pytest.mark.parametrize("seed", range(6))
def test_of_many_documents_some_are_looked_at_and_they_are_those_of_the_twin(seed):
    problem = random_problem(seed, 150, 13, labels_each=3)
    assert assert_like_the_twin(problem, GROUPS, max_documents=20 + 5 * seed, seed=seed) > 10
    found = split_native(problem, [[0]], max_documents=20)
    assert len(found["documents"]) <= 20  # fewer where some have no other labels
    assert (np.diff(found["documents"]) > 0).all()


@pytest.mark.parametrize("n_topics", [1, 2, 3, 4, 5, 6])
def test_documents_of_so_many_kinds_divide_as_the_twin_says(n_topics):
    for seed in range(so_many(3, few=1)):
        problem = random_problem(seed, 90, 16, n_topics=n_topics, labels_each=3, noise=0.2)
        assert_like_the_twin(problem, [[0], [1], [0, 1]], seed=seed)


@pytest.mark.parametrize("n_documents", [8, 12, 24, 60])
def test_with_empty_texts_the_alikeness_is_still_that_of_the_partition(n_documents):
    for seed in range(5):  # an empty text is as near to one part as to another
        problem = random_problem(seed, n_documents, 11, labels_each=1)
        problem.documents[seed::4] = 0
        found = split_native(problem, GROUPS, seed=seed)
        for g, group in enumerate(GROUPS):
            own = rows_of(found, g)
            documents, _, _, (texts, others) = slow.split_group(problem, sorted(group), 300, seed)
            assert found["documents"][own].tolist() == documents.tolist()
            similarities = (texts @ texts.T + others @ others.T) / 2
            for k in range(4):
                parts, alikeness = found["parts"][own, k], found["alikeness"][g, k]
                if np.isfinite(alikeness):
                    expected = max(
                        alike(similarities, parts, a, b) for a in range(k + 2) for b in range(a)
                    )
                    assert alikeness == pytest.approx(expected, abs=2e-4)


def test_a_part_has_three_documents_at_least_and_every_partition_all_its_parts():
    for seed in range(30):
        problem = random_problem(seed, 6 + 3 * seed, 10, labels_each=2)
        found = split_native(problem, GROUPS, seed=seed)
        for g in range(len(GROUPS)):
            for k in range(4):
                if np.isfinite(found["alikeness"][g, k]):
                    sizes = np.bincount(found["parts"][rows_of(found, g), k])
                    assert len(sizes) == k + 2
                    assert sizes.min() >= 3


def test_documents_without_other_labels_are_left_out_where_enough_have_some():
    problem = random_problem(0, 40, 8)
    problem.Y[:, 1:] = False
    problem.Y[:10, 1], problem.Y[5:20, 2] = True, True
    found = split_native(problem, [[0]])
    assert found["by_labels"].tolist() == [1]
    assert found["documents"].tolist() == list(range(20))


def test_where_fewer_than_ten_have_other_labels_all_go_by_text_alone():
    problem = random_problem(0, 40, 8)
    problem.Y[:, 1:] = False
    problem.Y[:9, 1] = True
    found = split_native(problem, [[0], [0, 1]])
    assert found["by_labels"].tolist() == [0, 0]
    assert found["documents"].tolist() == [*range(40), *range(40)]
    texts, others = found["similarity"][:, [0, 2, 3]], found["similarity"][:, [1, 4, 5]]
    assert texts.tolist() == others.tolist()


def test_documents_that_are_all_the_same_and_documents_without_anything_are_divided_somehow():
    for text in (1.0, 0.0):
        problem = random_problem(0, 30, 5)
        problem.documents[:] = with_unit_rows(np.full((30, 5), text))
        problem.labels[:] = 0
        found = split_native(problem, [[0], [1, 2]])
        assert not np.isnan(found["alikeness"]).any()
        assert np.isfinite(found["similarity"]).all()
        assert not found["by_labels"].any()


def test_groups_without_documents_or_labels_and_no_groups_at_all_are_fine():
    problem = random_problem(0, 20, 5)
    problem.Y[:, 4] = False
    found = split_native(problem, [[4], [], [8]])
    assert found["starts"].tolist() == [0, 0, 0, 1]
    assert (found["alikeness"] == np.inf).all()
    assert found["parts"].tolist() == [[-1] * 4]
    found = split_native(problem, [])
    assert {name: array.shape for name, array in found.items()} == {
        "starts": (1,),
        "documents": (0,),
        "parts": (0, 4),
        "alikeness": (0, 4),
        "by_labels": (0,),
        "similarity": (0, 7),
    }


def test_labels_divide_the_same_for_any_number_of_threads_and_whatever_else_is_asked():
    problem = random_problem(3, 100, 20, labels_each=3)
    one = split_native(problem, GROUPS, n_threads=1)
    for n_threads in (2, 5, 64):
        found = split_native(problem, GROUPS, n_threads=n_threads)
        assert all(found[name].tobytes() == one[name].tobytes() for name in one)
    alone = split_native(problem, GROUPS[3:4])
    assert alone["parts"].tolist() == one["parts"][rows_of(one, 3)].tolist()
    assert alone["alikeness"].tolist() == one["alikeness"][3:4].tolist()


def test_another_seed_may_divide_otherwise():
    problem = random_problem(3, 100, 20, n_topics=1, labels_each=3)
    found = {split_native(problem, [[0]], seed=seed)["parts"].tobytes() for seed in range(5)}
    assert len(found) > 1


# All documents of a label


def assign_native(problem, labels, looked_at, parts, n_threads=2):
    return _native.assign_documents(
        problem.documents,
        problem.labels,
        pattern(problem.Y),
        pattern(problem.Y.T),
        np.array(labels, dtype=np.int32),
        groups_of(looked_at, len(problem.Y)),
        np.array([part for own in parts for part in own], dtype=np.int8),
        n_threads=n_threads,
    )


@pytest.mark.parametrize("seed", range(8))
def test_every_document_goes_to_the_part_whose_middle_is_nearest_as_the_twin_says(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 60, 5 + seed, labels_each=1 + seed % 3)
    problem.documents[::7] = 0
    labels = [0, 1, 4, 5, 8]
    looked_at = [
        np.flatnonzero(problem.Y[:, label] & (rng.random(60) < 0.5)).tolist() for label in labels
    ]
    parts = [rng.integers(2 + i % 4, size=len(own)) for i, own in enumerate(looked_at)]
    found, nearness = assign_native(problem, labels, looked_at, parts)
    expected = [
        one
        for label, own, known in zip(labels, looked_at, parts, strict=True)
        for one in slow.assign(problem, label, own, known.tolist())
    ]
    assert len(found) == len(nearness) == len(expected)
    n_open = 0
    for part, near, (best, all_near) in zip(found, nearness, expected, strict=True):
        assert near == pytest.approx(all_near[part], abs=1e-5)
        is_clear = np.diff(np.sort(all_near)[-2:]).max(initial=0) > 1e-5
        n_open += is_clear
        assert part == best or not is_clear
    assert n_open > 30


def test_documents_that_were_looked_at_keep_their_part():
    problem = random_problem(0, 30, 6)
    parts = (np.arange(30) % 3).tolist()
    found, _ = assign_native(problem, [0], [list(range(30))], [parts])
    assert found.tolist() == parts


def test_parts_of_documents_are_the_same_for_any_number_of_threads():
    problem = random_problem(1, 90, 9)
    looked_at = [np.flatnonzero(problem.Y[:, label])[::2].tolist() for label in range(9)]
    parts = [[i % 2 for i, _ in enumerate(own)] for own in looked_at]
    one = assign_native(problem, range(9), looked_at, parts, 1)
    for n_threads in (2, 5):
        found = assign_native(problem, range(9), looked_at, parts, n_threads)
        assert [array.tobytes() for array in found] == [array.tobytes() for array in one]


def test_labels_of_which_nothing_was_looked_at_have_one_part():
    problem = random_problem(1, 30, 9)
    found, nearness = assign_native(problem, [0], [[]], [[]])
    assert not found.any()
    assert not nearness.any()
    assert len(assign_native(problem, [], [], [])[0]) == 0


# What does not fit

ONE = {
    "documents": np.ones((4, 2), dtype=np.float32),
    "labels": np.ones((3, 2), dtype=np.float32),
    "labels_of": pattern(np.ones((4, 3))),
    "documents_of": pattern(np.ones((3, 4))),
}
UNFIT = [
    ({"labels": np.ones((3, 1), dtype=np.float32)}, "documents and labels differ in width"),
    ({"documents": np.ones((5, 2), dtype=np.float32)}, "documents_of differ in documents"),
    ({"documents_of": pattern(np.ones((3, 5)))}, "documents_of differ in documents"),
    ({"labels": np.ones((2, 2), dtype=np.float32)}, "documents_of differ in labels"),
    ({"labels_of": pattern(np.ones((4, 2)))}, "documents_of differ in labels"),
    ({"documents_of": pattern(np.ones((2, 4)))}, "documents_of differ in labels"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *UNFIT,
        ({"groups": pattern(np.ones((2, 4)))}, "groups and labels_of differ in labels"),
        ({"max_documents": 1}, "max_documents must be from 2 to 10000"),
        ({"max_documents": 10001}, "max_documents must be from 2 to 10000"),
        ({"max_documents": -(2**60)}, "max_documents must be from 2 to 10000"),
    ],
)
def test_a_split_of_what_does_not_fit_is_refused(changes, message):
    given = ONE | {
        "groups": pattern(np.ones((2, 3))),
        "max_documents": 2,
        "seed": 0,
        "n_threads": 1,
        "progress": None,
    }
    _native.split_groups(**given)
    with pytest.raises(ValueError, match=message):
        _native.split_groups(**given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *UNFIT,
        ({"chosen": [0, 1, 2]}, "chosen, looked_at and parts do not fit together"),
        ({"looked_at": pattern(np.ones((2, 3)))}, "looked_at and parts do not fit together"),
        ({"parts": [0] * 7}, "chosen, looked_at and parts do not fit together"),
        ({"chosen": [0, 3]}, "a chosen label is out of range"),
        ({"chosen": [-1, 0]}, "a chosen label is out of range"),
        ({"parts": [0] * 7 + [5]}, "a part is out of range"),
        ({"parts": [-1] + [0] * 7}, "a part is out of range"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    def assign(given):
        chosen, parts = np.array(given["chosen"], np.int32), np.array(given["parts"], np.int8)
        return _native.assign_documents(**given | {"chosen": chosen, "parts": parts})

    given = ONE | {
        "chosen": [0, 2],
        "looked_at": pattern(np.ones((2, 4))),
        "parts": [0, 1, 2, 4, 0, 0, 1, 1],
        "n_threads": 1,
    }
    assign(given)
    with pytest.raises(ValueError, match=message):
        assign(given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": pattern(np.ones((2, 5)))}, "groups and X differ in documents"),
        ({"max_features": 0}, "a group needs a feature and a document at least"),
        ({"max_documents": 0}, "a group needs a feature and a document at least"),
    ],
)
def test_sums_of_what_does_not_fit_are_refused(changes, message):
    given = {
        "X": sparse(np.ones((4, 3))),
        "groups": pattern(np.ones((2, 4))),
        "max_features": 2,
        "max_documents": 2,
        "n_threads": 1,
    }
    _native.sum_up(**given)
    with pytest.raises(ValueError, match=message):
        _native.sum_up(**given | changes)
