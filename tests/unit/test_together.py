"""Several processes train one encoder: the same as one process with the same batches."""

import os
import subprocess
import sys

import numpy as np
import pytest

import polyseme
from polyseme.backbones.neural import together
from polyseme.machine import processes
from polyseme.machine.threads import count_threads
from tests.tiny_encoders import need_libraries, transformer_folder

need_libraries()

import tests.together as program  # noqa: E402

LAUNCHED = {
    "RANK": "1",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "1",
}


@pytest.fixture
def launched(monkeypatch):
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_two_processes_come_to_the_encoder_of_one(tmp_path):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    encoder = transformer_folder(tmp_path / "encoder", program.corpus()[0])
    alone = program.fitted(encoder, tmp_path / "alone")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*launcher, "--nproc_per_node", "2", "-m", "tests.together", str(encoder), str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    main, other = (np.load(tmp_path / f"{who}.npz") for who in ("main", "other"))
    assert main["n_processes"] == other["n_processes"] == 2
    before = program.weights_of(alone)
    for name in main.files:
        np.testing.assert_array_equal(main[name], other[name])
        if name in before:  # dropout is the same, too
            np.testing.assert_allclose(main[name], before[name], rtol=1e-3, atol=1e-5)
    embeddings = alone.features_.store.embed(program.corpus()[0], alone._run())
    np.testing.assert_allclose(main["embeddings"], embeddings, atol=1e-4)
    # Only the main process writes.
    assert not (tmp_path / "model-other").exists()
    assert polyseme.load(tmp_path / "model-main").n_labels_ == alone.n_labels_
    levels = [path.name for path in (tmp_path / "work").rglob("level-*")]
    assert sorted(levels) == [f"level-{level}.safetensors" for level in range(1, len(levels) + 1)]


def test_a_program_that_nobody_launched_is_alone(monkeypatch):
    for name in LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    assert (processes.count_processes(), processes.is_main_process()) == (1, True)
    monkeypatch.setenv("RANK", "3")  # of another program that uses the name
    assert (processes.count_processes(), processes.is_main_process()) == (1, True)
    assert together.agreed("value") == "value"
    assert together.own_part(7) == slice(0, 7)


def test_a_launched_process_knows_its_place_and_shares_the_cores(launched):
    assert (processes.count_processes(), processes.count_beside()) == (4, 2)
    assert not processes.is_main_process()
    n_cores = len(os.sched_getaffinity(0))
    assert count_threads(None) == max(1, n_cores // 2)


def test_the_parts_of_all_processes_are_all_there_is(launched, monkeypatch):
    class State:
        process_index = 0

    monkeypatch.setattr(together, "_state", State)
    parts = []
    for State.process_index in range(4):
        parts += list(range(10))[together.own_part(10)]
    assert parts == list(range(10))


def test_without_accelerate_it_is_said_how_to_get_it(launched, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    together._state.cache_clear()
    with pytest.raises(ValueError, match=r"need accelerate; .*pip install '.\[transformer\]'"):
        together.agreed(1)


def test_a_process_that_is_not_the_main_one_writes_no_model(launched, tmp_path):
    X, Y = np.eye(6, dtype=np.float32), np.eye(6)
    polyseme.XRLinear(verbose=0, senses="none").fit(X, Y).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
