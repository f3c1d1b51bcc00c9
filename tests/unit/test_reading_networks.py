"""The networks behind AttentionXML and XML-CNN, and the parts that use them."""

from dataclasses import replace
from functools import partial

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

pytestmark = pytest.mark.slow  # networks take seconds

torch = pytest.importorskip("torch", reason="the extra 'transformer' is not installed")

from polyseme.backbones.attention import learning, networks  # noqa: E402
from polyseme.backbones.attention.learning import learn_outputs  # noqa: E402
from polyseme.backbones.attention.outputs import Outputs  # noqa: E402
from polyseme.backbones.attention.reading import (  # noqa: E402
    DocumentsWithReader,
    Reader,
    Reading,
)
from polyseme.backbones.attention.words import Vocabulary, WordRows  # noqa: E402
from polyseme.backbones.neural import training  # noqa: E402
from polyseme.backbones.neural.device import settled  # noqa: E402
from polyseme.inputs.names import Names  # noqa: E402

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


# Learning


def learned(outputs, above=None, run=RUN, **others):
    """Train a network of chance on six words of which each tells an output."""
    n = outputs.targets.n_rows
    rows = WordRows(np.arange(n + 1), 2 + np.arange(n) % 6)
    how = Reading(**{**SMALL, **others})

    def make():
        vocabulary = Vocabulary(Names.from_list("abcdef"), 1)
        reader = Reader(vocabulary, networks.AttentionNetwork(how, 8, 4, outputs.n_outputs))
        return reader if above is None else above.started(how, outputs.n_outputs)

    return learn_outputs(make, lambda _: rows, outputs, how, 1.0, run, 7, above)


SMALL = {"n_hidden": 4, "batch_size": 8, "dropout": 0.2, "n_epochs": 2, "least_steps": 6}
SIX = Outputs(pattern(np.eye(6)[np.arange(24) % 6]))


def weights_of(reader):
    return torch.cat([weights.flatten() for weights in reader.network.state_dict().values()])


def test_a_training_stops_when_held_out_documents_gain_no_more(monkeypatch):
    monkeypatch.setattr(learning, "FEWEST_TO_HOLD_OUT_OF", 10)
    monkeypatch.setattr(learning, "HELD_OUT_SHARE", 0.25)
    outcomes, train = [], learning.train

    def watched(*args, **others):
        assert others["recall"] is not None
        outcomes.append(train(*args, **others))
        return outcomes[-1]

    monkeypatch.setattr(learning, "train", watched)
    learned(SIX, learning_rate=1e-9, least_steps=80)  # learns nothing
    assert outcomes[0].n_steps == 40  # the first look, and three without a better one
    assert len(outcomes[0].recalls) == 4


def test_held_out_documents_are_the_same_for_all_networks(monkeypatch):
    monkeypatch.setattr(learning, "FEWEST_TO_HOLD_OUT_OF", 10)
    monkeypatch.setattr(learning, "HELD_OUT_SHARE", 0.2)
    known, held_out = learning._apart(np.arange(50), seed=3)
    assert sorted([*known, *held_out]) == list(range(50))
    again = learning._apart(np.setdiff1d(np.arange(50), held_out[:2]), seed=3)[1]
    assert set(held_out[2:]) <= set(again)


def test_a_stopped_training_goes_on_from_its_folder_to_the_same_network(tmp_path, monkeypatch):
    whole = weights_of(learned(SIX))
    monkeypatch.setattr(learning, "TrainingPlan", partial(training.TrainingPlan, save_every=0.0))
    step = training._Training._step

    def stopping(self, rows):
        if self.outcome.n_steps == 3:
            raise KeyboardInterrupt
        return step(self, rows)

    monkeypatch.setattr(training._Training, "_step", stopping)
    how = {"work_folder": str(tmp_path)}
    with pytest.raises(KeyboardInterrupt):
        learned(SIX, **how)
    assert [path.suffixes for path in tmp_path.rglob("*.safetensors")] == [
        [".partial", ".safetensors"]
    ]
    monkeypatch.setattr(training._Training, "_step", step)
    assert torch.equal(weights_of(learned(SIX, **how)), whole)
    monkeypatch.setattr(training._Training, "_step", None)  # nothing is left to do
    assert torch.equal(weights_of(learned(SIX, **how)), whole)


