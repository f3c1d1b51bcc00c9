"""Progress: silent unless stderr is a terminal, and always a good clock."""

import io
import subprocess
import sys
from contextlib import contextmanager

import pytest

from polyseme import XRLinear
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from tests.small_data import topics


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_two_phases(progress: Progress) -> None:
    with progress:
        with progress.phase("Growing the tree", total=4) as step:
            for done in range(5):
                step(done)
        with progress.phase("Training the matcher") as step:
            step(1)


def test_phases_are_timed_in_the_order_in_which_they_began():
    progress = Progress()
    run_two_phases(progress)
    assert list(progress.seconds) == ["Growing the tree", "Training the matcher"]
    assert all(seconds >= 0 for seconds in progress.seconds.values())


def test_a_phase_that_runs_again_adds_to_its_seconds(monkeypatch):
    ticks = iter([0.0, 1.0, 10.0, 12.5])
    monkeypatch.setattr("polyseme.machine.progress.time.perf_counter", lambda: next(ticks))
    progress = Progress(enabled=False)
    for _ in range(2):
        with progress.phase("Matching"):
            pass
    assert progress.seconds == {"Matching": 3.5}


def test_a_phase_that_fails_is_timed_and_its_exception_passes_through():
    progress = Progress()
    with pytest.raises(KeyboardInterrupt), progress, progress.phase("Matching"):
        raise KeyboardInterrupt
    assert "Matching" in progress.seconds


def test_phases_may_be_timed_without_opening_the_display():
    progress = Progress()
    with progress.phase("Matching") as step:
        step(1)
    assert list(progress.seconds) == ["Matching"]


@pytest.mark.parametrize("enabled", [None, True, False])
def test_nothing_is_written_when_stderr_is_no_terminal(monkeypatch, enabled):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    run_two_phases(Progress(enabled))
    assert stream.getvalue() == ""


def test_a_terminal_sees_the_name_of_the_phase(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    run_two_phases(Progress())
    assert "Training the matcher" in stream.getvalue()


def test_a_terminal_sees_nothing_when_progress_is_switched_off(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    run_two_phases(Progress(enabled=False))
    assert stream.getvalue() == ""


@pytest.mark.slow
def test_rich_is_not_imported_unless_something_is_shown():
    code = (
        "import sys; from polyseme.machine.progress import Progress\n"
        "with Progress() as progress, progress.phase('Matching') as step: step(1)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_a_ranker_in_training_tells_how_far_it_is(monkeypatch):
    told, totals, phase = {}, {}, Progress.phase

    @contextmanager
    def listening(self, name, total=None):
        with phase(self, name, total) as step:
            steps = told.setdefault(name, [])

            def heard(done):
                steps.append(done)
                step(done)

            yield heard
        totals[name] = total

    monkeypatch.setattr(Progress, "phase", listening)
    # What is over in a moment tells nothing, so this is made to last.
    data = topics(n_labels=400, n_documents=8000)
    XRLinear(max_leaf_size=400, rounds=0, n_jobs=1, verbose=0).fit(data.X, data.Y)
    steps = told["Training the ranker"]
    assert steps, "the ranker says nothing"
    assert steps == sorted(steps)
    assert steps[-1] <= totals["Training the ranker"]


def test_a_bar_has_its_total_and_goes_when_its_phase_is_over(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress() as progress:
        with progress.phase("Growing the tree", total=4) as step:
            step(1)
            step(3)
            (task,) = progress._bars.tasks
            assert (task.completed, task.total) == (3, 4)
        assert progress._bars.tasks == []
        bars = progress._bars
    assert bars.finished
    assert not bars.live.is_started


def test_a_program_without_stderr_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    progress = Progress()
    run_two_phases(progress)
    assert len(progress.seconds) == 2


def test_a_part_of_a_run_differs_from_it_only_in_whom_it_tells_and_how_much():
    told = []
    run = Run(seed=3, n_threads=2, progress=told.append)
    part = run.counting_from(10)
    part.progress(5)
    assert told == [15]
    assert (part.seed, part.n_threads) == (3, 2)
    assert run.reporting_to(None) == Run(seed=3, n_threads=2)
    assert Run(seed=3).counting_from(10) == Run(seed=3)
