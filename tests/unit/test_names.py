import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.inputs.name_search import NameSearch
from polyseme.inputs.names import Names, name_of, number_of
from tests.examples import examples

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
int64 = st.integers(-(2**63), 2**63 - 1)


@examples(60)
@given(st.one_of(st.lists(text, max_size=12), st.lists(int64, min_size=1, max_size=12)), st.data())
def test_names_behave_as_the_list_they_were_made_from(items, data):
    names = Names.from_list(items)
    step = data.draw(st.sampled_from([None, 1, 2, -1, -3]))
    bound = st.none() | st.integers(-15, 15)
    piece = slice(data.draw(bound), data.draw(bound), step)
    assert len(names) == len(items)
    assert list(names) == items
    assert [names[i] for i in range(-len(items), len(items))] == items + items
    assert list(names[piece]) == items[piece]
    assert [names.index(item) for item in items] == [items.index(item) for item in items]
    assert Names.from_arrays(names.to_arrays()) == names
    assert Names.from_arrays(names[piece].to_arrays()) == Names.from_list(items[piece])


def test_names_compare_by_content():
    assert Names.from_list(["a", "bc"]) != Names.from_list(["ab", "c"])
    assert Names.from_list(["1"]) != Names.from_list([1])
    assert Names.from_list(["a"]) != ["a"]
    assert Names.from_list(["x", "a", "b"])[1:] == Names.from_list(["a", "b"])


def test_a_position_outside_is_an_index_error():
    with pytest.raises(IndexError):
        Names.from_list(["a"])[1]


def test_membership_needs_the_same_type():
    names = Names.from_list([3, 4])
    assert 3 in names
    assert np.int64(3) in names
    assert "3" not in names
    assert None not in names
    assert names.index(np.int64(4)) == 1


def test_beginnings_of_words_are_answered_with_the_names_that_have_them():
    names = Names.from_list(["Comet", "Quantum computer", "Computer crime", "Café", "Composite"])
    expected = "no label named 'COMPUT'; did you mean 'Computer crime', 'Quantum computer'"
    with pytest.raises(ValueError, match=expected):
        names.index("COMPUT")
    with pytest.raises(ValueError, match="did you mean 'Café'"):
        names.index("caf")


def test_of_a_name_that_is_a_paragraph_the_answer_has_the_beginning():
    with pytest.raises(ValueError, match=r"did you mean 'Pear x{75}…'\?$"):
        Names.from_list(["Pear " + "x" * 9000]).index("pear")


def test_an_unknown_name_is_answered_with_the_closest_ones():
    names = Names.from_list(["tank", "belt", "Apple", "apple tree", "python"])
    with pytest.raises(ValueError, match=r"no label named 'aple'; did you mean 'Apple'"):
        names.index("aple")
    with pytest.raises(ValueError, match=r"no feature named 'tree'; did you mean 'apple tree'\?"):
        names.index("tree", noun="feature")
    with pytest.raises(ValueError, match=r"no label named 'zzz'.$"):
        names.index("zzz")
    with pytest.raises(ValueError, match=r"no label named 9.$"):
        Names.from_list([1, 2]).index(9)


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        (["a", 1], "name 1 is 1"),
        ([1, "a"], "name 0 is 1"),
        ([True], "name 0 is True"),
        (["a", None], "name 1 is None"),
        (["a", "\ud800"], "name 1 is not valid Unicode"),
        ([2**63], "must fit into 64 bits"),
    ],
)
def test_names_that_cannot_be_stored_are_refused(items, sentence):
    with pytest.raises(ValueError, match=sentence):
        Names.from_list(items)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"ids": np.zeros(2, np.int32)},
        {"starts": np.array([0, 1])},
        {"starts": np.array([], np.int64), "utf8": np.zeros(0, np.uint8)},
        {"starts": np.array([1, 2]), "utf8": np.zeros(2, np.uint8)},
        {"starts": np.array([0, 3]), "utf8": np.zeros(2, np.uint8)},
        {"starts": np.array([0, 2, 1, 2]), "utf8": np.zeros(2, np.uint8)},
    ],
)
def test_arrays_that_are_no_names_are_refused(arrays):
    with pytest.raises(ValueError, match="names"):
        Names.from_arrays(arrays)