def test_outputs_begin_as_linear_classifiers_on_what_the_node_above_sees():
    halves = Outputs(pattern(np.eye(2)[np.arange(24) % 6 // 3]))
    above = learned(halves, learning_rate=0.05, least_steps=60, n_hidden=8, dropout=0.0)
    below = Outputs(SIX.targets, halves.targets, np.array([0, 3, 6]))
    reader = learned(below, above, learning_rate=1e-9, n_hidden=8, dropout=0.0)
    words = torch.arange(2, 8)[:, None]
    candidates = torch.tensor([[0, 1, 2]] * 3 + [[3, 4, 5]] * 3)
    found = reader.network(words, candidates).argmax(dim=1)
    assert found.tolist() == [0, 1, 2, 0, 1, 2]
    torch.testing.assert_close(reader.network.own[4, :16], above.network.own[1, :16])


def test_words_that_no_document_has_stay_as_they_are():
    some = Outputs(pattern(np.eye(6)[[0, 1, 2, 3]]))
    with settled(RUN, 7):
        before = networks.AttentionNetwork(Reading(**SMALL), 8, 4, 6).vectors.weight
    after = learned(some).network.vectors.weight
    assert torch.equal(after[6:], before[6:])
    assert (after[2:6] != before[2:6]).all()
    assert (after[0] == 0).all()  # padding


# A tree of several levels


TREE = LabelTree.uniform(2, 2)


def deep(kind, **others):
    how = replace(reading_words.READINGS[kind], learning_rate=0.05, **others)
    matcher = reading_words.MatcherOfColumns(how, beam_size=2)
    return matcher.fit(four_topics.documents(), four_topics.topics(), RUN)


@pytest.fixture(scope="module")
def attention():
    return deep("attention", most_at_once=4)


@pytest.fixture(scope="module")
def convolution():
    return deep("convolution", most_at_once=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", reading_words.READINGS)
def test_a_level_that_is_too_wide_is_learned_below_the_one_above(kind):
    # The upper network makes topics of one node alike; the lower takes long to part them again.
    matcher = deep(kind, most_at_once=3, least_steps=120)
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


def test_a_wide_level_is_learned_in_one_go(convolution):
    assert len(convolution.readers) == 1


def test_a_network_goes_on_from_another_with_the_same_outputs_or_others(attention):
    matcher = attention
    above = matcher.readers[-1]
    same, others = above.started(matcher.how), above.started(matcher.how, 7)
    assert torch.equal(same.network.own, above.network.own)
    assert others.network.own.shape[0] == 7
    for reader in (same, others):
        assert torch.equal(reader.network.vectors.weight, above.network.vectors.weight)


def test_a_matcher_hands_its_network_to_the_ranker(convolution):
    matcher = convolution
    seen = matcher.encode(reading_words.with_texts(four_topics.documents()), RUN)
    assert isinstance(seen, DocumentsWithReader)
    assert seen.reader is matcher.readers[-1]
    ranker = reading_words.ranker("convolution").fit(seen, four_topics.ranking(), RUN)
    assert ranker.reader.vocabulary is matcher.readers[-1].vocabulary


# Files


def shape():
    return ModelShape(13, 0, TREE, four_topics.CLUSTERS)


@pytest.fixture(scope="module")
def stored_arrays(attention):
    return attention.to_arrays()


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
def test_ctrl_c_ends_a_training_and_a_prediction(n_threads, convolution):
    def stop(done):
        raise KeyboardInterrupt

    run = Run(n_threads=n_threads, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        reading_words.matcher("attention").fit(four_topics.documents(), four_topics.topics(), run)
    with pytest.raises(KeyboardInterrupt):
        convolution.match(four_topics.documents(), 2, run)


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
