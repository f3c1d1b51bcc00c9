"""The networks behind AttentionXML and XML-CNN, and the parts that use them."""

from dataclasses import replace

import numpy as np
import pytest

from polyseme.backbones.protocols import ModelShape
from polyseme.backbones.tasks import MatchingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from tests.contract import four_topics, reading_words
from tests.small_problems import pattern

torch = pytest.importorskip("torch", reason="the extra 'transformer' is not installed")

from polyseme.backbones.attention import networks  # noqa: E402
from polyseme.backbones.attention.outputs import Outputs  # noqa: E402
from polyseme.backbones.attention.reading import (  # noqa: E402
    DocumentsWithReader,
    Reader,
    Reading,
)

RUN = Run()
N_WORDS, N_OUTPUTS = 30, 6
kinds = pytest.mark.parametrize("kind", ["AttentionNetwork", "ConvolutionNetwork"])


def network(kind):
    torch.manual_seed(0)
    how = Reading(n_hidden=4, n_filters=3, dropout=0.5)
    return getattr(networks, kind)(how, N_WORDS, 5, N_OUTPUTS).eval()


def words(*lengths):
    rows = torch.randint(1, N_WORDS, (len(lengths), max(lengths)))
    for row, length in zip(rows, lengths, strict=True):
        row[length:] = 0
    return rows


@kinds
def test_padding_makes_no_difference(kind):
    made, rows = network(kind), words(1, 2, 7, 20)
    together = made(rows)
    for i, length in enumerate((1, 2, 7, 20)):
        alone = made(rows[i : i + 1, :length])[0]
        torch.testing.assert_close(together[i], alone, rtol=1e-4, atol=1e-6)


@kinds
def test_candidates_have_the_scores_that_they_have_among_all(kind):
    made, rows = network(kind), words(5, 9)
    candidates = torch.tensor([[0, 5, 5], [3, 1, 0]])
    torch.testing.assert_close(made(rows, candidates), made(rows).gather(1, candidates))


@kinds
def test_what_is_left_out_in_training_follows_from_the_seed(kind):
    made, rows = network(kind), words(5, 9)
    assert torch.equal(made(rows, seed=3), made(rows, seed=3))
    assert not torch.equal(made(rows, seed=3), made(rows, seed=4))


def test_few_wrong_candidates_are_taken_where_there_are_many(monkeypatch):
    monkeypatch.setattr("polyseme.backbones.attention.outputs.MOST_WRONG", 3)
    targets = np.zeros((2, 20))
    targets[0, [1, 15]] = 1
    outputs = Outputs(pattern(targets), pattern(np.ones((2, 2))), np.array([0, 10, 20]))
    candidates, is_true, is_candidate = outputs.of(np.array([0, 1]), np.array([0.1, 0.7]))
    assert is_candidate.sum(axis=1).tolist() == [5, 3]
    assert candidates[0][is_true[0] > 0].tolist() == [1, 15]
    again = outputs.of(np.array([0, 1]), np.array([0.1, 0.7]))[0]
    np.testing.assert_array_equal(candidates, again)


# A tree of several levels


TREE = LabelTree.uniform(2, 2)


def deep(kind, most_at_once):
    how = replace(reading_words.READINGS[kind], most_at_once=most_at_once, learning_rate=0.05)
    matcher = reading_words.MatcherOfColumns(how, beam_size=2)
    return matcher.fit(four_topics.documents(), four_topics.topics(), RUN)


@pytest.mark.parametrize("kind", reading_words.READINGS)
def test_a_level_that_is_too_wide_is_learned_below_the_one_above(kind):
    matcher = deep(kind, most_at_once=3)
    assert [len(reader.network.bias) for reader in matcher.readers] == [2, 4]
    matched = matcher.match(four_topics.documents(), 2, RUN).to_scipy().toarray()
    np.testing.assert_array_equal(matched.argmax(axis=1), four_topics.TOPIC)
    assert ((matched > 0).sum(axis=1) == 2).all()
    again = reading_words.MatcherOfColumns(matcher.how)
    arrays = {name: array.copy() for name, array in matcher.to_arrays().items()}
    again.restore(StoredModel("model", {}, arrays, {}), shape())
    np.testing.assert_array_equal(
        again.match(four_topics.documents(), 2, RUN).to_scipy().toarray(), matched
    )