def test_bytes_that_are_no_text_are_refused_when_they_are_read():
    names = Names.from_arrays({"starts": np.array([0, 1]), "utf8": np.array([255], np.uint8)})
    with pytest.raises(ValueError, match="name 0 is not valid UTF-8"):
        names[0]


@pytest.mark.parametrize("given", ["b", 1, "1", np.int64(1)])
def test_a_number_or_a_name_gives_the_number(given):
    assert number_of(given, Names.from_list(["a", "b"]), 2) == 1


def test_a_name_that_several_labels_have_is_answered_with_their_numbers():
    names = Names.from_list(["Mercury", "tank", "Mercury", "Mercury (planet)"])
    with pytest.raises(
        ValueError, match=r"^2 labels are called 'Mercury', with the numbers 0, 2;"
    ):
        number_of("Mercury", names, 4)
    sentence = r"fits 2 labels, 'Mercury' \(0\), 'Mercury' \(2\); give one by its number"
    with pytest.raises(ValueError, match=sentence):
        number_of("mercury", names, 4)
    assert [number_of(given, names, 4) for given in ("tank", 2, "2")] == [1, 2, 2]
    assert number_of("Mercury", names, 4, noun="feature", hints=False) == 0


def test_a_name_that_looks_like_a_number_is_a_name_first():
    names = Names.from_list(["1", "0"])
    assert [number_of(name, names, 2) for name in ("0", "1", 0, 1)] == [1, 0, 0, 1]
    assert number_of(20, Names.from_list([10, 20]), 2) == 1
    assert [name_of(names, 1), name_of(None, 1)] == ["0", 1]


@pytest.mark.parametrize(
    ("given", "names", "options", "sentence"),
    [
        ("bb", ["a", "b"], {}, "no label named 'bb'; did you mean 'b'"),
        ("bb", ["a", "b"], {"hints": False, "noun": "word"}, "this model has no word 'bb'$"),
        ("b", None, {"noun": "word"}, "no word names; give a number instead of 'b'"),
        ("2", ["a", "b"], {}, "no label '2': labels are numbered from 0 to 1"),
        (-1, None, {}, "no label -1"),
        ("-1", None, {}, "a number instead of '-1'"),
        ("9" * 40, None, {}, "a number instead of"),
        ("x" * 1000, None, {}, "instead of 'x{80}'$"),
    ],
)
def test_what_is_neither_name_nor_number_is_refused(given, names, options, sentence):
    known = None if names is None else Names.from_list(names)
    with pytest.raises(ValueError, match=sentence):
        number_of(given, known, 2, **options)


def test_names_in_many_pieces_are_walked_through_as_one(monkeypatch):
    monkeypatch.setattr("polyseme.inputs.names._CHUNK", 2)
    for items in (["a", "bc", "", "d", "efg"], [5, 4, 3, 2, 1]):
        assert list(Names.from_list(items)) == items
    damaged = Names.from_arrays(
        {"starts": np.arange(5), "utf8": np.array([97, 98, 99, 255], np.uint8)}
    )
    with pytest.raises(ValueError, match="name 3 is not valid UTF-8"):
        list(damaged)


def test_parts_of_other_names_are_answered_with_the_names_of_their_things():
    names = Names.from_list(["climate", "weather"])
    search = NameSearch(names, [(0, "Global warming")])
    with pytest.raises(ValueError, match="no label named 'global warm'; did you mean 'climate'"):
        number_of("global warm", names, 2, search=search)


def test_of_names_that_contain_what_was_meant_short_ones_come_first():
    names = Names.from_list(["the old apple tree", "an apple tree", "a tree"])
    with pytest.raises(ValueError, match="mean 'a tree', 'an apple tree', 'the old apple tree'"):
        names.index("tree")
