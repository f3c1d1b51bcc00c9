"""What disentanglement does to a model, on a corpus with planted senses."""

from copy import copy
from functools import cache

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.inputs.labels import check_labels
from polyseme.partition.assignment import METHODS
from polyseme.partition.training_rows import cluster_targets
from polyseme.senses.slots import division_scores, slots_of, split_order
from tests.small_data import two_senses

DATA = two_senses()
BARE = {"max_leaf_size": 8, "ordering": "product", "senses": "none"}
N_TOPICS, N_AMBIGUOUS, N_PLAIN = 16, 32, 96
HONEST_METHODS = [name for name in METHODS if name != "random"]


@cache
def fitted(**parameters):
    """A narrow beam: one cluster per document, so that a label's other cluster is out of reach."""
    parameters = {"copies": 2, "beam_size": 1, **parameters}
    return XRLinear(**BARE, **parameters).fit(DATA.X, DATA.Y)


def plain(**parameters):
    return fitted(copies=1, rounds=0, **parameters)


def accuracy(model):
    return model.score(DATA.X_test, DATA.Y_test)


def reach(model):
    """The share of positive pairs that the beam can reach, before and after re-assignment."""
    last = model.assignments_[-1]
    return tuple(last[f"reached_{when}"] / last["n_positives"] for when in ("before", "after"))


def pairs_reached(model, clusters):
    """Count the positive pairs whose label is in a cluster that the document is matched to."""
    matched = model.match(DATA.X).to_scipy()
    reached = (matched != 0).astype(int) @ clusters.to_matrix().T.astype(int)
    return int((reached.multiply(DATA.Y) > 0).sum())


def assert_same_weights(first, second):
    for name, array in first.to_arrays().items():
        np.testing.assert_array_equal(array, second.to_arrays()[name])


def test_a_narrow_beam_misses_the_second_senses_of_a_partition():
    assert accuracy(plain()) < 0.85


@pytest.mark.parametrize("assignment", HONEST_METHODS)
def test_two_copies_reach_more_and_tag_better(assignment):
    model = fitted(assignment=assignment)
    before, after = reach(model)
    assert before < 0.85
    assert after > 0.95
    assert accuracy(model) > accuracy(plain()) + 0.1


def test_random_copies_do_not_help():
    before, after = reach(fitted(assignment="random"))
    assert after < before + 0.1
    assert accuracy(fitted(assignment="random")) < accuracy(fitted()) - 0.1


def test_what_is_reported_counts_the_pairs_that_the_beam_reaches():
    model = fitted(finetune_matcher=False, match_folds=0)
    assert model.assignments_ == [
        {
            "reached_before": pairs_reached(model, plain().clusters_),
            "reached_after": pairs_reached(model, model.clusters_),
            "n_positives": DATA.Y.nnz,
        }
    ]


def test_the_ambiguous_labels_are_the_ones_with_two_slots():
    model = fitted(assignment="adaptive", match_folds=0)
    copies = model.clusters_.copies
    assert (copies[:N_AMBIGUOUS] >= 2).mean() > 0.9
    assert (copies[N_AMBIGUOUS:] == 1).mean() > 0.8
    divided = split_order(model, division_scores(model), min_documents=1)[:N_AMBIGUOUS]
    assert np.mean(divided < N_AMBIGUOUS) > 0.9


