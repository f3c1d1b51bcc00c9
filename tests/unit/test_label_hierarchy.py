"""Trees from outside: what they are made of, and what is said where they cannot be."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme import LabelHierarchy
from polyseme.partition.trees.laying_out import MOST_LEVELS
from tests.examples import examples
from tests.small_problems import clusters_of

NAMES = ["apple", "pear", "cat", "dog", "oak"]


def nested(hierarchy, names=NAMES):
    tree, clusters = hierarchy.tree_of(len(names), names)
    return tree.to_nested(clusters, names)


def test_nested_lists_are_groups_and_the_labels_of_one_a_cluster():
    given = [["pear", "apple"], [["cat"], ["dog"]], ["oak"]]
    found = nested(LabelHierarchy.from_nested(given))
    assert found == [["apple", "pear"], [["cat"], ["dog"]], ["oak"]]


def test_objects_are_groups_with_names_that_may_be_labels():
    given = {"fruit": ["apple", {"pear": None}], "animal": {"cat": [], "dog": {}}, "oak": None}
    found = nested(LabelHierarchy.from_nested(given))
    assert found == [["apple", "pear"], ["cat", "dog"], ["oak"]]
    given = {"oak": {"cat": ["dog"], "apple": None}, "pear": []}
    found = nested(LabelHierarchy.from_nested(given))
    assert found == [[["cat", "dog"], ["apple", "oak"]], ["pear"]]


def test_labels_without_names_are_numbers_of_columns():
    hierarchy = LabelHierarchy.from_nested([[2, 0], [1]])
    tree, clusters = hierarchy.tree_of(3)
    assert tree.to_nested(clusters) == [[0, 2], [1]]
    spelled = LabelHierarchy.from_nested([["2", "0"], ["1"]]).tree_of(3)
    assert spelled[0].to_nested(spelled[1]) == [[0, 2], [1]]


def test_labels_that_y_does_not_have_are_passed_over_with_their_groups():
    given = [["apple", "plum"], [["elk"], [["cat"]], []], ["pear", "dog", "oak"]]
    found = nested(LabelHierarchy.from_nested(given))
    assert found == [["apple"], ["cat"], ["pear", "dog", "oak"]]


def test_one_group_is_one_cluster():
    tree, _ = LabelHierarchy.from_nested([[[NAMES]]]).tree_of(5, NAMES)
    assert tree.levels == ()


def test_a_label_in_two_groups_begins_with_two_slots():
    _, clusters = LabelHierarchy.from_nested([["apple", "pear"], ["pear", *NAMES[2:]]]).tree_of(
        5, NAMES
    )
    assert clusters.copies.tolist() == [1, 2, 1, 1, 1]


def test_two_columns_of_one_name_go_to_the_same_place():
    _, clusters = LabelHierarchy.from_nested([["a"], ["b"]]).tree_of(3, ["a", "b", "a"])
    assert clusters.labels.tolist() == [0, 2, 1]


def test_parents_may_be_a_forest_in_any_order():
    parents = [3, 3, -1, -1]
    node_of_label = {"apple": 0, "pear": 1, "cat": 2, "dog": 2, "oak": 3}
    found = nested(LabelHierarchy.from_parents(parents, node_of_label))
    assert found == [["cat", "dog"], [["apple"], ["pear"], ["oak"]]]
    by_column = LabelHierarchy.from_parents(parents, np.array([0, 1, 2, 2, 3]))
    assert nested(by_column) == found


def test_a_label_of_a_thesaurus_is_grouped_with_the_narrower_ones_that_have_none():
    broader = [("apple", "pear"), ("cat", "pear"), ("dog", "cat"), ("oak", None)]
    found = nested(LabelHierarchy.from_skos(broader))
    assert found == [[["cat", "dog"], ["apple", "pear"]], ["oak"]]


def test_of_several_broader_labels_the_first_counts():
    broader = [("apple", "pear"), ("apple", "cat"), ("dog", "cat"), ("oak", "cat")]
    found = nested(LabelHierarchy.from_skos(broader))
    assert found == [["apple", "pear"], ["cat", "dog", "oak"]]


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 30),
    n_others=st.integers(0, 10),
)
def test_every_label_of_a_thesaurus_is_in_one_cluster_beside_or_below_its_broader_one(
    seed, n_labels, n_others
):
    rng = np.random.default_rng(seed)
    # Numbers from n_labels on are headings that no document has.
    n = n_labels + n_others
    order = rng.permutation(n)
    above = {
        int(order[i]): int(order[rng.integers(i)]) if i and rng.random() < 0.9 else None
        for i in range(n)
    }
    tree, clusters = LabelHierarchy.from_skos(list(above.items())).tree_of(n_labels)
    assert (clusters.copies == 1).all()
    assert (clusters.sizes > 0).all()
    cluster_of = np.empty(n_labels, dtype=int)
    cluster_of[clusters.labels] = clusters.cluster_of_slot
    has_narrower = set(above.values())
    for label in range(n_labels):
        wider = above[label]
        if wider is not None and wider < n_labels and label not in has_narrower:
            assert cluster_of[label] == cluster_of[wider]
    # No node but a leaf has a single child on all levels: nothing is drawn out in vain.
    for starts in tree.levels[:1]:
        assert starts[1] > 1


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 30))
def test_what_was_carried_away_comes_back(seed, n_labels):
    rng = np.random.default_rng(seed)
    parents = np.array([-1, -1, *(rng.integers(-1, i + 2) for i in range(rng.integers(12)))])
    placed = LabelHierarchy.from_parents(parents, rng.integers(len(parents), size=n_labels))
    tree, clusters = placed.tree_of(n_labels)
    for again in (
        LabelHierarchy.from_cluster_chain(tree.to_cluster_chain(clusters)),
        LabelHierarchy.from_nested(tree.to_nested(clusters)),
    ):
        tree_again, clusters_again = again.tree_of(n_labels)
        assert tree_again.to_nested(clusters_again) == tree.to_nested(clusters)


def test_a_cluster_chain_goes_by_columns_whatever_their_names():
    chain = [sp.csr_array(np.ones((2, 1))), sp.csc_matrix(np.eye(2)[[0, 1, 0]])]
    tree, clusters = LabelHierarchy.from_cluster_chain(chain).tree_of(3, ["2", "1", "0"])
    assert tree.to_nested(clusters) == [[0, 2], [1]]


def test_labels_that_are_missing_are_named():
    hierarchy = LabelHierarchy.from_nested([["apple"]])
    with pytest.raises(ValueError, match=r"no place for 4 labels, such as 'pear', 'cat', 'dog';"):
        hierarchy.tree_of(5, NAMES)
    with pytest.raises(ValueError, match="no place for 1; add what is missing"):
        LabelHierarchy.from_nested([0]).tree_of(2)


def test_labels_that_are_missing_may_be_put_together():
    hierarchy = LabelHierarchy.from_nested([["apple"], ["oak"]], others="together")
    assert nested(hierarchy) == [["apple"], ["oak"], ["pear", "cat", "dog"]]
    with pytest.raises(ValueError, match="others must be one of 'refuse', 'together'"):
        LabelHierarchy.from_nested([], others="forget")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelHierarchy.from_nested("apple"), "lists of labels and further lists"),
        (lambda: LabelHierarchy.from_nested({"a": 3}), "lists of labels and further lists"),
        (lambda: LabelHierarchy.from_nested([["a", 1.5]]), "a text or a whole number, not 1.5"),
        (lambda: LabelHierarchy.from_nested([None]), "a text or a whole number, not None"),
        (lambda: LabelHierarchy.from_nested([True]), "a text or a whole number, not True"),
        (lambda: LabelHierarchy.from_parents([0], {}), "node 0 is above itself"),
        (lambda: LabelHierarchy.from_parents([-1, 2, 1], {}), "node . is above itself"),
        (lambda: LabelHierarchy.from_parents([-1, 7], {}), "node 1 is below node 7"),
        (lambda: LabelHierarchy.from_parents([-1, -2], {}), "node 1 is below node -2"),
        (lambda: LabelHierarchy.from_parents([0.5], {}), "parents must be whole numbers"),
        (lambda: LabelHierarchy.from_parents([[0], [1, 2]], {}), "must be whole numbers"),
        (lambda: LabelHierarchy.from_parents([-1], {"a": 1}), "label 'a' is at node 1"),
        (lambda: LabelHierarchy.from_parents([-1], [0, -1]), "label 1 is at node -1"),
        (lambda: LabelHierarchy.from_parents([-1], {"a": "b"}), "must be whole numbers"),
        (lambda: LabelHierarchy.from_skos([("a", "a")]), "'a' is broader than itself"),
        (
            lambda: LabelHierarchy.from_skos([("c", "a"), ("a", "b"), ("b", "a")]),
            "label '[ab]' is broader than itself, by way of '[ab]'",
        ),
        (lambda: LabelHierarchy.from_skos(["ab"]), "a label and a broader one are expected"),
        (lambda: LabelHierarchy.from_skos([("a",)]), "a label and a broader one are expected"),
        (lambda: LabelHierarchy.from_skos([(1.5, "a")]), "a text or a whole number"),
        (lambda: LabelHierarchy.from_cluster_chain([]), "one matrix at least"),
        (lambda: LabelHierarchy.from_cluster_chain([np.eye(2)]), "matrix 0 .* is not sparse"),
        (
            lambda: LabelHierarchy.from_cluster_chain([sp.eye_array(2), sp.eye_array(3)]),
            "matrix 1 of the cluster chain has 3 columns, but there are 2 nodes",
        ),
        (
            lambda: LabelHierarchy.from_cluster_chain(
                [sp.csr_array(np.ones((2, 2))), sp.eye_array(2)]
            ),
            "matrix 0 of the cluster chain: row 0 has 2 entries; a node has one",
        ),
        (
            lambda: LabelHierarchy.from_cluster_chain([sp.csr_array([[1.0], [0.0]])]),
            "row 1 has 0 entries; a label is in one cluster at least",
        ),
    ],
)
def test_what_is_no_hierarchy_is_refused_with_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_hierarchy_without_end_is_refused_before_anything_is_built():
    n = 5000
    with pytest.raises(ValueError, match=f"levels deep; {MOST_LEVELS} are the most"):
        LabelHierarchy.from_skos([(i, i - 1) for i in range(1, n)]).tree_of(n)
    deep = [0]
    for _ in range(n):
        deep = [deep]
    assert LabelHierarchy.from_nested(deep).tree_of(1)[0].levels == ()


# Files


def test_a_file_of_two_columns_is_a_thesaurus(tmp_path):
    text = "label\tbroader\napple\tfruit\r\npear\tfruit\n\ncat\tpet\ndog\tpet\noak\n"
    (tmp_path / "broader.tsv").write_text(text, encoding="utf-8-sig", newline="")
    found = nested(LabelHierarchy.from_file(tmp_path / "broader.tsv"))
    assert found == [["apple", "pear"], ["cat", "dog"], ["oak"]]
    (tmp_path / "broader.csv").write_text('"a, b",c\nd,c\n')
    assert nested(LabelHierarchy.from_file(tmp_path / "broader.csv"), ["a, b", "d"]) == [
        "a, b",
        "d",
    ]


def test_a_json_file_has_nested_lists_and_objects(tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps([{"fruit": ["apple", "pear"]}, NAMES[2:]]))
    found = nested(LabelHierarchy.from_file(str(tmp_path / "tree.json")))
    assert found == [["apple", "pear"], ["cat", "dog", "oak"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tree.json", b'["a",\n oops]', "tree.json, line 2: not JSON"),
        ("tree.json", b"3", "tree.json: a hierarchy is made of lists"),
        ("tree.json", b"[" * 100_000, "tree.json is nested too deeply"),
        ("tree.tsv", b"a\tb\na\tb\tc\n", "tree.tsv, line 2: .* not 3 cells"),
        ("tree.tsv", b"a\tb\n\tb\n", "tree.tsv, line 2: .* the first is empty"),
        ("tree.csv", b'a,b\n"a', "tree.csv, line 2: unexpected end of data"),
        ("tree.tsv", b"a\tb\nb\ta\n", "tree.tsv: label '[ab]' is broader than itself"),
        ("tree.tsv", b"a\n\xff\n", "tree.tsv, line 2: not UTF-8"),
        ("tree.rdf", b"", "ends in .json, .tsv or .csv, not '.rdf'"),
    ],
)
def test_a_file_that_is_none_is_refused_by_its_name_and_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        LabelHierarchy.from_file(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        LabelHierarchy.from_file(tmp_path / "none.json")


def test_clusters_of_a_hierarchy_are_a_table_like_any_other():
    _, clusters = LabelHierarchy.from_nested([[0, 2], [1]]).tree_of(3)
    expected = clusters_of([0, 2], [1], n_labels=3)
    np.testing.assert_array_equal(clusters.labels, expected.labels)
    np.testing.assert_array_equal(clusters.starts, expected.starts)
