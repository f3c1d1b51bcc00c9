"""What a text model says of the meanings of labels: senses, and examples of them."""

from __future__ import annotations

import numpy as np
import pytest

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.estimators import learning
from polyseme.machine.progress import Progress
from polyseme.tagger import tagger_for
from polyseme.text import Record, TextFeatures
from polyseme.text.examples import best_documents
from polyseme.text.problem import read_problem

TRAINING, TEST = make_corpus(1200, seed=0), make_corpus(300, seed=1)
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0, "n_jobs": 2}


def fitted(corpus=TRAINING, **parameters):
    model = TextModel(TextFeatures(ngrams=(1, 1)), XRLinear(**SMALL), verbose=0, **parameters)
    return model.fit(corpus.texts, corpus.labels)


@pytest.fixture(scope="module")
def model():
    return fitted()


def records(corpus):
    return [
        Record(t, tuple(labels)) for t, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]


# Examples


def rows_of(texts):
    """Return the training documents that excerpts are from."""
    known = {" ".join(text.split())[:100]: i for i, text in enumerate(TRAINING.texts)}
    return [known[text[:100]] for text in texts]


def test_every_label_has_examples_and_they_are_texts_of_it(model):
    for label in range(model.classifier_.n_labels_):
        found = rows_of(model.examples_of(label))
        n_meanings = max(1, len(model.classifier_.senses_.senses_of(label)))
        n_documents = model.classifier_.label_counts_[label]
        assert min(3, n_documents) <= len(found) <= 3 * n_meanings
        assert all(model.name_of(label) in TRAINING.labels[i] for i in found)


def test_the_examples_of_a_label_with_one_meaning_are_the_surest_first():
    problem = read_problem(
        records(TRAINING),
        TextFeatures(ngrams=(1, 1)),
        count_held_out=lambda n: 0,
        seed=0,
        progress=Progress(False),
    )
    classifier = XRLinear(**SMALL, senses="none").fit(problem.X, problem.Y)
    meanings, starts, rows = best_documents(classifier, problem.X, problem.Y, 4)
    assert meanings.tolist() == list(range(classifier.n_labels_ + 1))
    matched = classifier.match(problem.X).to_scipy().toarray()
    Y = problem.Y.to_scipy().toarray() > 0
    n_told_apart = 0
    for label in range(classifier.n_labels_):
        clusters = classifier.clusters_.cluster_of_slot[classifier.clusters_.slots_of(label)]
        sure = matched[:, clusters].max(axis=1)
        chosen = rows[starts[label] : starts[label + 1]]
        assert len(chosen) == min(4, Y[:, label].sum())
        assert Y[chosen, label].all()
        assert sure[chosen].tolist() == sorted(sure[Y[:, label]], reverse=True)[:4]
        n_told_apart += len(set(sure[chosen].tolist())) > 1
    assert n_told_apart > 20


@pytest.mark.slow
def test_each_sense_of_a_label_has_examples_of_its_own_the_most_typical_first():
    model = fitted(keep_data=True)
    layer, (X, _) = model.classifier_.senses_, model.training_data_
    shown = layer.labels[layer.probabilities >= 0.5].tolist()
    assert len(shown) > 5
    for label in shown:
        senses = layer.senses_of(label)
        for place, sense in enumerate(senses):
            found = rows_of(model.examples_of(label, place))
            typical = layer.typical[sense]
            rows = X.take(typical[typical >= 0][:3]).to_scipy()
            again = model.features_.transform([TRAINING.texts[i] for i in found])
            np.testing.assert_allclose(rows.toarray(), again.toarray(), atol=1e-6)
        assert model.examples_of(label) == [
            text for place in range(len(senses)) for text in model.examples_of(label, place)
        ]
        assert model.examples_of(label, len(senses)) == []
    one_meaning = next(i for i in range(model.classifier_.n_labels_) if i not in shown)
    assert model.examples_of(one_meaning)
    assert model.examples_of(one_meaning, 0) == []  # it is not shown with senses


