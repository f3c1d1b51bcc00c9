import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.separation import (
    FIGURES,
    GoneTo,
    judge_naming,
    judge_separation,
    pairs_with_one_part,
    where_documents_go,
)
from tests.examples import examples
from tests.small_data import two_senses
from tests.small_problems import clusters_of, sparse

VI, NMI, PURITY = FIGURES


def gone_to(fused_label, part, slot):
    arrays = [np.asarray(values, dtype=np.int64) for values in (fused_label, part, slot)]
    n = len(arrays[0])
    return GoneTo(np.arange(n), *arrays, score=np.ones(n))


def judged_alone(part, slot, **how):
    return judge_separation(gone_to(np.zeros(len(part)), part, slot), **how)


@st.composite
def documents_of_labels(draw):
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    fused = rng.integers(draw(st.integers(1, 4)), size=n)
    part = fused * 5 + rng.integers(draw(st.integers(1, 5)), size=n)
    slot = fused * 3 + rng.integers(draw(st.integers(1, 3)), size=n)
    return fused, part, slot


def test_slots_that_are_the_parts_separate_perfectly():
    judged = judged_alone([4, 4, 4, 7, 7], [1, 1, 1, 0, 0])
    assert {name: judged.seen[name][0] for name in FIGURES} == {VI: 0, NMI: 1, PURITY: 1}


def test_figures_of_a_small_table_are_those_worked_out_by_hand():
    # Two parts of four documents each; slots hold 3 + 1 and 1 + 3 of them.
    judged = judged_alone([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1])
    joint = -(6 / 8) * math.log2(3 / 8) - (2 / 8) * math.log2(1 / 8)
    assert judged.seen[VI][0] == pytest.approx(2 * joint - 2)
    assert judged.seen[NMI][0] == pytest.approx(2 - joint)
    assert judged.seen[PURITY][0] == pytest.approx(6 / 8)


def test_one_slot_for_all_says_nothing():
    judged = judged_alone([0, 0, 1, 2], [5, 5, 5, 5])
    assert judged.seen[NMI][0] == judged.by_chance[NMI][0] == 0
    assert judged.seen[PURITY][0] == judged.by_chance[PURITY][0] == 0.5
    assert judged.seen[VI][0] == pytest.approx(1.5)  # the entropy of the parts


@given(documents_of_labels())
@examples(40)
def test_figures_are_those_of_scikit_learn_label_by_label(documents):
    fused, part, slot = documents
    judged = judge_separation(gone_to(fused, part, slot), n_permutations=1)
    for i, label in enumerate(judged.fused_labels):
        own = fused == label
        shared = mutual_info_score(part[own], slot[own]) / math.log(2)
        assert judged.seen[NMI][i] == pytest.approx(
            normalized_mutual_info_score(part[own], slot[own]), abs=1e-9
        )
        entropies = [entropy_of(keys[own]) for keys in (part, slot)]
        assert judged.seen[VI][i] == pytest.approx(sum(entropies) - 2 * shared, abs=1e-9)
        assert judged.seen[PURITY][i] == pytest.approx(purity_of(part[own], slot[own]))


def entropy_of(keys):
    share = np.unique(keys, return_counts=True)[1] / len(keys)
    return float(-(share * np.log2(share)).sum())


def purity_of(part, slot):
    return sum(np.bincount(part[slot == s]).max() for s in set(slot.tolist())) / len(part)


@given(documents_of_labels())
@examples(25)
def test_figures_stay_within_their_bounds(documents):
    fused, part, slot = documents
    judged = judge_separation(gone_to(fused, part, slot), n_permutations=3)
    for found in (judged.seen, judged.by_chance):
        assert (found[NMI] >= 0).all()
        assert (found[NMI] <= 1).all()
        assert (found[PURITY] <= 1).all()
        assert (found[PURITY] >= 1 / 5).all()  # five parts at most
        assert (found[VI] >= 0).all()
        assert (found[VI] <= np.log2(judged.n_documents) + 1e-9).all()


