"""Text models that learn more texts and labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.demo import make_corpus
from polyseme.text import Record, TextFeatures
from polyseme.text.examples import Examples

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_old_texts_given_again_do_as_kept_data(model):
    again = trained(OLD)
    assert again.training_data_ is None
    again.update_records(MORE, old=iter(OLD))
    model.update_records(MORE)
    one, other = again.classifier_, model.classifier_
    np.testing.assert_array_equal(one.clusters_.labels, other.clusters_.labels)
    np.testing.assert_array_equal(one.label_counts_, other.label_counts_)
    for name, array in one.contents().arrays.items():
        np.testing.assert_array_equal(other.contents().arrays[name], array)
    assert again.suggest(TEST.texts) == model.suggest(TEST.texts)
    assert list(again.classifier_.label_names_) == list(model.classifier_.label_names_)
    assert again.training_data_ is None


@pytest.mark.slow
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


def examples_by_name(model):
    layer = model.classifier_.senses_
    return {
        model.name_of(label): [
            model.examples_of(label, place) for place in range(len(layer.senses_of(label)))
        ]
        or [model.examples_of(label)]
        for label in range(model.classifier_.n_labels_)
    }


def beginnings(some):
    return {" ".join(record.text.split())[:100]: set(record.labels) for record in some}


def test_labels_without_new_texts_keep_their_examples_and_new_ones_get_some(model):
    before = examples_by_name(model)
    model.update_records(MORE)
    after = examples_by_name(model)
    touched = {label for record in MORE for label in record.labels}
    untouched = before.keys() - touched
    assert untouched
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}
    texts = beginnings(MORE)
    for name in NEW:
        shown = [text[:100] for texts in after[name] for text in texts]
        assert shown
        assert all(name in texts[text] for text in shown)
    assert all(any(texts) for texts in after.values())


def test_an_example_stays_with_its_label_and_goes_to_the_sense_that_it_has_now(model):
    before = examples_by_name(model)
    model.update_records(MORE)
    texts = beginnings(OLD + MORE)
    pairs = zip(ALL.texts, ALL.senses, strict=True)
    truth = {" ".join(text.split())[:100]: senses for text, senses in pairs}
    n_true = n_shown = 0
    for name, meanings in examples_by_name(model).items():
        known = {text for texts in before.get(name, []) for text in texts}
        shown = [text for texts in meanings for text in texts]
        assert len(set(shown)) == len(shown)
        assert all(name in texts[text[:100]] for text in shown)
        assert all(len(one) <= 3 for one in meanings)
        assert name in NEW or known & set(shown)
        if len(meanings) > 1:
            for one in meanings:
                senses = Counter(truth[text[:100]][name] for text in one)
                n_true += max(senses.values())
                n_shown += len(one)
    assert n_shown > 50
    assert n_true > 0.95 * n_shown


def test_both_senses_of_a_new_label_have_examples_about_them(model):
    model.update_records(MORE)
    label, texts = model.label_number("tank"), beginnings(MORE)
    assert len(model.classifier_.senses_.senses_of(label)) == 2
    own, other = (
        {name for text in model.examples_of(label, place) for name in texts[text[:100]]} - {"tank"}
        for place in (0, 1)
    )
    assert own
    assert other
    assert not own & other


def test_examples_survive_an_update_and_the_disk(model, tmp_path):
    model.update_records(MORE)
    model.save(tmp_path / "m")
    assert examples_by_name(polyseme.load(tmp_path / "m")) == examples_by_name(model)


def test_examples_of_a_file_that_knows_other_senses_are_taken_as_far_as_they_go(model):
    present = model.examples_
    several = int(np.argmax(np.diff(present.meanings) > 1))
    meanings = present.meanings.copy()
    meanings[several + 1] -= 1  # the next label has the last sense now
    model.examples_ = Examples(meanings, present.starts, present.documents, present.texts)
    model.update_records([MORE[0]])
    assert all(model.examples_of(label) for label in range(model.classifier_.n_labels_))


def test_no_examples_are_kept_of_new_texts_if_none_are_wanted():
    model = trained(OLD[:200], keep_data=True, examples=0)
    model.update_records(MORE[:20])
    assert model.examples_ is None


@pytest.mark.slow
def test_a_model_that_was_not_trained_again_takes_its_held_out_texts_too():
    model = trained(OLD, refit=False)
    before = model.classifier_.label_counts_
    update = model.update_records(MORE, old=OLD)
    after = model.classifier_
    assert after.n_documents_ == len(ALL)
    # Labels of held-out texts have more documents than before, too.
    has_more = after.label_counts_ > np.pad(before, (0, len(NEW)))
    assert update.n_judged == has_more[after.senses_.labels].sum()
    assert update.n_judged > len({label for record in MORE for label in record.labels}) / 10


def test_names_come_from_the_vocabulary_and_must_differ():
    names = {f"urn:{label}": label for labels in ALL.labels for label in labels}
    as_uris = [Record(r.text, tuple(f"urn:{label}" for label in r.labels)) for r in records(ALL)]
    old, more = as_uris[:200], as_uris[200:230]
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
    model = trained(OLD[:200], features=hashed, keep_data=True)
    assert model.update_records(MORE[:20]).unknown_words is None


# What is refused


def test_without_old_documents_an_update_is_refused():
    with pytest.raises(ValueError, match="give those it was trained on as old, or train it with"):
        trained(OLD[:60]).update_records(MORE)


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
