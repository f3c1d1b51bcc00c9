"""An encoder learns clusters level by level, from heads that the linear solver found."""

from dataclasses import replace

import numpy as np
import pytest

from polyseme.backbones.neural import training
from polyseme.backbones.neural.linear_start import start_of_head
from polyseme.backbones.transformer.candidates import LevelCandidates
from polyseme.backbones.transformer.encoders import load_encoder
from polyseme.backbones.transformer.finetuning import (
    FineTuning,
    finetune,
    levels_to_learn,
)
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from tests.small_problems import pattern
from tests.tiny_encoders import need_libraries, transformer_folder

pytestmark = pytest.mark.slow  # networks take seconds

need_libraries()

TREE = LabelTree.uniform(8, 4)  # 32 clusters
N = 240
RUN = Run(seed=1)
QUICK = FineTuning(n_steps=12, batch_size=8, learning_rate=2e-3)


def corpus():
    """Texts whose cluster is told by two words, among others that tell nothing."""
    chance = np.random.default_rng(0)
    clusters = chance.integers(0, 32, size=N)
    texts = [
        f"coarse{cluster // 4} fine{cluster % 4} "
        + " ".join(f"noise{i}" for i in chance.integers(0, 20, size=chance.integers(1, 6)))
        for cluster in clusters
    ]
    return texts, clusters


TEXTS, CLUSTERS = corpus()
TARGETS = pattern(np.eye(32)[CLUSTERS])
HELD_OUT = np.arange(0, N, 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return transformer_folder(tmp_path_factory.mktemp("encoder"), TEXTS)


def finetuned(of, how=QUICK, run=RUN, **others):
    encoder = load_encoder(str(of))
    documents = Documents(texts=TEXTS)
    reports = finetune(encoder, documents, TARGETS, TREE, HELD_OUT, how, run, **others)
    return encoder, reports


@pytest.mark.slow
def test_recall_of_held_out_documents_grows_on_every_level(folder):
    how = replace(QUICK, n_steps=150)
    _, reports = finetuned(folder, how)
    assert [(report.level, report.n_nodes) for report in reports] == [(1, 8), (2, 32)]
    for report in reports:
        assert report.outcome.recall >= report.recall_before
    assert reports[-1].outcome.recall > 0.9


def test_the_same_seed_gives_the_same_encoder(folder):
    one, other = finetuned(folder)[0], finetuned(folder)[0]
    assert one.key == other.key
    assert one.key != load_encoder(str(folder)).key


def test_an_encoder_does_not_learn_from_held_out_documents(folder, monkeypatch):
    # Without a look at the recall, which decides what is kept, nothing depends on them.
    monkeypatch.setattr("polyseme.backbones.transformer.finetuning.MOST_LOOKED_AT", 0)
    keys = []
    for held_out_text in (None, "noise1 noise2"):
        texts = [held_out_text or text if i % 6 == 0 else text for i, text in enumerate(TEXTS)]
        encoder = load_encoder(str(folder))
        finetune(encoder, Documents(texts=texts), TARGETS, TREE, HELD_OUT, QUICK, RUN)
        keys.append(encoder.key)
    assert keys[0] == keys[1]


@pytest.mark.slow
@pytest.mark.parametrize("stopped_in", [1, 2])
def test_a_run_that_was_stopped_goes_on_to_the_same_encoder(
    folder, tmp_path, monkeypatch, stopped_in
):
    whole, expected = finetuned(folder)
    monkeypatch.setattr("polyseme.backbones.transformer.finetuning.SAVE_EVERY", 0.0)
    step, runs = training._Training._step, []

    def stopping(self, rows):
        if self not in runs:
            runs.append(self)
        if len(runs) == stopped_in and self.outcome.n_steps == 5:
            raise KeyboardInterrupt
        return step(self, rows)

    monkeypatch.setattr(training._Training, "_step", stopping)
    with pytest.raises(KeyboardInterrupt):
        finetuned(folder, folder=tmp_path)
    kept = {path.name for path in tmp_path.rglob("*.safetensors")}
    assert f"level-{stopped_in}.partial.safetensors" in kept
    monkeypatch.setattr(training._Training, "_step", step)
    again, reports = finetuned(folder, folder=tmp_path)
    assert again.key == whole.key
    assert reports == expected
    assert {path.name for path in tmp_path.rglob("*.safetensors")} == {
        "level-1.safetensors",
        "level-2.safetensors",
    }
    monkeypatch.setattr(training._Training, "_step", None)  # nothing is left to do
    assert finetuned(folder, folder=tmp_path)[0].key == whole.key


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [2, 3])
def test_encoder_and_embeddings_are_the_same_for_any_number_of_threads(folder, n_threads):
    how, several = replace(QUICK, batch_size=24), replace(RUN, n_threads=n_threads)
    one, _ = finetuned(folder, how)
    other, _ = finetuned(folder, how, several)
    assert one.key == other.key
    np.testing.assert_array_equal(one.embed(TEXTS, RUN), other.embed(TEXTS, several))