@given(documents_of_labels(), st.integers(0, 99))
@examples(25)
def test_names_of_parts_and_slots_and_the_order_of_documents_do_not_matter(documents, seed):
    fused, part, slot = documents
    rng = np.random.default_rng(seed)
    new_part, new_slot = rng.permutation(50), rng.permutation(50)
    order = rng.permutation(len(fused))
    judged = judge_separation(gone_to(fused, part, slot), n_permutations=1)
    renamed = judge_separation(
        gone_to(fused[order], new_part[part[order]], new_slot[slot[order]]), n_permutations=1
    )
    for name in FIGURES:
        assert renamed.seen[name] == pytest.approx(judged.seen[name], abs=1e-9)


def test_slots_that_know_nothing_are_near_chance():
    rng = np.random.default_rng(1)
    fused = np.repeat(np.arange(3000), 8)
    part, slot = (fused * 2 + rng.integers(2, size=len(fused)) for _ in range(2))
    figures = judge_separation(gone_to(fused, part, slot)).means()
    for name in FIGURES:
        assert figures[name] == pytest.approx(figures[name + "_by_chance"], abs=0.02)
    assert figures[NMI] > 0.05  # with few documents, chance alone looks like something


def test_chance_is_the_expected_mutual_information():
    part, slot = np.repeat([0, 1, 2], [6, 4, 2]), np.repeat([0, 1, 0, 1], 3)
    judged = judged_alone(part, slot, n_permutations=4000)
    table = np.array([[3, 3], [3, 1], [0, 2]])
    expected = expected_mutual_information(sp.csr_matrix(table), 12) / math.log(2)
    entropies = entropy_of(part) + entropy_of(slot)
    assert judged.by_chance[NMI][0] == pytest.approx(2 * expected / entropies, abs=0.01)
    assert judged.by_chance[VI][0] == pytest.approx(entropies - 2 * expected, abs=0.02)


def test_dealing_out_keeps_documents_within_their_label():
    # Each label has slots of its own; across labels they would always differ.
    judged = judge_separation(gone_to([0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 3], [0, 0, 0, 9, 9, 9]))
    assert judged.by_chance[NMI].tolist() == [0, 0]


def test_labels_with_one_part_or_few_documents_are_not_judged():
    fused = [0, 0, 0, 1, 1, 2, 2, 2, 2]
    part = [0, 0, 0, 2, 3, 4, 5, 4, 5]
    gone = gone_to(fused, part, slot=[0, 1, 1, 2, 3, 4, 4, 4, 4])
    judged = judge_separation(gone, min_documents=3)
    assert judged.fused_labels.tolist() == [2]
    assert judged.n_documents.tolist() == [4]


def test_means_count_labels_alike_or_by_their_documents():
    # The first label is separated, by two documents; the second is not, by six.
    gone = gone_to([0] * 2 + [1] * 6, [0, 1, 2, 2, 2, 3, 3, 3], [0, 1] + [2] * 6)
    figures = judge_separation(gone).means()
    assert figures["n_judged"] == 2
    assert figures[NMI] == pytest.approx(0.5)
    assert figures[NMI + "_weighted"] == pytest.approx(0.25)
    assert figures[PURITY] == pytest.approx(0.75)


def test_nothing_to_judge_is_no_number():
    figures = judge_separation(gone_to([], [], [])).means()
    assert figures["n_judged"] == 0
    assert math.isnan(figures[PURITY])


def test_pairs_have_exactly_one_part_of_a_fused_label():
    Y = sp.csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]]))
    document, label, part = pairs_with_one_part(Y, [1, 1, 0])
    assert document.tolist() == [0, 0, 2, 2]
    assert label.tolist() == [0, 1, 0, 1]
    assert part.tolist() == [2, 0, 2, 1]


def test_senses_stand_for_parts_as_most_training_documents_say():
    # Sense 7 is part 4 and sense 8 part 5, by two of three training documents each.
    train = gone_to([0] * 6, [4, 4, 5, 5, 5, 4], [7, 7, 7, 8, 8, 8])
    test = gone_to([0] * 4, [4, 5, 4, 5], [7, 8, 8, 7])
    figures = judge_naming(train, test)
    assert figures == {"right": 0.5, "right_by_chance": 0.5, "right_by_documents": 0.5}
    assert judge_naming(train, train)["right"] == pytest.approx(4 / 6)


