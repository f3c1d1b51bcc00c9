"""The training of networks: the same from the same seed, resumed, in pieces, stopped in time."""

import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

from polyseme.backbones.neural.batches import LengthBuckets, by_length
from polyseme.backbones.neural.checkpoints import read_checkpoint, write_checkpoint
from polyseme.backbones.neural.device import choose_device, settled
from polyseme.backbones.neural.dropout import dropout_from
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.losses import LOSSES, binary_cross_entropy, weighted_squared_hinge
from polyseme.backbones.neural.training import TrainingPlan, train
from polyseme.machine.run import Run

torch = pytest.importorskip("torch", reason="the extra 'transformer' is not installed")

RUN = Run(seed=3)
LENGTHS = np.random.default_rng(0).integers(1, 60, size=200)


class Problem:
    """A line to be learned through a little dropout, so that chance takes part."""

    def __init__(self, seed=0):
        with settled(Run(seed=seed)):
            self.X = torch.randn(200, 5)
            self.y = (self.X @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]) > 0).float()[:, None]
            self.network = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Linear(5, 1))

    def loss_of(self, rows, seed):
        with dropout_from(seed):
            return weighted_squared_hinge(self.network(self.X[rows]), self.y[rows])

    def recall(self):
        return float(((self.network(self.X) > 0).float() == self.y).float().mean())

    def train(self, plan, **others):
        run = others.pop("run", RUN)
        with settled(run, 7):
            return train(self.network, self.loss_of, LENGTHS, plan, run, **others)

    def weights(self):
        return torch.cat([p.detach().flatten() for p in self.network.parameters()]).numpy()


def trained(plan, **others):
    problem = Problem()
    return problem, problem.train(plan, **others)


def test_a_network_learns():
    problem, outcome = trained(TrainingPlan(n_steps=120, learning_rate=0.05))
    assert outcome.n_steps == 120
    assert problem.recall() > 0.95
    assert not problem.network.training


def test_the_same_seed_gives_the_same_network():
    plan = TrainingPlan(n_steps=20, learning_rate=0.05)
    np.testing.assert_array_equal(trained(plan)[0].weights(), trained(plan)[0].weights())


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_network_is_the_same_for_any_number_of_threads(n_threads):
    plan = TrainingPlan(n_steps=20, learning_rate=0.05)
    one = trained(plan)[0].weights()
    several = trained(plan, run=replace(RUN, n_threads=n_threads))[0].weights()
    np.testing.assert_array_equal(one, several)


def test_what_dropout_leaves_out_follows_from_the_seed():
    values, dropout = torch.ones(40, 50), torch.nn.Dropout(0.25)
    with dropout_from(1):
        first, second = dropout(values), dropout(values)
    with dropout_from(1):
        assert torch.equal(dropout(values), first)
        assert torch.equal(dropout(values), second)
        assert torch.equal(dropout.eval()(values), values)
    assert not torch.equal(first, second)
    assert first.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (first == 0).float().mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("stopped_after", [1, 4, 9])
def test_a_resumed_training_comes_to_the_same_end(tmp_path, stopped_after):
    plan = TrainingPlan(n_steps=12, learning_rate=0.05, check_every=3, patience=99, save_every=0)
    whole, expected = trained(plan, recall=lambda: 0.5)

    class StoppedError(Exception):
        pass

    problem, n_calls = Problem(), 0

    def loss_of(rows, seed):
        nonlocal n_calls
        n_calls += 1
        if n_calls > stopped_after * 4:  # four pieces a step
            raise StoppedError
        return Problem.loss_of(problem, rows, seed)

    problem.loss_of = loss_of
    file = tmp_path / "training.safetensors"
    with pytest.raises(StoppedError):
        problem.train(plan, recall=lambda: 0.5, checkpoint=file)
    assert read_checkpoint(file)[1]["n_steps"] == stopped_after

    again = Problem(seed=99)  # whatever it is at first
    again.X, again.y = problem.X, problem.y
    outcome = again.train(plan, recall=lambda: 0.5, checkpoint=file)
    assert outcome == expected
    np.testing.assert_array_equal(again.weights(), whole.weights())


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    file = tmp_path / "training.safetensors"
    trained(TrainingPlan(n_steps=3, save_every=0), checkpoint=file)
    with pytest.raises(ValueError, match="other documents or settings; remove it"):
        trained(TrainingPlan(n_steps=4, save_every=0), checkpoint=file)


