"""Text models that learn more texts and labels."""

from __future__ import annotations

import numpy as np
import pytest

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.demo import make_corpus
from polyseme.text import Record, TextFeatures

ALL, TEST = make_corpus(1600, seed=0), make_corpus(300, seed=1)
NEW = {"tank"} | set(sorted({label for labels in ALL.labels for label in labels})[:2])
SMALL = {"max_leaf_size": 16, "beam_size": 6, "verbose": 0, "n_jobs": 2}


def records(corpus):
    return [
        Record(t, tuple(labels)) for t, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]


OLD = [record for record in records(ALL) if not NEW & set(record.labels)]
MORE = [record for record in records(ALL) if NEW & set(record.labels)]


def trained(some, **parameters):
    features = parameters.pop("features", TextFeatures(ngrams=(1, 1)))
    model = TextModel(features, XRLinear(**SMALL), verbose=0, **parameters)
    return model.fit_records(some)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "kept"
    trained(OLD, keep_data=True).save(path)
    return path


@pytest.fixture
def model(kept):
    return polyseme.load(kept)


def test_an_updated_model_is_nearly_as_good_as_one_of_all_texts_and_names_new_labels(model):
    update = model.update_records(MORE)
    assert (update.n_documents, update.n_labels) == (len(MORE), len(NEW))
    full = trained(OLD + MORE)
    one, other = (m.evaluate(records(TEST))["accuracy"] for m in (model, full))
    for figure in ("P@1", "P@3"):
        assert one[figure] > other[figure] - 4
    texts = [record for record in records(TEST) if NEW & set(record.labels)]
    found = model.suggest([record.text for record in texts], 8, threshold=0)
    hits = [
        bool(NEW & set(record.labels) & {one.name for one in labels})
        for record, labels in zip(texts, found, strict=True)
    ]
    assert np.mean(hits) > 0.6


def test_old_texts_given_again_do_as_kept_data(model):
    again = trained(OLD)
    assert again.training_data_ is None
    again.update_records(MORE, old=iter(OLD))
    model.update_records(MORE)
    one, other = again.classifier_, model.classifier_
    np.testing.assert_array_equal(one.clusters_.labels, other.clusters_.labels)
    np.testing.assert_array_equal(one.label_counts_, other.label_counts_)
    # Kept rows lie in another order, in which the solver goes through them.
    figures = [m.evaluate(records(TEST))["accuracy"]["P@1"] for m in (again, model)]
    assert abs(figures[0] - figures[1]) < 2
    assert list(again.classifier_.label_names_) == list(model.classifier_.label_names_)
    assert again.training_data_ is None


def test_texts_and_lists_of_labels_do_as_records(model):
    update = model.update([r.text for r in MORE], [list(r.labels) for r in MORE])
    assert set(list(model.classifier_.label_names_)[-update.n_labels :]) == NEW


def test_kept_data_grow_and_are_saved(model, tmp_path):
    model.update_records(MORE)
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    assert loaded.training_data_[0].n_rows == len(ALL)
    assert loaded.suggest(TEST.texts[:50]) == model.suggest(TEST.texts[:50])
    loaded.update_records(records(TEST))
    assert len(loaded.classifier_.updates_) == 2
    assert loaded.classifier_.n_documents_ == len(ALL) + len(TEST)


def test_calibration_threshold_and_report_stay(model):
    curve, threshold, report = model.calibration_, model.threshold_, dict(model.report_)
    model.update_records(MORE)
    assert (model.calibration_, model.threshold_, model.report_) == (curve, threshold, report)


def test_known_slots_keep_their_examples_and_new_ones_get_some(model):
    before = model.slot_examples_
    slots = model.classifier_.clusters_
    model.update_records(MORE)
    model.slot_examples_.check(model.classifier_.clusters_.n_slots)
    grown = model.classifier_.clusters_
    place = {
        pair: slot
        for slot, pair in enumerate(zip(grown.cluster_of_slot, grown.labels, strict=True))
    }
    texts = {" ".join(record.text.split())[:50] for record in MORE}
    for slot, pair in enumerate(zip(slots.cluster_of_slot, slots.labels, strict=True)):
        if before.of(slot):
            assert model.slot_examples_.of(place.pop(pair)) == before.of(slot)
    new = [s for (_, label), s in place.items() if label >= slots.n_labels]
    shown = [text for slot in new for text in model.slot_examples_.of(slot)]
    assert shown
    assert all(text[:50] in texts for text in shown)


