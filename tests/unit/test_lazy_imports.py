"""What is imported when: the public names wait until they are used."""

from __future__ import annotations

import signal
import subprocess
import sys

import click
import pytest

import polyseme
from polyseme.cli import VERBS, main

HEAVY = {"numpy", "scipy", "sklearn", "safetensors", "rich"}


def modules_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.splitlines()[-1].split())


def test_importing_the_package_imports_nothing_heavy():
    assert modules_after("import polyseme; dir(polyseme)") & HEAVY == set()


def test_programs_of_flask_other_than_annif_are_left_alone():
    assert modules_after("import polyseme.annif.plugin") & {*HEAVY, "annif", "flask"} == set()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_of_the_program_import_nothing_heavy(option):
    code = f"from polyseme.cli import main; main(['{option}'], standalone_mode=False)"
    assert modules_after(code) & HEAVY == set()


@pytest.mark.parametrize("name", polyseme.__all__)
def test_every_public_name_is_there_when_used(name):
    assert name in dir(polyseme)
    assert getattr(polyseme, name) is getattr(polyseme, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'XRLinaer'"):
        _ = polyseme.XRLinaer


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_of_each_what_its_own_help_says(verb):
    command = main.get_command(click.Context(main), verb)
    assert command.get_short_help_str(200).rstrip(".") == VERBS[verb].rstrip(".")


@pytest.mark.parametrize(
    ("number", "result"),
    [(signal.SIGINT, (130, "polyseme: interrupted.\n")), (signal.SIGTERM, (143, ""))],
)
def test_a_signal_during_imports_shows_no_traceback(number, result):
    # A module that stands in the way of the command line's imports, as a slow disk would.
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            print("importing", flush=True)
            __import__("time").sleep(30)
sys.meta_path.insert(0, Slow())
from polyseme.__main__ import main
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout.readline() == "importing\n"
        program.send_signal(number)
        _, errors = program.communicate(timeout=20)
    assert (program.returncode, errors) == result