def test_a_damaged_checkpoint_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "training.safetensors"
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="is not a checkpoint of a training"):
        trained(TrainingPlan(n_steps=3), checkpoint=file)


def test_a_checkpoint_holds_tied_weights_and_values(tmp_path):
    shared = torch.arange(6.0)
    file = tmp_path / "folder" / "state.safetensors"
    write_checkpoint(file, {"one": shared, "same": shared.view(2, 3)}, {"step": 4})
    tensors, state = read_checkpoint(file)
    assert state == {"step": 4}
    assert tensors["same"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_training_stops_when_recall_gets_no_better_and_keeps_the_best():
    recalls = iter([0.2, 0.6, 0.5, 0.6, 0.4, 0.9])
    kept = []
    problem = Problem()

    def recall():
        kept.append(problem.weights().copy())
        return next(recalls)

    plan = TrainingPlan(n_steps=100, learning_rate=0.05, check_every=2, patience=3)
    outcome = problem.train(plan, recall=recall)
    assert (outcome.n_steps, outcome.recall) == (10, 0.6)
    np.testing.assert_array_equal(problem.weights(), kept[1])


def test_when_memory_runs_out_fewer_documents_are_computed_at_once_and_it_is_said():
    problem = Problem()
    sizes = []

    def loss_of(rows, seed):
        sizes.append(len(rows))
        if len(rows) > 4:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried too much")
        return Problem.loss_of(problem, rows, seed)

    problem.loss_of = loss_of
    with pytest.warns(UserWarning, match="memory ran out .* 4 documents are computed at once"):
        outcome = problem.train(TrainingPlan(n_steps=2, batch_size=16, at_once=8))
    assert outcome.at_once == 4
    assert sizes == [8, *[4] * 8]


def test_another_error_is_not_taken_for_a_lack_of_memory():
    problem = Problem()
    problem.loss_of = lambda rows, seed: problem.network(torch.zeros(2, 9)).sum()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        problem.train(TrainingPlan(n_steps=1))


def test_a_loss_beyond_all_numbers_is_told_in_one_sentence():
    problem = Problem()
    problem.loss_of = lambda rows, seed: problem.network(problem.X[rows]).sum() * float("inf")
    with pytest.raises(ValueError, match="lower the learning rate"):
        problem.train(TrainingPlan(n_steps=1))


def test_the_rate_grows_at_first_and_then_falls_to_nothing():
    plan = TrainingPlan(n_steps=10, warm_up=0.2)
    rates = [plan.rate_at(step) for step in range(10)]
    assert rates[:2] == [0.5, 1]
    assert rates[2] == 1
    assert np.diff(rates[2:]) == pytest.approx(-0.125)


def test_it_is_told_how_far_and_how_well_it_goes(monkeypatch):
    monkeypatch.setattr("polyseme.backbones.neural.training.SECONDS_BETWEEN_WORDS", 0)
    done, words = [], []
    run = Run(seed=3, progress=done.append, tell=words.append)
    problem = Problem()
    with settled(run):
        plan = TrainingPlan(n_steps=5, check_every=2)
        train(problem.network, problem.loss_of, LENGTHS, plan, run, recall=problem.recall)
    assert done == [1, 2, 3, 4, 5, 5]
    assert "loss" in words[0]
    assert "recall" in words[-1]
    assert "documents per second" in words[-1]
    assert "min left" in words[-1]


# Batches


def test_a_pass_has_every_document_once_in_batches_of_like_length():
    batches = LengthBuckets(LENGTHS, 20, seed=1)
    assert batches.n_batches == 10
    once = [batches[step] for step in range(10)]
    np.testing.assert_array_equal(np.sort(np.concatenate(once)), np.arange(200))
    spread = [np.ptp(LENGTHS[batch]) for batch in once]
    assert np.mean(spread) < 12
    again = [batches[step] for step in range(10, 20)]
    assert any(set(one) != set(other) for one, other in zip(once, again, strict=True))


def test_batches_follow_from_the_seed_and_the_step_alone():
    one, other = (LengthBuckets(LENGTHS, 7, seed=1) for _ in range(2))
    for step in (57, 3, 99):
        np.testing.assert_array_equal(one[step], other[step])
    assert (LengthBuckets(LENGTHS, 7, seed=2)[3] != one[3]).any()


def test_fewer_documents_than_a_batch_are_one_batch():
    batches = LengthBuckets(LENGTHS[:3], 8)
    assert sorted(batches[0]) == sorted(batches[1]) == [0, 1, 2]


def test_documents_come_longest_first():
    order = np.concatenate(list(by_length(LENGTHS, 32)))
    assert (np.diff(LENGTHS[order]) <= 0).all()
    assert len(set(order)) == 200


# Losses


def test_losses_leave_out_padding_and_weigh_what_is_true():
    scores = torch.tensor([[0.5, -2.0, 100.0]])
    targets = torch.tensor([[1.0, 0.0, 0.0]])
    real = torch.tensor([[True, True, False]])
    assert float(weighted_squared_hinge(scores, targets, real)) == pytest.approx(0.25)
    assert float(weighted_squared_hinge(scores, targets, real, 3)) == pytest.approx(0.75)
    expected = np.log1p(np.exp(-0.5)) + np.log1p(np.exp(-2))
    assert float(binary_cross_entropy(scores, targets, real)) == pytest.approx(expected)
    assert set(LOSSES) == {"squared-hinge", "logistic"}


# Devices and the library


def test_chance_and_threads_are_as_before_afterwards():
    torch.manual_seed(5)
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    with settled(Run(seed=1, n_threads=n_threads + 1)):
        assert torch.get_num_threads() == n_threads + 1
        first = torch.rand(1)
    with settled(Run(seed=1)):
        assert torch.rand(1) == first
    with settled(Run(seed=1), 2):
        assert torch.rand(1) != first
    assert torch.get_num_threads() == n_threads
    assert (torch.get_rng_state() == before).all()


def test_a_device_that_is_not_there_is_refused_by_name():
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="there is no device 'abacus' to compute on"):
        choose_device("abacus")


def test_a_missing_package_is_named_with_the_command_that_brings_it():
    with pytest.raises(
        ValueError, match=r"need torch_of_nobody; .*pip install '.\[transformer\]'"
    ):
        needed_library("torch_of_nobody.nn")


@pytest.mark.timed
def test_ctrl_c_stops_a_training_within_a_second():
    code = """
import time, numpy as np, torch
from polyseme.backbones.neural.device import settled
from polyseme.backbones.neural.training import TrainingPlan, train
from polyseme.machine.run import Run
network = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(80)])
def loss_of(rows, seed):
    print("learning", flush=True)
    return network(torch.randn(256 * len(rows), 512)).square().mean()
try:
    with settled(Run()):
        train(network, loss_of, np.full(999, 9), TrainingPlan(n_steps=10**9), Run())
except KeyboardInterrupt:
    print(time.monotonic())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        # What a script starts in the background would be deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as program:
        assert program.stdout.readline() == "learning\n"
        program.send_signal(signal.SIGINT)
        asked = time.monotonic()
        output, _ = program.communicate(timeout=30)
    assert float(output.splitlines()[-1]) - asked < 1


def test_nothing_is_warned_of_in_a_plain_training():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained(TrainingPlan(n_steps=2))
