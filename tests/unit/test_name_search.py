from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.inputs.name_search import Fit, NameSearch, folded
from polyseme.inputs.names import Names, number_of
from tests.examples import examples

NAMES = [
    "Python (programming language)",
    "Pythons",
    "Aluminum",
    "Bach, Johann Sebastian",
    "Bach, Carl Philipp Emanuel",
    "Zürich",
    "Łódź",
    "Water tank",
    "Tank car",
    "Straße",
    "がっこう",
    "C++",
    "C",
]
SEARCH = NameSearch(NAMES, [(5, "Turicum"), (7, "cistern"), (2, "Aluminium")])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("python", "Python (programming language)"),
        ("PYTHONS", "Pythons"),
        ("aluminum", "Aluminum"),
        ("aluminium", "Aluminum"),
        ("  zurich ", "Zürich"),
        ("turicum", "Zürich"),
        ("lodz", "Łódź"),
        ("STRASSE", "Straße"),
        ("johann sebastian bach", "Bach, Johann Sebastian"),
        ("Bach Johann", "Bach, Johann Sebastian"),
        ("c++", "C++"),
        ("c", "C"),
    ],
)
def test_a_name_is_found_as_people_type_it(typed, meant):
    found = SEARCH.only_one(typed)
    assert found is not None
    assert NAMES[found] == meant
    assert number_of(typed, Names.from_list(NAMES), len(NAMES), search=SEARCH) == found


@pytest.mark.parametrize("typed", ["pyth", "かっこう", "bach otto", " ", "tanks"])
def test_what_is_no_word_of_a_name_is_not_taken_for_it(typed):
    assert SEARCH.only_one(typed) is None


def test_several_names_that_fit_alike_are_listed():
    with pytest.raises(ValueError, match=r"'tank' fits 2 labels, 'Tank car', 'Water tank'; give"):
        SEARCH.only_one("tank")
    many = NameSearch([f"law {i}" for i in range(1000)])
    with pytest.raises(ValueError, match=r"'law' fits 1,000 topics, such as 'law 0', .*; give"):
        many.only_one("law", noun="topic")
    with pytest.raises(ValueError, match="fits 2 labels, 'bat', 'BAT'"):
        NameSearch(["bat", "BAT"]).only_one("Bat")


def test_a_name_of_its_own_counts_more_than_another_things_other_name():
    assert NameSearch(["tank", "cistern"], [(1, "tank")]).only_one("Tank") == 0


def test_hits_say_how_and_by_which_name_they_were_found():
    hits = {NAMES[hit.owner]: hit for hit in SEARCH.find("python")}
    assert hits["Python (programming language)"].fit == Fit.WITHOUT_QUALIFIER
    assert hits["Pythons"].fit == Fit.BEGINNING
    (hit,) = SEARCH.find("cist")
    assert (hit.fit, hit.is_other, SEARCH.name_at(hit.line)) == (Fit.BEGINNING, True, "cistern")
    assert [hit.fit for hit in SEARCH.find("uminu")] == [Fit.INSIDE]
    assert [hit.fit for hit in SEARCH.find("joh seb")] == [Fit.BEGINNINGS_OF_WORDS]


def test_a_name_is_found_whole_however_many_contain_it(monkeypatch):
    monkeypatch.setattr("polyseme.inputs.name_search.MAX_HITS", 3)
    search = NameSearch([*(f"a{i}" for i in range(10)), "A"])
    assert search.only_one("a") == 10
    assert len(search.find("a")) == 3


@pytest.mark.slow
@examples(100)
@given(st.lists(st.text(max_size=6), max_size=8), st.text(min_size=1, max_size=3))
def test_all_names_with_the_typed_letters_inside_are_found(names, typed):
    wanted = folded(typed)
    expected = {i for i, name in enumerate(names) if wanted in folded(name)}
    found = {hit.owner for hit in NameSearch(names).find(typed)}
    assert expected <= found or not wanted
    assert all(
        word in folded(names[i])
        for i in found
        for word in wanted.replace(",", " ").split(" ")
        if word.strip(",;:")
    )
