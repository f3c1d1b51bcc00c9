"""What the tutorials tell people to do works, in the order in which they tell it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from polyseme.cli import main

TUTORIALS = sorted((Path(__file__).parents[2] / "docs/tutorials").glob("[!i]*.md"))
START = Path(__file__).parents[2] / "docs/index.md"
FOR_OTHERS = ("pip ", "curl ", "cd ", "annif ")  # what these lines start is tested elsewhere


def run(line: str) -> None:
    """Run a line of shell that calls polyseme, in this process."""
    _, verb, *arguments = shlex.split(line)
    if verb == "serve":  # it would go on for ever
        main.get_command(None, verb).make_context(verb, arguments)
        return
    result = CliRunner().invoke(main, [verb, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, (line, result.output)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    steps = re.findall(
        r"^```(python|sh)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M
    )
    for language, block in steps:
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
            continue
        for line in block.splitlines():
            if line.startswith("polyseme "):
                run(line)
            else:
                assert line.startswith(FOR_OTHERS)
    printed = capsys.readouterr().out
    if page.stem == "meanings":
        assert "in the sense of its only sense" not in printed
        assert printed.count("-> tank, in the sense of") == 2
    if page.stem == "your-taxonomy":
        with_tree, without = map(float, re.findall(r"P@1 ([\d.]+)", printed))
        assert min(with_tree, without) > 50


def test_all_tutorials_are_found():
    assert len(TUTORIALS) == 5


@pytest.mark.slow
def test_the_five_lines_of_the_start_page_run(capsys):
    (block,) = re.findall(
        r"^```python\n(.*?)^```$", START.read_text(encoding="utf-8"), re.S | re.M
    )
    exec(compile(block, str(START), "exec"), {})
    assert " tank " in capsys.readouterr().out