def test_a_slot_has_the_words_of_its_topic_and_its_share():
    model, label = fitted(sense_positives=True), 3
    found = slots_of(model, label, n_words=10, n_neighbours=10)
    assert len(found) == 2
    topics = [{word.feature // 6 for word in slot.words if word.feature < 96} for slot in found]
    assert topics in ([{1}, {3}], [{3}, {1}])
    assert all(label not in slot.neighbours for slot in found)
    assert sum(slot.share for slot in found) == pytest.approx(1, abs=0.1)


def test_one_copy_and_no_rounds_is_a_plain_partition():
    model = plain()
    assert model.assignments_ == []
    assert model.clusters_.n_slots == N_AMBIGUOUS + N_PLAIN
    assert (model.clusters_.copies == 1).all()
    assert model.clusters_.sizes.max() <= 8
    np.testing.assert_array_equal(
        model.slot_documents_, DATA.Y.sum(axis=0)[model.clusters_.labels]
    )


def test_without_rounds_the_number_of_copies_means_nothing():
    model = fitted(copies=3, rounds=0)
    np.testing.assert_array_equal(model.clusters_.labels, plain().clusters_.labels)
    assert_same_weights(model.ranker_.weights, plain().ranker_.weights)


def test_no_label_has_more_copies_than_asked_for():
    for assignment in METHODS:
        copies = fitted(assignment=assignment).clusters_.copies
        assert copies.min() >= 1
        if assignment in ("adaptive", "strongest"):
            assert copies.sum() <= 2 * len(copies)
        else:
            assert copies.max() <= 2


def test_a_matcher_that_is_not_tuned_stays_as_it_was():
    model = fitted(finetune_matcher=False)
    assert model.clusters_.n_slots > plain().clusters_.n_slots
    for ours, theirs in zip(model.matcher_.levels, plain().matcher_.levels, strict=True):
        assert_same_weights(ours, theirs)


def test_a_tuned_matcher_learns_the_new_clusters():
    level, before = fitted().matcher_.levels[-1], plain().matcher_.levels[-1]
    assert not np.array_equal(level.bias, before.bias)
    assert pairs_reached(fitted(), fitted().clusters_) / DATA.Y.nnz > 0.95


def test_a_second_round_starts_where_the_first_ended():
    once, twice = fitted(), fitted(rounds=2)
    assert len(twice.assignments_) == 2
    assert twice.assignments_[0] == once.assignments_[0]
    assert twice.assignments_[1]["reached_before"] == pairs_reached(once, once.clusters_)
    assert accuracy(twice) > accuracy(plain()) + 0.1


def test_sense_positives_leave_the_other_sense_out_of_a_slot():
    def topics_of(label):
        topic, i = divmod(label, N_AMBIGUOUS // N_TOPICS)
        return {topic, (topic + 1 + i) % N_TOPICS}

    def topics_learned(model, slot):
        features, weights, _ = model.ranker_.weights_of(slot)
        return set(features[(weights > 0) & (features < 96)] // 6)

    def n_mixed(model):
        return sum(
            topics_learned(model, slot) >= topics_of(label)
            for label in range(N_AMBIGUOUS)
            for slot in model.clusters_.slots_of(label)
        )

    only_own, everything = fitted(sense_positives=True), fitted(sense_positives=False)
    np.testing.assert_array_equal(only_own.clusters_.labels, everything.clusters_.labels)
    learned = [topics_learned(only_own, slot) for slot in only_own.clusters_.slots_of(3)]
    assert learned in ([{1}, {3}], [{3}, {1}])
    assert n_mixed(only_own) < n_mixed(everything) / 2
    assert accuracy(only_own) >= accuracy(everything) - 0.01


@pytest.mark.parametrize("training_rows", ["matcher-aware", "both"])
def test_other_training_rows_gain_as_well(training_rows):
    model = fitted(training_rows=training_rows)
    assert accuracy(model) > accuracy(plain(training_rows=training_rows)) + 0.1


def test_copies_merge_by_mean_sum_or_max_of_the_slots_visited():
    """With all clusters in the beam, every slot of a label is visited."""
    model = XRLinear(**BARE, beam_size=16).fit(DATA.X, DATA.Y)
    document = DATA.X_test[:20]
    scores = {
        merge: model.set_params(merge=merge).decision_function(document).toarray()
        for merge in ("mean", "sum", "max")
    }
    copies = model.clusters_.copies
    np.testing.assert_allclose(scores["sum"], scores["mean"] * copies, rtol=1e-5, atol=1e-30)
    assert (scores["max"] >= scores["mean"] * (1 - 1e-6)).all()
    assert (scores["max"] <= scores["sum"] * (1 + 1e-6)).all()


@pytest.mark.parametrize("merge", ["mean", "sum", "max"])
def test_the_parts_one_by_one_score_like_the_whole(merge):
    model = XRLinear(**BARE, beam_size=4, merge=merge).fit(DATA.X, DATA.Y)
    in_parts = copy(model)
    assert in_parts._walk is not None
    in_parts._walk = None
    by_parts = in_parts.decision_function(DATA.X_test)
    whole = model.decision_function(DATA.X_test)
    np.testing.assert_array_equal(by_parts.indptr, whole.indptr)
    np.testing.assert_array_equal(by_parts.indices, whole.indices)
    np.testing.assert_allclose(by_parts.data, whole.data, rtol=1e-5)


class Recording(XRLinear):
    """Remembers what its matchers and rankers were asked to learn."""

    def make_matcher(self):
        return recording(super().make_matcher())

    def make_ranker(self):
        return recording(super().make_ranker())


def recording(part):
    fit = part.fit

    def recorded(documents, task, run):
        part.task = task
        return fit(documents, task, run)

    part.fit = recorded
    return part


def recorded(**parameters):
    settings = {"beam_size": 1, "max_leaf_size": 8, "match_folds": 0, "verbose": 0}
    return Recording(**settings, **parameters).fit(DATA.X, DATA.Y)


def test_each_training_of_the_matcher_starts_from_the_one_before_and_the_first_is_a_draft():
    third = recorded(rounds=2).matcher_
    second = third.task.start_from
    first = second.task.start_from
    assert first.task.start_from is None
    assert [part.task.is_draft for part in (first, second, third)] == [True, False, False]


@pytest.mark.parametrize("parameters", [{"rounds": 0}, {"finetune_matcher": False}])
def test_a_matcher_that_is_trained_once_is_no_draft(parameters):
    assert not recorded(**parameters).matcher_.task.is_draft


@pytest.mark.parametrize("finetune_matcher", [True, False])
def test_the_ranker_learns_from_the_documents_of_its_final_clusters(finetune_matcher):
    model = recorded(finetune_matcher=finetune_matcher)
    expected = cluster_targets(check_labels(DATA.Y, DATA.X.shape[0])[0], model.clusters_)
    rows = model.ranker_.task.rows
    np.testing.assert_array_equal(rows.starts, expected.starts)
    np.testing.assert_array_equal(rows.columns, expected.columns)