def test_a_model_that_was_not_trained_again_takes_its_held_out_texts_too():
    model = trained(OLD, refit=False)
    model.update_records(MORE, old=OLD)
    assert model.classifier_.n_documents_ == len(ALL)


def test_names_come_from_the_vocabulary_and_must_differ():
    names = {f"urn:{label}": label for labels in ALL.labels for label in labels}
    as_uris = [Record(r.text, tuple(f"urn:{label}" for label in r.labels)) for r in records(ALL)]
    old, more = as_uris[:1200], as_uris[1200:]
    model = TextModel(TextFeatures(ngrams=(1, 1)), XRLinear(**SMALL), verbose=0)
    model.fit_records(old, label_names=names)
    new = Record("a new thing", ("urn:new",))
    taken = next(iter(names.values()))
    with pytest.raises(ValueError, match=f"'urn:new' has the name '{taken}', as 'urn:{taken}'"):
        model.update_records([*more, new], old=old, label_names=names | {"urn:new": taken})
    model.update_records([*more, new], old=old, label_names=names | {"urn:new": "novelty"})
    assert model.label_number("urn:new") == model.label_number("novelty")
    assert model.uri_of(model.label_number("novelty")) == "urn:new"


def test_texts_in_words_that_nobody_knew_call_for_a_full_training(model):
    foreign = [Record("lorem ipsum dolor sit amet " + str(i), ("tank",)) for i in range(60)]
    update = model.update_records(foreign)
    assert update.unknown_words > 0.9
    assert any("words of the new texts are unknown" in why for why in update.full_training_due)


def test_a_few_unknown_words_do_not_call_for_a_full_training(model):
    update = model.update_records([Record("lorem ipsum dolor sit amet", ("tank",))])
    assert update.unknown_words == 1.0
    assert update.full_training_due == ()


def test_hashed_features_cannot_tell_unknown_words():
    hashed = TextFeatures(hashing=True, n_buckets=4096)
    model = trained(OLD, features=hashed, keep_data=True)
    assert model.update_records(MORE).unknown_words is None


# What is refused


def test_without_old_documents_an_update_is_refused():
    with pytest.raises(ValueError, match="give those it was trained on as old, or train it with"):
        trained(OLD).update_records(MORE)


def test_other_old_documents_are_refused(model):
    model.training_data_ = None
    with pytest.raises(ValueError, match="not those that the model was trained on: label"):
        model.update_records(MORE, old=OLD[:-5])
    with pytest.raises(ValueError, match="does not know their label"):
        model.update_records(MORE, old=[*OLD, Record("x", ("nobody knows",))])


def test_texts_that_cannot_be_learned_from_are_refused(model):
    with pytest.raises(ValueError, match="none of the new documents has a label"):
        model.update_records([Record("a text", ())])
    with pytest.raises(ValueError, match="walked through only once"):
        model.update_records(iter(MORE))
    with pytest.raises(ValueError, match="not trained yet"):
        TextModel().update_records(MORE)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_update_that_is_interrupted_leaves_the_model_as_it_was(model, monkeypatch, error):
    before, suggestions = vars(model).copy(), model.suggest(TEST.texts[:50])

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(LinearSlotRanker, "fit", fail)
    with pytest.raises(error):
        model.update_records(MORE)
    assert vars(model) == before
    assert model.suggest(TEST.texts[:50]) == suggestions


def test_damaged_kept_data_are_refused(kept, tmp_path):
    from polyseme.files.model_folder import open_model, save_model
    from polyseme.files.stored_model import Contents

    stored = open_model(kept)
    for name, value in (
        ("training.labels.columns", 10**6),
        ("training.features.columns", -1),
        ("training.features.starts", -5),
        ("training.features.values", np.nan),
    ):
        arrays = dict(stored.arrays)
        arrays[name] = arrays[name].copy()
        arrays[name][3] = value
        save_model(tmp_path / name, Contents(stored.description, arrays, stored.names))
        with pytest.raises(ValueError, match="is damaged"):
            polyseme.load(tmp_path / name)
