"""How likely a label is ambiguous, learned from labels that are fused on purpose."""

import json
from dataclasses import replace

import numpy as np
import pytest

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.senses.judge import ENOUGH_DOCUMENTS, AmbiguityJudge
from polyseme.senses.made_up_labels import FEWEST_TO_FUSE, fuse_on_purpose
from polyseme.senses.splits import SenseSpace, Splits, groups_of
from tests.sense_problems import topics_with_meanings

MANY = topics_with_meanings((2,) * 20, n_topics=60, n_plain=3, per_topic=60)


def learned(problem, n_threads=2, seed=0):
    """Return a judge with the splits of all labels that it learned from."""
    run = Run(seed, n_threads)
    space = SenseSpace.gather(problem.documents, problem.labels_of, run)
    labels = np.flatnonzero(space.counts >= 6)
    splits = space.split(groups_of([[label] for label in labels.tolist()], problem.Y.shape[1]))
    return AmbiguityJudge.learn(space, labels, splits, seed), labels, splits


@pytest.fixture(scope="module")
def found():
    return learned(MANY)


def made_up(alikeness, across, size, n=1):
    """Return splits of n labels that divide in two, all in the same way."""
    alike = np.full((n, 4), np.inf, dtype=np.float32)
    alike[:, 0] = alikeness
    similarity = np.zeros((n, 7), dtype=np.float32)
    similarity[:, 0] = across
    starts = np.arange(n + 1, dtype=np.int64) * size
    return Splits(
        SparsePattern(starts, np.tile(np.arange(size, dtype=np.int32), n), size),
        np.zeros((n * size, 4), dtype=np.int8),
        alike,
        np.ones(n, dtype=bool),
        similarity,
    )


def test_labels_with_two_meanings_are_told_from_those_with_one(found):
    judge, labels, splits = found
    probabilities = judge.probabilities(splits)
    ambiguous = MANY.n_meanings[labels] > 1
    assert probabilities.dtype == np.float32
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (probabilities[ambiguous] > 0.5).mean() > 0.9
    assert (probabilities[~ambiguous] < 0.5).mean() > 0.95


def test_what_is_reported_says_how_well_labels_are_told_apart(found):
    report = found[0].report
    assert set(report) == {"n_fused", "auc", "brier", "reliability"}
    assert report["n_fused"] > 500
    assert 0.85 < report["auc"] <= 1
    assert 0 <= report["brier"] < 0.15
    for row in report["reliability"]:
        assert row["from"] <= row["predicted"] <= row["to"]
        assert 0 <= row["observed"] <= 1
        assert row["n"] > 0
    observed = [row["observed"] for row in report["reliability"]]
    assert observed[-1] > observed[0] + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("n_ambiguous", [30, 60])
def test_the_share_of_ambiguous_labels_is_found_about_right(n_ambiguous):
    problem = topics_with_meanings((2,) * n_ambiguous, n_topics=60, n_plain=1, per_topic=80)
    judge, labels, _ = learned(problem)
    assert len(labels) == 60 + n_ambiguous
    assert judge.prior == pytest.approx(n_ambiguous / len(labels), abs=0.15)


def test_the_less_alike_the_parts_the_more_likely_a_label_is_ambiguous(found):
    for judge in (found[0], AmbiguityJudge()):
        for alike, across in (
            (np.linspace(1, 0, 20), np.full(20, 0.05)),
            (np.full(20, 0.4), np.linspace(0.2, 0, 20)),
        ):
            splits = made_up(alike, across, 40, n=20)
            assert (np.diff(judge.probabilities(splits)) >= -1e-6).all()
            assert (np.diff(judge.evidence(splits)) >= -1e-6).all()
    assert AmbiguityJudge().probabilities(made_up(0.05, 0.0, 60))[0] > 0.5
    assert AmbiguityJudge().probabilities(made_up(0.8, 0.1, 60))[0] < 0.1


def test_few_documents_make_it_less_likely():
    for judge in (AmbiguityJudge(), AmbiguityJudge(prior=0.5, bias=3.0)):
        by_size = [judge.probabilities(made_up(0.1, 0.01, n))[0] for n in (6, 10, 15, 20, 40, 300)]
        assert by_size == sorted(by_size)
        assert by_size[0] <= 6 / ENOUGH_DOCUMENTS


def test_labels_that_do_not_divide_are_not_ambiguous():
    judge, splits = AmbiguityJudge(), made_up(np.inf, 0.0, 6)
    assert judge.evidence(splits)[0] == -np.inf
    assert judge.probabilities(splits)[0] == 0


