"""More documents and labels for a trained model, without training everything again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import XRLinear
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.backbones.tasks import RankingTask
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.metrics import precision_at_k
from polyseme.partition.co_occurrence import co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.training_rows import cluster_targets
from polyseme.training.update import updated
from tests import growing_models
from tests.growing_models import SMALL, split
from tests.small_data import topics, two_senses

case = growing_models.case


@pytest.fixture(scope="module")
def grown(case):
    _, model, parts = case
    return updated(model, *parts)


def weights_by_slot(model):
    """Return the stored bytes of every slot, by cluster and label: weights, scale and bias."""
    clusters, weights = model.clusters_, model.ranker_.weights
    return {
        (int(cluster), int(label)): (
            [part.tobytes() for part in weights.weights_of(slot)[:2]],
            weights.scales[slot].tobytes(),
            weights.bias[slot].tobytes(),
        )
        for slot, (cluster, label) in enumerate(
            zip(clusters.cluster_of_slot, clusters.labels, strict=True)
        )
    }


@pytest.mark.slow
def test_an_update_stays_close_to_a_full_training_and_finds_new_labels(case, grown):
    data, model, (X_old, Y_old, X_new, Y_new) = case
    wide = sp.csr_array((Y_old.data, Y_old.indices, Y_old.indptr), (Y_old.shape[0], 80))
    full = XRLinear(**SMALL).fit(sp.vstack([X_old, X_new]), sp.vstack([wide, Y_new]))
    for k in (1, 3):
        figures = [
            precision_at_k(one.predict_top_k(data.X_test, k)[0], data.Y_test, k)
            for one in (grown[0], full, model)
        ]
        assert figures[0] > figures[1] - 3
        assert figures[0] > figures[2]
    has_new = np.flatnonzero(np.diff(data.Y_test[:, 76:].indptr))
    labels, _ = grown[0].predict_top_k(data.X_test[has_new], 5)
    found = [
        np.isin(data.Y_test[[i]].indices[data.Y_test[[i]].indices >= 76], labels[j]).all()
        for j, i in enumerate(has_new)
    ]
    assert np.mean(found) > 0.8


def test_clusters_that_nothing_was_added_to_keep_every_byte():
    data = two_senses()
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=3)
    model = XRLinear(**SMALL).fit(X_old, Y_old)
    grown, update = updated(model, X_old, Y_old, X_new, Y_new)
    before, after = weights_by_slot(model), weights_by_slot(grown)
    touched = set((Y_new @ grown.clusters_.to_matrix()).indices.tolist())
    assert 0 < len(touched) == update.n_changed_clusters < update.n_clusters
    n_same = 0
    for (cluster, label), stored in before.items():
        if cluster not in touched:
            assert after[cluster, label] == stored
            n_same += 1
    assert n_same > 0
    assert set(before) <= set(after)


def test_changed_clusters_are_those_of_a_training_from_zero(case, grown):
    """With all clusters changed, the ranker is the one that all documents together give."""
    _, model, (X_old, Y_old, X_new, Y_new) = case
    every = (
        sp.vstack([X_new, X_old[:400]]),
        sp.vstack(
            [
                Y_new,
                sp.csr_array(
                    (Y_old[:400].data, Y_old[:400].indices, Y_old[:400].indptr), (400, 80)
                ),
            ]
        ),
    )
    one, update = updated(model, X_old, Y_old, *every, retrain_matcher=False)
    assert update.n_changed_clusters == update.n_clusters
    X = check_features(sp.vstack([X_old, every[0]]))
    wide = sp.csr_array((Y_old.data, Y_old.indices, Y_old.indptr), (Y_old.shape[0], 80))
    Y, _ = check_labels(sp.vstack([wide, every[1]]), X.n_rows)
    targets = cluster_targets(Y, one.clusters_)
    task = RankingTask(Y, one.clusters_, targets)
    ranker = one.make_ranker().fit(X, task, one._run())
    np.testing.assert_array_equal(ranker.weights.bytes, one.ranker_.weights.bytes)
    np.testing.assert_array_equal(ranker.weights.bias, one.ranker_.weights.bias)


def test_a_kept_matcher_matches_every_document_as_before(case):
    data, model, parts = case
    kept, _ = updated(model, *parts, retrain_matcher=False)
    assert kept.matcher_ is model.matcher_
    new_only = kept.decision_function(data.X_test)[:, 76:]
    assert new_only.nnz > 0


def test_nodes_without_changed_clusters_below_them_keep_their_weights():
    data = two_senses()
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=1)
    model = XRLinear(**SMALL, copies=1).fit(X_old, Y_old)
    grown, _ = updated(model, X_old, Y_old, X_new, Y_new)
    lowest, before = grown.matcher_.levels[-1], model.matcher_.levels[-1]
    changed = set((Y_new @ grown.clusters_.to_matrix()).indices.tolist())
    above_changed = model.tree_.parents[-1][sorted(changed)]
    same = np.setdiff1d(np.arange(len(before.slot_starts) - 1), above_changed)
    assert len(same) > 0
    for node in same:
        for slot in range(before.slot_starts[node], before.slot_starts[node + 1]):
            for mine, other in zip(lowest.weights_of(slot), before.weights_of(slot), strict=True):
                np.testing.assert_array_equal(mine, other)


def test_the_given_model_stays_as_it_was(case, grown):
    data, model, _ = case
    assert (model.n_labels_, grown[0].n_labels_) == (76, 80)
    assert model.updates_ == []
    assert model.predict_top_k(data.X_test, 5)[0].max() < 76


def test_a_new_label_has_at_most_copies_slots_where_most_of_its_documents_are_matched(case, grown):
    _, model, (_, _, X_new, Y_new) = case
    matched = model.match(X_new).to_scipy()
    counts = co_occurrence(Y_new[:, 76:], matched).counts.toarray()
    places = grown[0].clusters_.to_matrix()[76:].toarray() > 0
    assert (places.sum(axis=1) <= model.copies).all()
    for label in range(4):
        assert counts[label, places[label]].max() == counts[label].max()


def test_known_labels_keep_their_slots(case, grown):
    _, model, _ = case
    before = model.clusters_.to_matrix().toarray()
    np.testing.assert_array_equal(grown[0].clusters_.to_matrix().toarray()[:76], before)
    assert isinstance(grown[0].clusters_, LabelClusters)


def test_a_partition_stays_one_when_labels_are_added(case):
    _, _, parts = case
    model = XRLinear(**SMALL, rounds=0).fit(*parts[:2])
    grown, _ = updated(model, *parts)
    assert (grown.clusters_.copies == 1).all()


def test_the_numbers_of_documents_add_up(case, grown):
    _, model, (X_old, _, X_new, Y_new) = case
    one = grown[0]
    np.testing.assert_array_equal(one.label_counts_[76:], Y_new[:, 76:].sum(axis=0))
    np.testing.assert_array_equal(
        one.label_counts_[:76], model.label_counts_ + Y_new[:, :76].sum(axis=0)
    )
    assert one.n_documents_ == X_old.shape[0] + X_new.shape[0]
    assert (one.slot_documents_ <= one.label_counts_[one.clusters_.labels]).all()
    assert one.updates_ == [{"n_documents": X_new.shape[0], "n_labels": 4}]


def test_an_updated_model_is_saved_with_its_history_and_updated_again(case, grown, tmp_path):
    data, _, (X_old, Y_old, X_new, Y_new) = case
    grown[0].save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    np.testing.assert_array_equal(
        loaded.predict_top_k(data.X_test)[1], grown[0].predict_top_k(data.X_test)[1]
    )
    wide = sp.csr_array((Y_old.data, Y_old.indices, Y_old.indptr), (Y_old.shape[0], 80))
    again, _ = updated(
        loaded,
        sp.vstack([X_old, X_new]),
        sp.vstack([wide, Y_new]),
        data.X_test,
        data.Y_test,
    )
    assert again.updates_ == [*grown[0].updates_, {"n_documents": 320, "n_labels": 0}]


def test_the_number_of_threads_changes_nothing(case, grown):
    _, _, parts = case
    alone = XRLinear(**SMALL | {"n_jobs": 1}).fit(*parts[:2])
    one, _ = updated(alone, *parts)
    np.testing.assert_array_equal(one.ranker_.weights.bytes, grown[0].ranker_.weights.bytes)


@pytest.mark.parametrize(
    "settings",
    [
        {"training_rows": "both"},
        {"training_rows": "matcher-aware"},
        {"sense_positives": True},
        {"weight_bits": 32},
        {"rounds": 0, "copies": 1},
        {"max_leaf_size": 1000},
    ],
)
def test_every_kind_of_model_can_be_updated(settings):
    data = topics(n_labels=24, n_documents=480)
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=2)
    model = XRLinear(**SMALL | settings).fit(X_old, Y_old)
    grown, _ = updated(model, X_old, Y_old, X_new, Y_new)
    labels, _ = grown.predict_top_k(data.X_test, 1)
    assert precision_at_k(labels, data.Y_test, 1) > 70


def test_an_update_with_two_labels_trains_their_clusters_only(monkeypatch):
    data = two_senses(64, n_documents=800)
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=2)
    model = XRLinear(**SMALL).fit(X_old, Y_old)
    n_slots_trained = []
    train = LinearWeights.train.__func__

    def counted(*arguments, **named):
        trained = train(*arguments, **named)
        n_slots_trained.append(len(trained[0].bias))
        return trained

    monkeypatch.setattr(LinearWeights, "train", classmethod(counted))
    grown, update = updated(model, X_old, Y_old, X_new, Y_new)
    assert 0 < update.n_changed_clusters < update.n_clusters / 2
    assert n_slots_trained[-1] < grown.clusters_.n_slots / 2


# Names


def test_names_of_new_labels_are_appended():
    model = XRLinear(**SMALL).fit(np.eye(3), [["a"], ["b"], ["a"]])
    grown, _ = updated(
        model,
        np.eye(3),
        [["a"], ["b"], ["a"]],
        np.eye(3)[:2],
        [["c", "a"], ["c"]],
        label_names=["c"],
    )
    assert list(grown.label_names_) == ["a", "b", "c"]


@pytest.mark.parametrize("names", [["a"], ["c", "c"]])
def test_a_name_that_is_taken_is_refused(names):
    model = XRLinear(**SMALL).fit(np.eye(3), [["a"], ["b"], ["a"]])
    with pytest.raises(ValueError, match="has the name of another label"):
        updated(model, np.eye(3), [["a"], ["b"], ["a"]], np.eye(3), [["a"]] * 3, label_names=names)


# What is refused


def test_other_old_documents_are_refused(case):
    _, model, (X_old, Y_old, X_new, Y_new) = case
    with pytest.raises(ValueError, match="not those that the model was trained on: label"):
        updated(model, X_old[1:], Y_old[1:], X_new, Y_new)


def test_matrices_that_do_not_fit_are_refused(case):
    _, model, (X_old, Y_old, X_new, Y_new) = case
    with pytest.raises(ValueError, match="Y_old has 70 labels, but the model has 76"):
        updated(model, X_old, Y_old[:, :70], X_new, Y_new)
    with pytest.raises(ValueError, match="Y_new has 70 labels"):
        updated(model, X_old, Y_old, X_new, Y_new[:, :70])
    with pytest.raises(ValueError, match="features"):
        updated(model, X_old, Y_old, X_new[:, 1:], Y_new)
    empty = sp.hstack([Y_new, sp.csr_array((Y_new.shape[0], 1))])
    with pytest.raises(ValueError, match="column 80 has no document"):
        updated(model, X_old, Y_old, X_new, empty)


# What is counted


def reached_by_hand(model, X, Y, clusters):
    """Return (labels x clusters) counts of pairs that are matched, and the pairs reached."""
    matched = model.match(X).to_scipy().toarray() > 0
    Y = Y.toarray() > 0
    home = clusters.to_matrix().toarray() > 0
    return Y.T.astype(int) @ matched, (Y & (matched.astype(int) @ home.T > 0)).sum()


def test_the_documents_of_a_slot_are_the_old_ones_and_the_new_ones(case, grown):
    _, model, (_, _, X_new, Y_new) = case
    after, _ = grown
    counts, _ = reached_by_hand(model, X_new, Y_new, after.clusters_)
    expected = counts[after.clusters_.labels, after.clusters_.cluster_of_slot]
    assert expected[after.clusters_.labels < model.n_labels_].sum() > 0
    expected[after.clusters_.labels < model.n_labels_] += model.slot_documents_
    np.testing.assert_array_equal(after.slot_documents_, expected)


def test_the_reach_of_known_labels_is_the_share_of_their_pairs_that_the_beam_finds(case):
    _, _, (X_old, Y_old, X_new, Y_new) = case
    model = XRLinear(**SMALL | {"beam_size": 1}).fit(X_old, Y_old)
    _, update = updated(model, X_old, Y_old, X_new, Y_new)
    known = Y_new[:, : model.n_labels_]
    _, n_reached = reached_by_hand(model, X_new, known, model.clusters_)
    assert 0 < n_reached < known.nnz
    assert update.known_reach == pytest.approx(n_reached / known.nnz)


def test_a_document_with_other_labels_or_other_features_is_not_repeated():
    X = np.random.default_rng(0).random((8, 4))
    Y = np.eye(8)[:, :3] + np.eye(8)[:, 5:]
    model = XRLinear(n_jobs=1, verbose=0).fit(X, Y)

    def n_repeated(X_new, Y_new):
        return updated(model, X, Y, X_new, Y_new)[1].n_repeated

    assert n_repeated(X[:2], Y[:2]) == 2
    assert n_repeated(X[:2], Y[1::-1]) == 0
    changed = X[:2].copy()
    changed[:, -1] += 1
    assert n_repeated(changed, Y[:2]) == 0
