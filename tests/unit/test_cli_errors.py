"""Mistakes end in a sentence and exit code 2, bugs in a traceback, Ctrl-C in 130."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from contextlib import suppress

import click
import pytest
from click.testing import CliRunner

from polyseme import TextModel, XRLinear
from polyseme.cli import main
from polyseme.cli.errors import GroupWithPlainErrors, _sentence_of
from polyseme.cli.predictions import print_out
from polyseme.cli.report import described_cut


def run(body):
    @click.group(cls=GroupWithPlainErrors)
    def group() -> None: ...

    @group.command()
    def verb() -> None:
        body()

    return CliRunner().invoke(group, ["verb"])


def raising(error: BaseException):
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("X has NaN in row 3."), "X has NaN in row 3."),
        (FileNotFoundError("there is no model at m"), "there is no model at m"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.npz"), "x.npz: No such file."),
        (PermissionError(errno.EACCES, "Permission denied", "m"), "m: Permission denied."),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device."),
        (MemoryError("Unable to allocate 3 TiB"), "not enough memory. Unable to allocate 3 TiB"),
    ],
)
def test_a_mistake_ends_in_one_sentence_and_code_2(error, sentence):
    result = run(raising(error))
    assert result.exit_code == 2
    assert result.stderr == f"polyseme: {sentence}\n"
    assert result.stdout == ""


def test_what_is_for_python_is_not_said_beside_an_option():
    said = "say --label-separator '' (label_separator=''), or --id-column, or id_column in Python."
    result = run(raising(ValueError(said)))
    assert result.stderr == "polyseme: say --label-separator '', or --id-column.\n"
    named = "lists, or tuples in Python (a='1').csv is not a file."
    assert run(raising(ValueError(named))).stderr == f"polyseme: {named}\n"


def test_ctrl_c_ends_with_130_and_a_short_note():
    result = run(raising(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert result.stderr == "polyseme: interrupted.\n"


def test_a_bug_is_not_hidden():
    result = run(raising(ZeroDivisionError("oops")))
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_reader_that_went_away_is_no_error_of_ours():
    result = run(raising(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert result.exit_code == 0  # `polyseme predict ... | head` is no failure of a pipe
    assert result.stderr == ""


def test_a_warning_becomes_a_note_on_stderr():
    def body() -> None:
        warnings.simplefilter("always")
        warnings.warn("label 3 has no document", stacklevel=1)
        click.echo("done")

    result = run(body)
    assert result.exit_code == 0
    assert result.stderr == "polyseme: label 3 has no document\n"
    assert result.stdout == "done\n"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_behind_printed_lines_is_said_to_be_that(monkeypatch):
    full = open("/dev/full", "w", buffering=1)  # noqa: SIM115, its closing fails too
    monkeypatch.setattr(sys, "stdout", full)
    with pytest.raises(OSError, match="No space left") as raised:
        print_out(["a line\n"])
    with suppress(OSError):
        full.close()
    assert _sentence_of(raised.value).startswith("cannot write to standard output: ")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("list",), ("list", "--json")])
def test_a_full_device_behind_stdout_is_said_to_be_that(arguments):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "polyseme", "datasets", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == ("polyseme: cannot write to standard output: No space left on device.\n")


def run_with_closed(streams, *arguments):
    """Run the program as a shell does that was told to close some of its streams."""
    command = [sys.executable, "-m", "polyseme", *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *command], capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(
    "arguments", [("datasets", "list"), ("datasets", "list", "--json"), ("-h",)]
)
def test_a_stdout_that_is_closed_is_one_sentence(arguments):
    done = run_with_closed(">&-", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("polyseme: stdout is closed")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_stderr_that_is_closed_changes_nothing_but_what_is_seen():
    assert run_with_closed("2>&-", "datasets", "list").stdout
    assert run_with_closed("2>&-", "datasets", "info", "nothing").returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_stdin_that_is_closed_is_one_sentence(tmp_path):
    texts = ["a fish tank", "a battle tank", "fish swim", "battle of armour"]
    model = TextModel(classifier=XRLinear(verbose=0), held_out=0, verbose=0)
    model.fit(texts, [["fish"], ["war"], ["fish"], ["war"]]).save(tmp_path / "model")
    done = run_with_closed("<&-", "predict", tmp_path / "model")
    assert done.returncode == 2
    assert done.stderr == "polyseme: stdin is closed; give a file as INPUT.\n"


def test_a_threshold_that_is_not_as_precise_as_wanted_is_said():
    cut = {
        "threshold": 0.5,
        "precision": 0.8,
        "recall": 0.4,
        "f1": 0.53,
        "labels_per_document": 2.0,
        "without_label": 0.215,
    }
    for wanted, is_missed in ((0.9, True), (0.8, False), (None, False)):
        said = described_cut({**cut, "wanted_precision": wanted})
        assert ("no threshold is as precise as wanted" in said) == is_missed
    said = described_cut(cut)
    assert "(" not in said
    assert "precision 80.0%, recall 40.0%, F1 53.0%." in said
    assert "21.5% of the documents get none." in said
    own = described_cut({**cut, "wanted_precision": 0.8, "n_labels_with_own": 1234})
    assert own.startswith("Thresholds of 1,234 labels, and 0.500 for all others (for 80% ")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("trian", 'did you mean "train"?'), ("frobnicate", '"polyseme --help" lists all.')],
)
def test_a_wrong_command_is_answered_with_the_one_it_is_spelled_like(wrong, hint):
    result = CliRunner().invoke(main, [wrong])
    assert result.exit_code == 2
    assert result.stderr == f'polyseme: there is no command "{wrong}"; {hint}\n'