def test_a_label_has_as_many_senses_as_are_unlike_each_other():
    splits = made_up(0.1, 0.0, 40, n=5)
    splits.alikeness[:] = [
        [0.1, 0.6, 0.7, 0.8],
        [0.1, 0.2, 0.7, 0.8],
        [0.4, 0.6, 0.1, np.inf],
        [0.1, 0.2, 0.2, 0.25],
        [0.9, np.inf, np.inf, np.inf],
    ]
    assert AmbiguityJudge(most_alike=0.25).count_parts(splits).tolist() == [2, 3, 4, 5, 2]


@pytest.mark.slow
def test_the_same_is_learned_for_any_number_of_threads_and_other_things_with_another_seed(found):
    judge, _, _ = found
    for n_threads in (1, 5):
        assert learned(MANY, n_threads)[0] == judge
    assert learned(MANY, seed=1)[0] != judge


def test_of_too_few_labels_nothing_is_learned():
    few = topics_with_meanings((2,) * 4, n_topics=10, n_plain=2, per_topic=60)
    judge, _, _ = learned(few)
    assert replace(judge, sizes=(), least_coherent=()) == AmbiguityJudge()
    assert judge.report == {}
    none, labels, _ = learned(replace(few, Y=np.zeros_like(few.Y)))
    assert len(labels) == 0
    assert none == AmbiguityJudge()


def test_what_was_learned_comes_back_from_json(found):
    for judge in (found[0], AmbiguityJudge()):
        kept = judge.to_json()
        again = json.loads(json.dumps(kept, allow_nan=False))
        assert again == kept
        assert AmbiguityJudge.from_json(again) == judge
        assert again["prior"] == judge.prior


@pytest.mark.parametrize(
    "changes",
    [
        {"judge": []},
        {"judge": "wise"},
        {"judge": {}},
        {"means": 3},
        {"means": [1]},
        {"means": ["a", "b"]},
        {"means": [float("nan"), 1]},
        {"weights": None},
        {"deviations": [0, 1]},
        {"deviations": [1, -1]},
        {"bias": "x"},
        {"bias": float("inf")},
        {"prior": []},
        {"most_alike": {}},
    ],
    ids=str,
)
def test_what_was_not_learned_is_refused_with_a_sentence(changes):
    kept = AmbiguityJudge().to_json()
    bad = changes if "judge" in changes else {"judge": {**kept["judge"], **changes}}
    with pytest.raises(ValueError, match="what it learned about ambiguity"):
        AmbiguityJudge.from_json(bad)


def test_where_nothing_was_learned_the_usual_holds():
    assert AmbiguityJudge.from_json({}) == AmbiguityJudge()


@pytest.mark.parametrize(
    "report",
    [
        {"auc": "good"},
        {"brier": -1},
        {"reliability": 3},
        {"reliability": [1]},
        {"reliability": [{"from": 0, "to": 1}]},
        {"n_fused": 2**40},
    ],
    ids=str,
)
def test_a_report_that_is_none_is_refused(report):
    with pytest.raises(ValueError, match="what it learned about ambiguity"):
        AmbiguityJudge.from_json({**AmbiguityJudge().to_json(), **report})


def test_labels_that_are_all_as_frequent_are_fused_too():
    pairs = fuse_on_purpose(np.full(60, 40), np.arange(60), np.random.default_rng(0))
    assert len({tuple(pair) for pair in pairs}) > 100


# Pairs of labels


def test_labels_are_fused_in_pairs_of_the_sizes_that_labels_have():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 200, 300)
    labels = np.flatnonzero(counts >= 20)
    pairs = fuse_on_purpose(counts, labels, rng)
    assert len(pairs) > 250
    assert all(one < other for one, other in pairs)
    assert counts[np.ravel(pairs)].min() >= FEWEST_TO_FUSE
    together = np.sort([counts[pair].sum() for pair in pairs])
    assert np.median(together) == pytest.approx(np.median(counts[labels]), rel=0.3)


def test_fewer_than_two_labels_make_no_pairs():
    rng = np.random.default_rng(0)
    for labels in ([], [3]):
        assert fuse_on_purpose(np.full(9, 30), np.array(labels, dtype=int), rng) == []
    pairs = fuse_on_purpose(np.array([2, 10, 4, 30]), np.array([1, 3]), rng)
    assert pairs
    assert all(pair == [1, 3] for pair in pairs)


# What documents at random have in common


def test_labels_of_documents_at_random_are_not_said_to_be_ambiguous():
    rng = np.random.default_rng(0)
    judge, _, splits = learned(replace(MANY, Y=rng.permuted(MANY.Y, axis=0)))
    assert len(judge.sizes) == len(judge.least_coherent) > 0
    assert (judge.probabilities(splits) >= 0.5).mean() <= 0.15
