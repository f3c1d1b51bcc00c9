"""Ensembles: members one after the other, averaged, stored, measured one by one."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import TextModel, XTransformer
from polyseme.demo import make_corpus
from polyseme.estimators.ensemble import AVERAGES
from polyseme.files.model_folder import save_model
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.tagger import tagger_for
from polyseme.text import Record
from polyseme.text.features import TextFeatures
from tests.tiny_encoders import need_libraries, table_folder

pytestmark = pytest.mark.slow  # networks take seconds

need_libraries()

CORPUS, TEST = make_corpus(500, seed=0), make_corpus(80, seed=1)
HOW = {"copies": 2, "max_leaf_size": 20, "verbose": 0, "n_jobs": 1, "senses": "none"}
KINDS = ["both", "embedding", "tf-idf"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return str(table_folder(tmp_path_factory.mktemp("table"), CORPUS.texts))


@pytest.fixture(scope="module")
def data():
    features = TextFeatures().fit(CORPUS.texts)
    return tuple(
        Documents(check_features(features.transform(corpus.texts)).sparse, texts=corpus.texts)
        for corpus in (CORPUS, TEST)
    )


def ensemble_of(table, **others):
    return XTransformer(ensemble=[(table, kind) for kind in KINDS], **{**HOW, **others})


@pytest.fixture(scope="module")
def model(table, data):
    return ensemble_of(table).fit(data[0], CORPUS.labels)


def test_a_member_is_the_model_it_would_be_alone(model, table, data):
    assert [member.label_features for member in model.members_] == KINDS
    alone = XTransformer(table, label_features="tf-idf", **HOW).fit(data[0], CORPUS.labels)
    for one, other in zip(
        alone.predict_top_k(data[1], 4), model.members_[2].predict_top_k(data[1], 4), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("average", AVERAGES)
def test_scores_are_averaged(model, data, average):
    model = model.of_members([0, 1, 2]).set_params(average=average)
    labels, scores = model.predict_top_k(data[1], 5)
    assert labels.shape == (80, 5)
    assert (scores > 0).all()
    assert (scores <= 1 + 1e-6).all()
    assert (np.diff(scores) <= 0).all()
    assert model.score(data[1], TEST.labels) > 0.3
    dense = model.decision_function(data[1]).toarray()
    if average == "mean":
        parts = [member.decision_function(data[1]).toarray() for member in model.members_]
        np.testing.assert_allclose(dense, np.mean(parts, axis=0), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(dense[np.arange(80), labels[:, 0]], scores[:, 0], rtol=1e-6)


def test_means_of_small_matrices():
    one, other = sp.csr_array([[0.9, 0.1, 0]]), sp.csr_array([[0.4, 0, 0.5]])
    np.testing.assert_allclose(AVERAGES["mean"]([one, other]).toarray(), [[0.65, 0.05, 0.25]])
    np.testing.assert_allclose(AVERAGES["ranks"]([one, other]).toarray(), [[0.75, 0.25, 0.5]])
    geometric = AVERAGES["geometric"]([one, other]).toarray()
    assert geometric[0] == pytest.approx([0.6, np.sqrt(1e-7), np.sqrt(5e-7)])


def test_some_of_the_members_answer_as_well(model, data):
    first = model.of_members([1])
    for one, other in zip(
        first.predict_top_k(data[1], 3), model.members_[1].predict_top_k(data[1], 3), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert model.of_members([2, 0]).ensemble == [model.ensemble[2], model.ensemble[0]]
    with pytest.raises(ValueError, match="members are numbered from 0 to 2"):
        model.of_members([3])
    with pytest.raises(ValueError, match="has no members"):
        model.members_[0].of_members([0])


def test_saved_and_loaded_it_answers_the_same(model, data, tmp_path):
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    assert len(again.members_) == 3
    for one, other in zip(
        again.predict_top_k(data[1], 5), model.predict_top_k(data[1], 5), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert again.features_.encoder is again.members_[0].features_.encoder
    assert again.ranker_ is again.members_[0].ranker_


def test_nothing_is_stored_twice_and_files_that_have_it_twice_are_read(model, data, tmp_path):
    contents = model.contents()
    assert all(name.startswith("member-") for name in contents.arrays)
    first = model.members_[0].contents().arrays
    twice = replace(contents, arrays={**contents.arrays, **without_encoder(first)})
    save_model(tmp_path / "before", twice)
    for one, other in zip(
        polyseme.load(tmp_path / "before").predict_top_k(data[1], 3),
        model.predict_top_k(data[1], 3),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def without_encoder(arrays):
    return {name: array for name, array in arrays.items() if "/" not in name}


def test_a_run_that_was_stopped_goes_on_at_the_first_unfinished_member(
    table, data, model, tmp_path, monkeypatch
):
    learn, n_learned = XTransformer._learn, []

    def stopping(self, *args, **kwargs):
        n_learned.append(self.label_features)
        if len(n_learned) == 2:
            raise KeyboardInterrupt
        return learn(self, *args, **kwargs)

    monkeypatch.setattr(XTransformer, "_learn", stopping)
    with pytest.raises(KeyboardInterrupt):
        ensemble_of(table, work_folder=str(tmp_path)).fit(data[0], CORPUS.labels)
    again = ensemble_of(table, work_folder=str(tmp_path)).fit(data[0], CORPUS.labels)
    assert n_learned == ["both", "embedding", "embedding", "tf-idf"]
    for one, other in zip(
        again.predict_top_k(data[1], 5), model.predict_top_k(data[1], 5), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    other_labels = [row[:1] for row in CORPUS.labels]
    ensemble_of(table, work_folder=str(tmp_path)).fit(data[0], other_labels)
    assert len(n_learned) == 7  # nothing of other labels is taken over


def test_members_and_all_of_them_are_measured(model, data):
    rows = model.member_figures(data[1], TEST.labels)
    assert [row["member"] for row in rows] == [0, 1, 2, None]
    assert rows[1]["of"] == (model.ensemble[1][0], "embedding")
    assert rows[3]["P@1"] == pytest.approx(100 * model.score(data[1], TEST.labels))
    assert set(rows[0]) == {"member", "of", *(f"{n}@{k}" for n in ("P", "PSP") for k in (1, 3, 5))}
    json.dumps(rows)


def test_each_member_is_ranked_as_it_would_be_alone(model, data):
    together, *of_members = model.rankings(data[1], 4)
    for found, one in zip((together, *of_members), (model, *model.members_), strict=True):
        labels, scores = one.predict_top_k(data[1], 4)
        np.testing.assert_array_equal(found[0], labels)
        np.testing.assert_allclose(found[1], scores, rtol=1e-5)
    assert len(model.members_[0].rankings(data[1], 4)) == 1


def test_a_report_has_the_figures_of_each_member(model, data):
    report = tagger_for(model).evaluate(data[1], TEST.labels)
    rows = model.member_figures(data[1], TEST.labels)
    for member, row in zip(report["members"], rows, strict=False):
        assert member["of"] == list(row["of"])
        assert member["accuracy"]["PSP@3"] == pytest.approx(row["PSP@3"])
    assert len(report["members"]) == 3
    assert "members" not in tagger_for(model.members_[0]).evaluate(data[1], TEST.labels)


def test_an_ensemble_is_not_updated(model, data):
    with pytest.raises(ValueError, match="an ensemble cannot be updated"):
        polyseme.update.updated(model, data[0], CORPUS.labels, data[1], TEST.labels)
    assert not model.members_[0].why_no_update


def test_an_ensemble_works_within_a_text_model(table, tmp_path):
    classifier = ensemble_of(table, ordering="product")
    model = TextModel(classifier=classifier, verbose=0).fit(CORPUS.texts, CORPUS.labels)
    assert model.score(TEST.texts, TEST.labels) > 0.3
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    assert again.predict(TEST.texts[:10]).tolist() == model.predict(TEST.texts[:10]).tolist()
    assert [member["of"] for member in again.report_["members"]] == [[table, k] for k in KINDS]
    records = [Record(*pair) for pair in zip(TEST.texts, TEST.labels, strict=True)]
    assert len(again.evaluate(records)["members"]) == 3


@pytest.mark.parametrize("wrong", [[], [("a",)], [("a", "nothing")], "a", [(1, "both")]], ids=str)
def test_members_that_make_no_sense_are_refused(wrong, data):
    with pytest.raises(ValueError, match="ensemble must be"):
        XTransformer(ensemble=wrong).fit(data[0], CORPUS.labels)