def test_two_senses_never_stand_for_the_same_part():
    # Both senses have more of part 0, but the second stands for part 1 in the best of all ways.
    train = gone_to([0] * 9, [0] * 7 + [1, 1], [0, 0, 0, 0, 1, 1, 1, 1, 1])
    test = gone_to([0] * 4, [1, 1, 1, 0], [1] * 4)
    assert judge_naming(train, test)["right"] == 0.75
    # A third sense stands for nothing.
    train = gone_to([0] * 5, [0, 0, 1, 1, 0], [0, 0, 1, 1, 2])
    assert judge_naming(train, gone_to([0, 0], [0, 1], [2, 2]))["right"] == 0


def test_a_whole_label_stands_for_its_larger_part():
    train = gone_to([0] * 5, [3, 3, 2, 2, 2], [-1] * 5)
    test = gone_to([0] * 4, [2, 2, 2, 3], [-1] * 4)
    assert judge_naming(train, test)["right"] == judge_naming(train, test)["right_by_chance"]
    assert judge_naming(train, test)["right"] == 0.75


def test_right_senses_are_counted_label_by_label_or_document_by_document():
    train = gone_to([0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3])
    test = gone_to([0, 1, 1, 1], [0, 2, 2, 3], [1, 2, 2, 3])  # label 0 wrong, label 1 right
    figures = judge_naming(train, test)
    assert figures["right"] == 0.5
    assert figures["right_by_documents"] == 0.75
    assert figures["right_by_chance"] == pytest.approx((0 + 5 / 9) / 2)


def test_a_sense_without_training_documents_is_never_right():
    train = gone_to([0, 0], [0, 1], [0, 1])
    assert judge_naming(train, gone_to([0, 5], [0, 9], [2, 2]))["right"] == 0
    assert math.isnan(judge_naming(train, gone_to([], [], []))["right"])


def test_documents_go_to_the_slot_of_the_best_matched_cluster():
    # Fused label 0 (parts 0, 1) has slots 0 and 2, in clusters 0 and 1; label 1 has slots 1 and 3.
    clusters = clusters_of([0, 1], [0], [1], n_labels=2)
    matched = sparse([[0.875, 0.5, 0], [0.25, 0.5, 0], [0, 0, 0.75], [0, 0.125, 0.375]])
    Y = sp.csr_array(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]]))
    gone = where_documents_go(matched, clusters, Y, [0, 0, 1])
    pairs = zip(gone.document, gone.fused_label, gone.part, gone.slot, gone.score, strict=True)
    assert [tuple(map(float, pair)) for pair in pairs] == [
        (0, 0, 0, 0, 0.875),
        (1, 0, 1, 2, 0.5),
        (2, 1, 2, 3, 0.75),
        (3, 1, 2, 3, 0.375),
    ]
    assert gone.n_unreached == 1  # document 2 has label 0; the last one has two parts of it


def test_labels_with_one_slot_have_nowhere_else_to_go():
    clusters = clusters_of([0], [1], n_labels=2)
    matched = sparse(np.ones((2, 2)))
    gone = where_documents_go(matched, clusters, sp.csr_array(np.eye(2)), [0, 1])
    assert len(gone.slot) == gone.n_unreached == 0


def test_a_beam_without_clusters_reaches_nothing():
    clusters = clusters_of([0], [0], n_labels=1)
    Y = sp.csr_array(np.eye(2))
    gone = where_documents_go(sparse(np.zeros((2, 2))), clusters, Y, [0, 0])
    assert len(gone.slot) == 0
    assert gone.n_unreached == 2


def test_slots_of_a_trained_model_stand_for_the_senses_of_labels():
    data = two_senses()
    model = XRLinear(copies=2, max_leaf_size=8, branching=16, beam_size=2, n_jobs=2)
    model.fit(data.X, data.Y)
    # The topic of a test document is where its words are; label and topic together are a part.
    topic = np.add.reduceat(data.X_test.toarray()[:, :96], np.arange(0, 96, 6), axis=1).argmax(1)
    n_test, n_labels = data.Y_test.shape
    part = data.Y_test.indices * 16 + topic
    Y_parts = sp.csr_array((np.ones(n_test), part, np.arange(n_test + 1)), (n_test, 16 * n_labels))
    matched = model.match(data.X_test)
    gone = where_documents_go(matched, model.clusters_, Y_parts, np.arange(16 * n_labels) // 16)
    figures = judge_separation(gone, min_documents=4).means()
    assert figures["n_judged"] > 10
    assert figures[NMI] > figures[NMI + "_by_chance"] + 0.3
    assert figures[PURITY] > figures[PURITY + "_by_chance"] + 0.1