def test_in_one_go_only_the_finest_level_is_learned(folder):
    _, reports = finetuned(folder, replace(QUICK, in_one_go=True))
    assert [report.n_nodes for report in reports] == [32]


def test_levels_of_a_few_nodes_are_passed_over():
    assert levels_to_learn(LabelTree.uniform(2, 16, 16), FineTuning()) == [2, 3]
    assert levels_to_learn(LabelTree.uniform(2), FineTuning()) == [1]
    assert levels_to_learn(LabelTree(), FineTuning()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [
        {"adapter_rank": 4},
        {"saves_memory": True},
        {"loss": "logistic", "positive_weight": 2.0},
        {"max_candidates": 6, "beam_size": 2},
        {"precision": "bfloat16"},
    ],
    ids=str,
)
def test_every_way_to_learn_gives_a_plain_encoder_that_knows_more(folder, others):
    if "adapter_rank" in others:
        pytest.importorskip("peft", reason="peft is not installed")
    before = load_encoder(str(folder))
    encoder, reports = finetuned(folder, replace(QUICK, **others))
    assert encoder.network.state_dict().keys() == before.network.state_dict().keys()
    assert encoder.key != before.key
    assert reports[0].outcome.n_steps > 0
    vectors = encoder.embed(TEXTS, RUN)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-3)


@pytest.mark.slow
def test_documents_without_words_or_labels_are_borne(folder):
    encoder = load_encoder(str(folder))
    texts = ["", *TEXTS[1:20]]
    targets = pattern(np.eye(32)[CLUSTERS[:20]] * (np.arange(20) != 5)[:, None])
    no_one = np.zeros(0, dtype=np.int64)
    reports = finetune(encoder, Documents(texts=texts), targets, TREE, no_one, QUICK, RUN)
    assert reports[0].outcome.recall is None
    nothing = finetune(encoder, Documents(texts=[""]), targets.take([0]), TREE, no_one, QUICK, RUN)
    assert nothing == []


def test_the_solver_finds_a_head_that_tells_nodes_apart():
    vectors = np.eye(4, dtype=np.float32)[np.arange(40) % 4]
    weights, bias = start_of_head(vectors, pattern(np.eye(4)[np.arange(40) % 4]), RUN)
    assert weights.shape == (4, 4)
    best = (vectors @ weights.T + bias).argmax(axis=1)
    np.testing.assert_array_equal(best, np.arange(40) % 4)


# Candidates


STARTS = np.array([0, 4, 8, 12, 16])


def test_candidates_are_the_children_of_true_and_of_mistaken_nodes():
    targets = pattern(np.eye(16)[[1, 14]])
    found = LevelCandidates(targets, STARTS, 12).of(np.array([0, 1]), np.array([[2], [3]]))
    assert found.nodes[0].tolist() == [1, 0, 2, 3, 8, 9, 10, 11]
    assert found.targets[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert found.nodes[1][found.is_real[1]].tolist() == [14, 12, 13, 15]


def test_of_too_many_candidates_some_are_left_out_but_never_true_ones():
    targets = pattern(np.eye(16)[[1]] + np.eye(16)[[14]])
    one = LevelCandidates(targets, STARTS, 5, seed=3)
    first, again = (one.of(np.array([0]), np.array([[2]])) for _ in range(2))
    assert first.nodes.shape == (1, 5)
    assert first.nodes[0, :2].tolist() == [1, 14]
    assert first.targets[0].tolist() == [1, 1, 0, 0, 0]
    np.testing.assert_array_equal(first.nodes, again.nodes)


def test_of_few_nodes_all_are_candidates():
    targets = pattern(np.eye(3)[[1, 2]])
    found = LevelCandidates(targets, None, 1).of(np.array([1]), None)
    assert found.nodes.tolist() == [[0, 1, 2]]
    assert found.targets.tolist() == [[0, 0, 1]]
    assert found.is_real.all()
