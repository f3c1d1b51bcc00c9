"""Splits of labels in the space of a corpus, and what a space says of labels."""

import numpy as np
import pytest

from polyseme.machine.run import Run
from polyseme.senses.splits import SenseSpace, groups_of
from tests.sense_problems import topics_with_meanings

PROBLEM = topics_with_meanings(meanings=(2, 2, 3, 4), n_topics=20, per_topic=30)
N_LABELS = PROBLEM.Y.shape[1]


@pytest.fixture(scope="module")
def space():
    return SenseSpace.gather(PROBLEM.documents, PROBLEM.labels_of, Run(0, 2))


def singles(*labels):
    return groups_of([[label] for label in labels], N_LABELS)


def test_labels_divide_by_topic(space):
    splits = space.split(singles(0, 1, 2, 3))
    for label, n_topics in enumerate((2, 2, 3, 4)):
        own = splits.looked_at.row(label)
        parts = splits.parts[splits.looked_at.starts[label] :][: len(own), n_topics - 2]
        pairs = set(zip(PROBLEM.topic[own].tolist(), parts.tolist(), strict=True))
        assert len(pairs) == n_topics
        assert splits.alikeness[label, n_topics - 2] < 0.3
    assert splits.by_labels.all()
    assert splits.is_split.all()


def test_labels_of_one_topic_have_parts_that_are_alike(space):
    splits = space.split(singles(*range(4, N_LABELS)))
    assert np.median(splits.alikeness[:, 0]) > 0.4


def test_two_labels_taken_for_one_divide_into_the_two(space):
    one, other = 4, 4 + 9 * 4  # of two topics
    splits = space.split(groups_of([[other, one]], N_LABELS))
    own = splits.looked_at.row(0)
    assert PROBLEM.Y[own][:, [one, other]].any(axis=1).all()
    assert (
        len(set(zip(PROBLEM.topic[own].tolist(), splits.parts[:, 0].tolist(), strict=True))) == 2
    )


def test_some_of_the_splits_are_taken(space):
    splits = space.split(singles(*range(10)))
    kept = np.arange(10) % 3 == 0
    taken, alone = splits.take(kept), space.split(singles(0, 3, 6, 9))
    assert len(taken) == 4
    for name in ("parts", "alikeness", "by_labels", "similarity"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(alone, name))
    np.testing.assert_array_equal(taken.looked_at.columns, alone.looked_at.columns)
    np.testing.assert_array_equal(taken.sizes, alone.sizes)


def test_rare_labels_say_more_of_a_document(space):
    counts = PROBLEM.Y.sum(axis=0)
    np.testing.assert_array_equal(space.counts, counts)
    np.testing.assert_allclose(space.rarity, np.log(len(PROBLEM.Y) / counts), rtol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(space.labels, axis=1), np.log(len(PROBLEM.Y) / counts), rtol=1e-4
    )
    assert (space.weighted_labels.values > 0).all()


def test_a_label_is_where_its_documents_are_on_average(space):
    for label in (0, 5):
        middle = space.documents[PROBLEM.Y[:, label]].astype(np.float64).mean(axis=0)
        cosine = middle @ space.labels[label] / np.linalg.norm(middle) / space.rarity[label]
        assert cosine == pytest.approx(1, abs=1e-4)


def test_all_documents_of_labels_are_assigned_and_those_known_stay(space):
    splits = space.split(singles(0, 2))
    parts, nearness = space.assign(
        np.array([0, 2], dtype=np.int32),
        splits.looked_at,
        np.ascontiguousarray(splits.parts[:, 0]),
    )
    assert len(parts) == len(nearness) == space.counts[[0, 2]].sum()
    assert set(parts.tolist()) == {0, 1}
    known = np.isin(space.documents_of.row(0), splits.looked_at.row(0))
    assert parts[: space.counts[0]][known].tolist() == splits.parts[: known.sum(), 0].tolist()


def test_labels_without_documents_and_a_label_of_all_are_no_trouble():
    Y = PROBLEM.Y.copy()
    Y[:, 4], Y[:, 5] = False, True
    space = SenseSpace.gather(
        PROBLEM.documents, type(PROBLEM)(PROBLEM.X, Y, PROBLEM.topic, None).labels_of, Run()
    )
    assert np.isfinite(space.labels).all()
    assert not space.labels[4].any()
    assert (space.weighted_labels.values > 0).all()
    splits = space.split(singles(4, 5))
    assert splits.is_split.tolist() == [False, True]
    assert splits.sizes[0] == 0