def test_the_examples_of_a_sense_are_about_it(model):
    own, other = (
        {name for i in rows_of(sense.examples) for name in TRAINING.labels[i]} - {"tank"}
        for sense in tagger_for(model).senses("tank")
    )
    assert own
    assert other
    assert not own & other


def test_a_label_that_is_split_against_the_odds_shows_no_examples_of_the_parts(model):
    layer, tagger = model.classifier_.senses_, tagger_for(model)
    unlikely = int(layer.labels[layer.probabilities.argmin()])
    parts = tagger.senses(unlikely, at_least=0)
    assert len(parts) > 1
    assert [part.examples for part in parts] == [[] for _ in parts]
    (whole,) = tagger.senses(unlikely)
    assert whole.examples == model.examples_of(unlikely)


def test_no_examples_are_kept_if_none_are_wanted(tmp_path):
    model = fitted(make_corpus(60, seed=2), examples=0)
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    assert loaded.examples_ is None
    assert loaded.examples_of(0) == []


# Senses


@pytest.fixture
def inductions(monkeypatch):
    """How many documents senses were looked for in, for each time that they were."""
    seen, induce = [], learning.induce_senses

    def counted(documents, *others, **named):
        seen.append(documents.n_rows)
        return induce(documents, *others, **named)

    monkeypatch.setattr(learning, "induce_senses", counted)
    return seen


@pytest.mark.parametrize(
    ("parameters", "n_documents"),
    [({}, [200]), ({"refit": False}, [180]), ({"held_out": 0}, [200])],
    ids=str,
)
def test_senses_are_looked_for_once_in_the_training_that_stays(
    inductions, parameters, n_documents
):
    model = fitted(make_corpus(200, seed=2), **parameters)
    assert inductions == n_documents
    assert model.classifier_.senses == "induce"
    assert model.classifier_.get_params()["senses"] == "induce"
    assert model.classifier_.senses_ is not None
    assert model.classifier_.phase_seconds_["Finding senses"] > 0
    model.contents()  # as it was trained, so that it can be saved


@pytest.mark.parametrize("refit", [True, False])
def test_a_text_model_without_senses_never_looks_for_them(inductions, refit, tmp_path):
    corpus = make_corpus(200, seed=2)
    classifier = XRLinear(**SMALL, senses="none")
    model = TextModel(classifier=classifier, refit=refit, keep_data=True, verbose=0)
    model.fit(corpus.texts, corpus.labels).save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    loaded.update(corpus.texts[:3], corpus.labels[:3])
    assert inductions == []
    assert model.classifier_.senses_ is loaded.classifier_.senses_ is None
    assert all(one.sense is None for one in model.suggest(["a tank"], threshold=0)[0])


def test_suggestions_name_senses_whatever_their_number_and_company(model):
    having = [
        text for text, labels in zip(TEST.texts, TEST.labels, strict=True) if "tank" in labels
    ]
    together = model.suggest(having, threshold=0)
    named = [one.sense for found in together for one in found if one.name == "tank" and one.sense]
    assert len({sense.name for sense in named}) == 2
    for text, found in zip(having, together, strict=True):
        (few,) = model.suggest([text], limit=3, threshold=0)
        assert [one.sense for one in few] == [one.sense for one in found[:3]]


def test_a_text_model_says_itself_what_a_label_means(model):
    first = model.ambiguous_labels(1)[0]
    senses = model.senses(str(first.name).upper())
    assert [sense.name for sense in senses] == first.senses
    assert all(sense.examples for sense in senses)
    assert senses == tagger_for(model).senses(first.label)
    assert len(model.senses(first.name, at_least=1.0)) == 1


def test_functions_for_estimators_say_how_to_ask_a_text_model(model):
    with pytest.raises(ValueError, match=r"^TextModel is asked itself, such as by model.senses"):
        polyseme.senses.senses_of(model, 0)


@pytest.mark.parametrize("label", [2.5, True, None, ["tank"]])
def test_a_label_is_asked_for_by_name_or_number(model, label):
    with pytest.raises(ValueError, match=r"^a label is given by name or number, not as"):
        model.senses(label)
