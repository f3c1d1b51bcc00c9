"""The backend in a project of a really installed Annif."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest

pytest.importorskip(
    "annif", reason="Annif is not installed here; make test runs these in build/annif-venv."
)

from annif.corpus import Document, DocumentList
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)

from polyseme import XTransformer
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses import SenseLayer
from tests.annif.projects import (
    COMMON,
    WORDS,
    best,
    documents,
    load_vocabulary,
    make_project,
    text_about,
    uri_of,
)
from tests.tiny_encoders import table_folder


@pytest.fixture
def project(tmp_path):
    """A project with its vocabulary, not trained yet, that may learn."""
    project = make_project(tmp_path, allow_learn="true")
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    return project


@pytest.fixture
def trained(project):
    project.train(documents(project))
    return project


def texts(seed=9):
    dice = random.Random(seed)
    return {name: text_about(name, dice) for name in WORDS}


def test_the_right_subject_comes_first(trained):
    assert {name: best(trained, text) for name, text in texts().items()} == {n: n for n in WORDS}


def test_an_encoder_reads_the_texts_of_a_project(tmp_path):
    pytest.importorskip("tokenizers")
    known = [" ".join([*WORDS.values(), *COMMON])]
    table = table_folder(tmp_path / "table", known)
    project = make_project(tmp_path, method="x-transformer", encoder=table, allow_learn="true")
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    project.train(documents(project))
    again = make_project(tmp_path, method="x-transformer", encoder=table, allow_learn="true")
    for one in (project, again):
        assert {name: best(one, text) for name, text in texts().items()} == {n: n for n in WORDS}
    assert isinstance(project.backend._ready.tagger.classifier, XTransformer)
    project.learn(documents(project, n_each=3, seed=5))
    assert best(project, texts()["bakery"]) == "bakery"


def test_an_encoder_that_is_not_there_is_named(tmp_path):
    missing = tmp_path / "no-such-encoder"
    project = make_project(tmp_path, method="x-transformer", encoder=missing)
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    with pytest.raises(OperationFailedException, match="no-such-encoder"):
        project.train(documents(project))


def test_a_batch_is_answered_in_its_order_with_scores_from_zero_to_one(trained):
    batch = [Document(text=text) for text in [*texts().values(), "zzz yyy", ""]]
    found = trained.suggest(batch)
    assert found.array.shape == (8, 6)
    scores = found.array.toarray()
    assert scores[:6].argmax(axis=1).tolist() == [
        trained.subjects.by_uri(uri_of(n)) for n in WORDS
    ]
    assert ((found.array.data > 0) & (found.array.data <= 1)).all()
    assert len(found[6]) == len(found[7]) == 0  # no word that is known
    alone = [trained.suggest([one]).array.toarray()[0] for one in batch]
    np.testing.assert_allclose(scores, alone)


def test_an_empty_batch_has_no_suggestions(trained):
    assert len(trained.suggest([])) == 0


def test_there_are_as_many_suggestions_as_the_limit(trained):
    document = Document(text=" ".join(WORDS.values()))
    found = trained.suggest([document], {"polyseme": {"limit": "2"}})
    assert len(found[0]) == 2
    with pytest.raises(ConfigurationException, match="limit must be a whole number"):
        trained.suggest([document], {"polyseme": {"limit": "many"}})


def test_the_model_is_there_for_the_next_process_and_nothing_is_pickled(trained, tmp_path):
    again = make_project(tmp_path, allow_learn="true")
    assert again.is_trained
    text = texts()["army"]
    first, second = (p.suggest([Document(text=text)]).array.toarray() for p in (trained, again))
    np.testing.assert_array_equal(first, second)
    files = [path for path in (tmp_path / "data" / "projects").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors", ".jsonl"}


def test_documents_without_subjects_are_left_out(project):
    given = list(documents(project).documents)
    project.train(DocumentList([Document(text="nobody tagged this"), *given]))
    assert project.backend._ready.tagger.model.classifier_.n_documents_ == len(given)


@pytest.mark.parametrize("given", [[], [Document(text="nobody tagged this")]])
def test_there_must_be_documents_with_subjects_to_train_on(project, given):
    with pytest.raises(NotSupportedException, match="no documents that have subjects"):
        project.train(DocumentList(given))
    assert not project.is_trained


def test_a_project_that_is_not_trained_says_so(project):
    with pytest.raises(NotInitializedException, match="not trained"):
        project.suggest([Document(text="water")])
    with pytest.raises(NotInitializedException, match="polyseme-model not found"):
        project.backend.initialize()
    with pytest.raises(NotInitializedException, match="polyseme-model not found"):
        project.learn(documents(project))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"copies": "two"}, "copies must be a whole number, not 'two'."),
        ({"copies": "0"}, "copies must be a whole number from 1"),
        ({"ngram": "0"}, "ngram must be a whole number from 1 to 20, not 0."),
        ({"hashing": "perhaps"}, "hashing must be true or false, not 'perhaps'."),
    ],
)
def test_a_wrong_setting_is_refused_in_one_sentence_before_anything_is_read(
    project, settings, sentence
):
    class Unread:
        @property
        def documents(self):
            raise AssertionError("was read")

    with pytest.raises(ConfigurationException) as refused:
        project.train(Unread(), {"polyseme": settings})
    assert sentence in refused.value.format_message()


def test_settings_of_the_project_reach_the_model(tmp_path):
    project = make_project(tmp_path, copies=1, beam_size=3, ngram=1, min_df=2, held_out=0)
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    project.train(documents(project), jobs=1)
    model = project.backend._ready.tagger.model
    assert (model.classifier_.copies, model.classifier_.beam_size) == (1, 3)
    assert (model.features_.ngrams, model.features_.min_documents) == ((1, 1), 2)
    assert model.report_ == {}


def two_senses_of_the_first_label(documents, Y, run, **_):
    """Stand in for induction: beside label 0 are label 1 or label 2."""
    nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return SenseLayer(
        labels=np.array([0], np.int32),
        probabilities=np.array([0.9], np.float32),
        starts=np.array([0, 2]),
        counts=np.array([6, 4]),
        words=SparseRows(np.zeros(3, np.int64), *nothing, documents.shape[1]),
        beside=SparseRows(
            np.arange(3), np.array([1, 2], np.int32), np.ones(2, np.float32), Y.n_columns
        ),
        typical=np.full((2, 1), -1),
    )


def test_the_log_names_ambiguous_subjects_and_the_senses_of_suggestions(
    project, monkeypatch, caplog
):
    monkeypatch.setattr(
        "polyseme.estimators.learning.induce_senses", two_senses_of_the_first_label
    )
    with caplog.at_level(logging.INFO, logger="annif"):
        project.train(documents(project))
    first, second, third, *_ = project.backend._ready.tagger.model.classifier_.label_names_
    assert (
        "likely ambiguous are 1 of 1 subjects that were judged; most so, with their senses: "
        f"{first} ({second} / {third})"
    ) in caplog.text
    about = [Document(text=text_about(first, random.Random(0)))]
    with caplog.at_level(logging.INFO, logger="annif"):
        quiet = project.suggest(about).array.toarray()
    assert "senses in document" not in caplog.text
    with caplog.at_level(logging.DEBUG, logger="annif"):
        loud = project.suggest(about).array.toarray()
    assert f"senses in document 0 of the batch: {first} (" in caplog.text
    np.testing.assert_array_equal(quiet, loud)


def test_the_log_says_nothing_of_senses_where_none_were_looked_for(project, caplog):
    with caplog.at_level(logging.DEBUG, logger="annif"):
        project.train(documents(project), {"polyseme": {"senses": "none"}})
        assert best(project, texts()["army"]) == "army"
    assert "ambiguous" not in caplog.text
    assert "senses in document" not in caplog.text


def test_documents_of_the_last_training_can_be_used_again(trained, tmp_path):
    project = make_project(tmp_path)
    project.train("cached", {"polyseme": {"ngram": "1"}})
    assert project.backend._ready.tagger.model.features_.ngrams == (1, 1)
    assert best(project, texts()["bakery"]) == "bakery"


def test_without_a_last_training_there_is_nothing_to_use_again(project):
    with pytest.raises(NotSupportedException, match="no documents were kept"):
        project.train("cached")


def test_subjects_are_known_by_uri_not_by_number(trained, tmp_path):
    load_vocabulary(trained, list(reversed(WORDS)), folder=tmp_path, force=True)
    again = make_project(tmp_path)
    assert {name: best(again, text) for name, text in texts().items()} == {n: n for n in WORDS}


def test_a_subject_that_was_removed_is_not_suggested_any_more(trained, tmp_path):
    kept = [name for name in WORDS if name != "army"]
    load_vocabulary(trained, kept, folder=tmp_path, force=True)
    again = make_project(tmp_path, allow_learn="true")
    found = again.suggest([Document(text=text) for text in texts().values()])
    assert found.array.shape == (6, 5)
    assert [best(again, texts()[name]) for name in kept] == kept
    again.learn(documents(again, ["bakery"], n_each=2, seed=3))
    assert best(again, texts()["bakery"]) == "bakery"


def test_subjects_may_have_the_same_label(tmp_path):
    project = make_project(tmp_path, allow_learn="true")
    known = [name for name in WORDS if name != "sailing"]
    load_vocabulary(project, dict.fromkeys(known, "same"), folder=tmp_path)
    project.train(documents(project, known))
    load_vocabulary(project, dict.fromkeys(WORDS, "same"), folder=tmp_path)
    again = make_project(tmp_path, allow_learn="true")
    again.learn(documents(again, ["sailing"]))
    assert {name: best(again, text) for name, text in texts().items()} == {n: n for n in WORDS}


def test_new_subjects_of_a_grown_vocabulary_are_learned(tmp_path, caplog):
    project = make_project(tmp_path, allow_learn="true")
    known = [name for name in WORDS if name != "sailing"]
    load_vocabulary(project, known, folder=tmp_path)
    project.train(documents(project, known))
    load_vocabulary(project, list(WORDS), folder=tmp_path)

    again = make_project(tmp_path, allow_learn="true")
    assert best(again, texts()["sailing"]) != "sailing"
    with caplog.at_level(logging.INFO, logger="annif"):
        again.learn(documents(again, ["sailing"]))
    assert "learned 10 documents with 1 new subjects" in caplog.text
    assert "a full training is due (annif train --cached small)" in caplog.text
    # Its words are new to the model, so that the full training is due indeed.
    again.train("cached")
    assert {name: best(again, text) for name, text in texts().items()} == {n: n for n in WORDS}
    assert again.backend._ready.tagger.model.classifier_.n_documents_ == 60


def test_what_was_learned_is_there_at_once_and_for_the_next_process(trained, tmp_path):
    given = DocumentList(
        [
            Document("march of the star", document.subject_set)
            for document in documents(trained, ["banking"]).documents
        ]
    )
    assert best(trained, "march star") != "banking"
    trained.learn(given)
    assert best(trained, "march star") == "banking"
    assert best(make_project(tmp_path), "march star") == "banking"


def test_a_model_that_does_not_hold_its_documents_cannot_learn(tmp_path):
    project = make_project(tmp_path)
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    project.train(documents(project))
    again = make_project(tmp_path, allow_learn="true")
    with pytest.raises(NotSupportedException, match="without allow_learn=true"):
        again.learn(documents(again))


def test_documents_without_subjects_cannot_be_learned(trained):
    with pytest.raises(NotSupportedException, match="without subjects"):
        trained.learn(DocumentList([Document(text="nobody tagged this")]))


def test_texts_are_taken_apart_by_the_analyzer_of_the_project(tmp_path, nltk_data):
    project = make_project(tmp_path, analyzer="snowball(english)")
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    project.train(documents(project))
    terms = [str(term) for term in project.backend._ready.tagger.model.features_.vocabulary_]
    assert "trench" in terms
    assert "galaxi" in terms  # a stem
    assert "of" not in terms  # too short for Annif
    assert best(project, "Galaxies, comets; orbits!") == "astronomy"


@pytest.mark.parametrize("analyzer", [{}, {"analyzer": "simple"}])
def test_another_analyzer_than_that_of_the_training_is_refused(tmp_path, nltk_data, analyzer):
    project = make_project(tmp_path, analyzer="snowball(english)")
    load_vocabulary(project, list(WORDS), folder=tmp_path)
    project.train(documents(project))
    again = make_project(tmp_path, **analyzer)
    with pytest.raises(ConfigurationException, match=r"analyzer snowball\(english\), but"):
        again.suggest([Document(text="water")])
    with pytest.raises(ConfigurationException, match=r"analyzer snowball\(english\), but"):
        again.train("cached")


def test_a_training_that_fails_leaves_the_model_as_it_was(trained, tmp_path):
    wordless = [Document("!?", one.subject_set) for one in documents(trained).documents]
    with pytest.raises(OperationFailedException, match="no word is in"):
        trained.train(DocumentList(wordless))
    assert best(make_project(tmp_path), texts()["bakery"]) == "bakery"


def test_a_damaged_model_is_refused_in_one_sentence(trained, tmp_path):
    (description,) = (tmp_path / "data" / "projects").rglob("model.json")
    description.write_text("{", encoding="utf-8")
    with pytest.raises(OperationFailedException, match=r"model\.json"):
        make_project(tmp_path).suggest([Document(text="water")])
