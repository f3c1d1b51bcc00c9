"""Reports of a training or an evaluation: one page, and nothing from outside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.machine.progress import Progress
from polyseme.reports import write_report
from polyseme.reports.charts import Point, grouped_bars, unit_square
from polyseme.reports.page import _about_threshold
from polyseme.tagger import tagger_for
from polyseme.text.evaluation import accuracy_so_far

CORPUS = make_corpus(400, seed=0)


@pytest.fixture(scope="module")
def model():
    names = {label: f"<b>{label}</b>" for labels in CORPUS.labels for label in labels}
    classifier = XRLinear(max_leaf_size=32, verbose=0, n_jobs=2)
    return TextModel(classifier=classifier, verbose=0).fit(
        CORPUS.texts, CORPUS.labels, label_names=names
    )


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(model, path, name="a & b", seconds={"Reading <i>": 2.0, "Training": 4.0})
    return path.read_text(encoding="utf-8")


def test_a_report_shows_accuracy_probabilities_senses_and_costs(page, model):
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        *("Accuracy", "Precision and recall", "Rare and frequent labels"),
        *("What probabilities are worth", "Meanings", "What it took", "The model"),
    ]
    assert f"<b>{model.report_['accuracy']['P@1']:.1f}%</b>P@1" in page
    assert f"At a threshold {model.report_['threshold']['threshold']:.2f}" in page
    without = 100 * model.report_["threshold"]["without_label"]
    assert f"labels; {without:.1f}% of the documents get none. Along" in page
    assert '<i style="width: 50.0%"></i>' in page  # two seconds of four
    assert "max_leaf_size = 32" in page


def test_thresholds_of_labels_are_told_beside_the_chart():
    cut = {"precision": 0.8, "recall": 0.5, "f1": 0.6, "labels_per_document": 2.0}
    said = _about_threshold({**cut, "threshold": 0.41, "n_labels_with_own": 1773}, None)
    assert "At a threshold of its own for 1,773 labels, and 0.41 for all others, 80.0%" in said
    assert "The dot is beside it" in said


def test_names_cannot_become_part_of_the_page(page):
    assert "Training report: a &amp; b" in page
    assert "Reading &lt;i&gt;" in page
    assert "&lt;b&gt;tank&lt;/b&gt;" in page
    assert "<b>tank" not in page


def test_a_report_asks_nobody_for_anything(page):
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href|url)\s*[=(]", page)
    assert "http" not in page.replace("http-equiv", "")


def test_charts_are_well_formed(page):
    charts = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(charts) == 3
    for chart in charts:
        assert ET.fromstring(chart).get("aria-label")


def test_an_evaluation_has_its_own_figures_and_a_model_of_matrices_has_curves_too(tmp_path):
    features = TfidfVectorizer()
    X = features.fit_transform(CORPUS.texts)
    fitted = XRLinear(max_leaf_size=32, verbose=0, n_jobs=2).fit(X[:300], CORPUS.labels[:300])
    tagger = tagger_for(fitted)
    found = tagger.evaluate(X[300:], CORPUS.labels[300:])
    write_report(
        tagger, tmp_path / "new.html", name="mine", evaluation=found, data="new", seconds={}
    )
    page = (tmp_path / "new.html").read_text(encoding="utf-8")
    assert "<title>Evaluation of mine on new</title>" in page
    assert "on 100 documents of new." in page
    assert f"<b>{found['accuracy']['P@1']:.1f}%</b>P@1" in page
    assert "held out" not in page
    assert f"off by {100 * found['reliability']['calibration_error']:.1f} points" in page
    assert '<polyline class="line"' in page


def test_a_model_without_probabilities_has_no_curves(tmp_path):
    X = TfidfVectorizer().fit_transform(CORPUS.texts)
    classifier = XRLinear(verbose=0, n_jobs=2, ordering="product", senses="none")
    tagger = tagger_for(classifier.fit(X, CORPUS.labels))
    found = tagger.evaluate(X, CORPUS.labels)
    assert not {"reliability", "by_threshold", "threshold"} & found.keys()
    write_report(tagger, tmp_path / "new.html", evaluation=found)
    assert (tmp_path / "new.html").read_text(encoding="utf-8").count("<svg") == 1


def test_a_model_without_held_out_documents_says_so(tmp_path):
    classifier = XRLinear(verbose=0, n_jobs=1, ordering="product", senses="none")
    bare = TextModel(classifier=classifier, verbose=0, held_out=0)
    write_report(bare.fit(["a b", "c d"] * 3, [["x"], ["y"]] * 3), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No documents were held out of this training" in page
    assert "polyseme evaluate MODEL DATA --report report.html" in page
    assert "Nobody looked for labels with several meanings" in page
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("report.pdf", "ends in .html"), ("none/report.html", "a folder that exists")],
)
def test_a_report_that_cannot_be_written_is_refused(model, tmp_path, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        write_report(model, tmp_path / name)


def test_bars_and_points_are_where_their_figures_say():
    bars = ET.fromstring(grouped_bars(["few", "many"], [("right", [0.0, 50.0])], "documents"))
    heights = [float(bar.get("height", "")) for bar in bars.iter("rect")]
    assert heights == [0.0, 118.0]  # of 236 pixels
    square = unit_square("x", "y", line=[(0, 0), (1, 1)], points=[Point(0.5, 1, 3, "a < b")])
    drawn = ET.fromstring(square)
    assert drawn.find("circle").get("cy") == "14.0"
    assert drawn.find("circle/title").text == "a < b"
    assert drawn.find("polyline").get("points") == "52.0,250.0 506.0,14.0"


def test_the_first_figures_are_a_table(model):
    lines = accuracy_so_far(model.report_).splitlines()
    assert lines[0].split() == ["Held", "out:", "40", "documents", "@1", "@3", "@5"]
    assert lines[1].split()[:2] == ["precision", f"{model.report_['accuracy']['P@1']:.1f}"]
    assert len({len(line) for line in lines}) == 1


def test_nothing_is_said_where_there_is_no_terminal(capsys):
    with Progress() as progress:
        progress.say("figures")
    assert capsys.readouterr().err == ""
