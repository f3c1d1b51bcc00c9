"""Annif's own command and its own web application, as processes, on the example of the page."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

pytest.importorskip(
    "annif", reason="Annif is not installed here; make test runs these in build/annif-venv."
)

PAGE = Path(__file__).parents[2] / "docs" / "annif.md"
PROGRAMS = Path(sys.executable).parent
FISH = "Clean the tank; the fish will thank you."
TANK = "http://example.org/tank"


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ANNIF_")}
    return {**ours, "PATH": f"{PROGRAMS}{os.pathsep}{ours['PATH']}"}


def run(*command: str, folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment(), input=text, capture_output=True, text=True
    )


def succeed(*command: str, folder: Path, text: str = "") -> str:
    done = run(*command, folder=folder, text=text)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands_of_the_page() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (lines,) = [block.splitlines() for block in blocks if "annif train" in block]
    assert lines[-1].startswith("annif run")  # does not end by itself; see below
    return lines[:-1]


@pytest.fixture(scope="module")
def printed_and_folder(tmp_path_factory):
    """Run the page's commands as they stand there."""
    folder = tmp_path_factory.mktemp("page")
    script = "\n".join(commands_of_the_page())
    return succeed("bash", "-eu", "-c", script, folder=folder), folder / "demo"


@pytest.fixture(scope="module")
def folder(printed_and_folder):
    return printed_and_folder[1]


@contextmanager
def served(folder: Path, *command: str):
    """Start a server, wait for it, and yield a function that asks it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with open(log, "w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder,
            env=environment(),
            stdout=stream,
            stderr=stream,
        )

    def ask(path: str, body: object = None) -> tuple[int, object]:
        is_form = isinstance(body, bytes)
        data = body if is_form or body is None else json.dumps(body).encode()
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        address = f"http://127.0.0.1:{port}/v1/{path}"
        request = Request(address, data, {"Content-Type": kind})
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    try:
        until = time.monotonic() + 60
        while True:
            try:
                ask("projects")
                break
            except (URLError, ConnectionError):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until, log.read_text(encoding="utf-8")
                time.sleep(0.1)
        yield ask
    finally:
        process.terminate()
        process.wait(30)


def best_of(answer: object) -> str:
    return answer["results"][0]["uri"]


def test_the_commands_of_the_page_lead_to_suggestions(printed_and_folder):
    printed, _ = printed_and_folder
    first = next(line for line in printed.splitlines() if line.startswith("<"))
    uri, name, score = first.split("\t")
    assert (uri, name) == (f"<{TANK}>", "tank")
    assert 0 < float(score) <= 1
    precision = float(re.search(r"^Precision@1:\s+(\S+)", printed, re.M)[1])
    assert precision > 0.7


def test_the_project_is_listed_as_trained(folder):
    assert re.search(r"^demo .*True", succeed("annif", "list-projects", folder=folder), re.M)


def test_annif_says_which_backend_it_found_and_help_does_not(folder):
    assert "is a backend of Annif" in succeed("annif", "polyseme", folder=folder)
    assert "polyseme" not in succeed("annif", "--help", folder=folder)


EVALUATE = ("eval", "demo", "test.tsv", "-m", "F1@5", "--jobs")


def test_processes_side_by_side_evaluate_as_one_does(folder):
    one, two = (succeed("annif", *EVALUATE, jobs, folder=folder) for jobs in "12")
    assert one == two


def test_processes_that_start_from_nothing_find_the_backend_by_our_module(
    folder, tmp_path, monkeypatch
):
    # As on macOS and Windows.
    code = "import multiprocessing as m; m.set_start_method('spawn', force=True)"
    (tmp_path / "sitecustomize.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ours = (sys.executable, "-m", "polyseme.annif.command")
    one, two = (succeed(*ours, *EVALUATE, jobs, folder=folder) for jobs in "12")
    assert one == two


def test_a_wrong_setting_on_the_command_line_is_one_sentence(folder):
    done = run("annif", "train", "demo", "train.tsv", "-b", "polyseme.copies=0", folder=folder)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: Misconfigured backend 'polyseme': copies must be a whole")


def test_the_example_does_not_overwrite(folder):
    done = run(sys.executable, "-m", "polyseme.annif.example", str(folder), folder=folder)
    assert done.returncode == 1
    assert "is there already" in done.stderr


def test_polyseme_reads_the_model_too(folder):
    model = "data/projects/demo/polyseme-model"
    assert "tank" in succeed("polyseme", "senses", model, "tank", folder=folder)
    assert TANK in succeed("polyseme", "predict", model, folder=folder, text=FISH)


def test_the_rest_api_suggests_and_learns(folder):
    with served(folder, "annif", "run") as ask:
        status, project = ask("projects/demo")
        assert (status, project["is_trained"]) == (200, True)
        status, answer = ask("projects/demo/suggest", b"text=A tank full of fish&limit=2")
        assert status == 200
        assert best_of(answer) == TANK
        assert len(answer["results"]) == 2
        question = {"documents": [{"text": FISH, "document_id": "1"}, {"text": "zzz"}]}
        status, answers = ask("projects/demo/suggest-batch?limit=3", question)
        assert status == 200
        assert best_of(answers[0]) == TANK
        assert len(answers[0]["results"]) == 3
        assert answers[1]["results"] == []

        documents = [
            {"text": "coral reef in the old library", "subjects": [{"uri": TANK, "label": "tank"}]}
        ] * 20
        assert ask("projects/demo/learn", documents) == (204, None)
        question = {"documents": [{"text": "coral reef in the old library"}]}
        assert best_of(ask("projects/demo/suggest-batch", question)[1][0]) == TANK

        status, problem = ask("projects/demo/learn", [{"text": "nothing", "subjects": []}])
        assert status == 503
        assert "Cannot learn from documents without subjects" in problem["detail"]


def test_a_web_server_starts_the_application_of_polyseme(folder):
    with served(folder, "uvicorn", "--factory", "polyseme.annif:create_app") as ask:
        question = {"documents": [{"text": FISH}]}
        assert best_of(ask("projects/demo/suggest-batch?limit=1", question)[1][0]) == TANK