def test_a_wide_level_is_learned_in_one_go():
    assert len(deep("convolution", most_at_once=4).readers) == 1


def test_a_network_goes_on_from_another_with_the_same_outputs_or_others():
    matcher = deep("attention", most_at_once=4)
    above = matcher.readers[-1]
    same, others = above.started(matcher.how), above.started(matcher.how, 7)
    assert torch.equal(same.network.own, above.network.own)
    assert others.network.own.shape[0] == 7
    for reader in (same, others):
        assert torch.equal(reader.network.vectors.weight, above.network.vectors.weight)


def test_a_matcher_hands_its_network_to_the_ranker():
    matcher = deep("convolution", most_at_once=4)
    seen = matcher.encode(reading_words.with_texts(four_topics.documents()), RUN)
    assert isinstance(seen, DocumentsWithReader)
    assert seen.reader is matcher.readers[-1]
    ranker = reading_words.ranker("convolution").fit(seen, four_topics.ranking(), RUN)
    assert ranker.reader.vocabulary is matcher.readers[-1].vocabulary


# Files


def shape():
    return ModelShape(13, 0, TREE, four_topics.CLUSTERS)


@pytest.fixture(scope="module")
def stored_arrays():
    return deep("attention", most_at_once=4).to_arrays()


def nan_in(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("0.own", nan_in, "'0.own' has values that are not finite"),
        ("0.own", lambda array: array[:-1], "'0.own' has shape"),
        ("0.bias", lambda array: array.astype(np.float64), "'0.bias' has type float64"),
        ("0.vectors.weight", lambda array: array[:-1], "'0.vectors.weight' has shape"),
        ("0.judge.weight", None, "'0.judge.weight' is missing"),
        ("vocabulary.utf8", None, "'vocabulary.utf8' is missing"),
    ],
)
def test_damaged_weights_are_refused_in_a_sentence(stored_arrays, name, change, what):
    arrays = dict(stored_arrays)
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=f"the model m is damaged: its array {what}"):
        reading_words.matcher("attention").restore(StoredModel("m", {}, arrays, {}), shape())


def test_before_training_it_is_said_that_there_was_none():
    for part in (reading_words.matcher("attention"), reading_words.ranker("attention")):
        with pytest.raises(ValueError, match="has not been trained; call fit first"):
            part.to_arrays()


# Stopping, and a machine without torch


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_ends_a_training_and_a_prediction(n_threads):
    def stop(done):
        raise KeyboardInterrupt

    run = Run(n_threads=n_threads, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        reading_words.matcher("attention").fit(four_topics.documents(), four_topics.topics(), run)
    trained = deep("convolution", most_at_once=4)
    with pytest.raises(KeyboardInterrupt):
        trained.match(four_topics.documents(), 2, run)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    task = MatchingTask(four_topics.topic_targets(), TREE)
    with pytest.raises(ValueError, match="need torch; install polyseme with the extra 'trans"):
        reading_words.matcher("attention").fit(four_topics.documents(), task, RUN)


def test_given_vectors_are_what_words_begin_with(tmp_path):
    (tmp_path / "vectors.txt").write_text("red 1 2 3\n")
    how = Reading(word_vectors=str(tmp_path / "vectors.txt"), n_hidden=2)
    reader = Reader.fresh(how, Documents(texts=["red sky", "red"]), 2, seed=0)
    assert reader.n_dimensions == 3
    assert reader.network.vectors.weight[2].tolist() == [1, 2, 3]
    assert reader.network.vectors.weight[0].tolist() == [0, 0, 0]
