"""What the catalogue says, and that the documents say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyseme.datasets import find, known_datasets, recognise
from polyseme.datasets.catalogue_page import tables, with_tables

ROOT = Path(__file__).parents[2]
PAPER = {
    "Wiki10-31K": (14_146, 6_616, 30_938, 101_938),
    "AmazonCat-13K": (1_186_239, 306_782, 13_330, 203_882),
    "Amazon-670K": (490_449, 153_025, 670_091, 135_909),
    "Amazon-3M": (1_717_899, 742_507, 2_812_281, 337_067),
}
NAMES = [entry.name for entry in known_datasets()]


@pytest.mark.parametrize("name", PAPER)
def test_the_sets_of_the_paper_have_its_statistics_and_figures(name):
    entry = find(name)
    assert entry.sizes == PAPER[name]
    methods = {figure.method for figure in entry.figures}
    assert {"XR-Linear", "XR-Linear + label disentanglement"} <= methods
    assert "X-Transformer + label disentanglement" in methods


def test_the_sets_of_the_paper_come_first():
    assert list(PAPER) == NAMES[:4]


def test_the_other_sets_that_were_promised_are_there():
    promised = {"Eurlex-4K", "Wiki-500K", "Delicious-200K", "AmazonTitles-3M", "LF-Amazon-131K"}
    assert {*promised, "tibkat-core", "eurlex57k"} <= set(NAMES)


def test_no_two_sets_have_one_name_or_the_same_sizes():
    assert len({name.lower() for name in NAMES}) == len(NAMES)
    sizes = [entry.sizes for entry in known_datasets() if entry.n_train is not None]
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_the_catalogue_is_possible(name):
    entry = find(name)
    known = [value is not None for value in (*entry.sizes, entry.statistics_from)]
    assert all(known) or not any(known)
    assert (entry.propensity_a, entry.propensity_b) in {(0.5, 0.4), (0.6, 2.6), (0.55, 1.5)}
    assert entry.page.startswith("http")
    assert entry.archive is None or entry.archive.url.startswith("https://")
    for figure in entry.figures:
        percents = [percent for percent in figure.percents if percent is not None]
        assert percents
        assert all(0 < percent < 100 for percent in percents)
        precisions = [p for p in figure.percents[:3] if p is not None]
        assert precisions == sorted(precisions, reverse=True)


@pytest.mark.parametrize("name", PAPER)
def test_labels_a_document_and_documents_a_label_fit_each_other(name):
    entry = find(name)
    n_pairs = entry.labels_per_document * entry.n_train
    assert n_pairs / entry.n_labels == pytest.approx(entry.documents_per_label, rel=0.01)


def test_capitals_do_not_matter():
    assert find("wiki10-31k") is find("WIKI10-31K")


@pytest.mark.parametrize(
    ("typed", "meant"), [("wiki10-31", "Wiki10-31K"), ("amazon670k", "Amazon-670K")]
)
def test_a_name_nearly_right_is_corrected(typed, meant):
    with pytest.raises(ValueError, match=f"did you mean {meant}"):
        find(typed)


def test_a_name_far_from_all_is_referred_to_the_list():
    with pytest.raises(ValueError, match='"polyseme datasets list" names all'):
        find("zzzzzz")


@pytest.mark.parametrize("name", ["tibkat-core", "eurlex57k", *PAPER])
def test_a_set_is_recognised_by_its_sizes_alone(name):
    assert recognise(*find(name).sizes).name == name


def test_sizes_that_differ_by_one_are_not_recognised():
    n_train, n_test, n_labels, n_features = find("eurlex57k").sizes
    assert recognise(n_train - 1, n_test, n_labels, n_features) is None
    assert recognise(n_train, None, n_labels, n_features) is None


def test_the_page_of_data_sets_is_made_from_the_catalogue():
    page = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    again = "run: python -m polyseme.datasets.catalogue_page docs/datasets.md"
    assert with_tables(page) == page, again


def test_every_set_and_every_figure_is_on_the_page():
    made = tables()
    for entry in known_datasets():
        assert f"| {entry.name} |" in made
        for figure in entry.figures:
            assert f"| {figure.method} | {figure.p_at_1:.2f} |" in made
