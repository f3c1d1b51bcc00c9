"""Options and TOML files made from an estimator's signature and docstring."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from polyseme import XRLinear
from polyseme.cli.estimator_options import (
    parameter_options,
    parameters_of,
    read_config,
    read_settings,
)
from polyseme.estimators.parameters import RENAMED


class Baker:
    """Bakes.

    Parameters
    ----------
    n_loaves : int, default=2
        How many loaves
        to bake.

        Not worth repeating on a command line.
    heat : float, default=1.5
        How hot.
    crust : str, default='thin'
        The ``crust`` of it.
    steam : bool, default=True
        Whether to steam.
    limit : int or None, default=None
        At most so many.
    n_jobs : int, optional
        Threads to use.

    Attributes
    ----------
    bread_ : str
        Not a parameter.
    """

    def __init__(
        self,
        n_loaves: int = 2,
        heat: float = 1.5,
        crust: str = "thin",
        steam: bool = True,
        limit: int | None = None,
        n_jobs: int | None = None,
    ) -> None: ...


def run(*arguments: str) -> Any:
    given: dict[str, Any] = {}

    @click.command()
    @parameter_options(Baker)
    def bake(**options: Any) -> None:
        given.update({name: value for name, value in options.items() if value is not None})

    result = CliRunner().invoke(bake, list(arguments))
    return result, given


def test_parameters_that_are_not_given_stay_with_the_estimator():
    result, given = run()
    assert result.exit_code == 0
    assert given == {}


def test_options_arrive_with_the_type_of_their_default():
    _, given = run(
        "--n-loaves=3", "--heat=2", "--crust=thick", "--no-steam", "--limit=4", "--threads=5"
    )
    assert given == {
        "n_loaves": 3, "heat": 2.0, "crust": "thick", "steam": False, "limit": 4, "n_jobs": 5,
    }  # fmt: skip
    assert isinstance(given["heat"], float)


def test_a_switch_can_be_turned_on_explicitly():
    assert run("--steam")[1] == {"steam": True}


def test_help_comes_from_the_docstring():
    text = " ".join(run("--help")[0].output.split())
    assert "--n-loaves N How many loaves to bake. [2]" in text
    assert "--steam / --no-steam Whether to steam. [true]" in text
    assert "The crust of it. [thin]" in text
    assert "Not worth repeating" not in text
    assert "Not a parameter" not in text


def write(folder: Path, text: str) -> Path:
    path = folder / "bread.toml"
    path.write_text(text)
    return path


def test_a_toml_file_gives_parameters(tmp_path):
    path = write(tmp_path, 'n_loaves = 7\nheat = 2\ncrust = "thick"\nsteam = false\n')
    wanted = {"n_loaves": 7, "heat": 2, "crust": "thick", "steam": False}
    assert read_config(path, Baker) == wanted


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("n_loafs = 1", "unknown parameter 'n_loafs'; did you mean 'n_loaves'?"),
        ("zzz = 1", "unknown parameter 'zzz'; known are n_loaves, heat"),
        ("n_loaves = 1.5", "n_loaves must be a whole number, not 1.5"),
        ("n_loaves = true", "n_loaves must be a whole number, not True"),
        ("heat = 'hot'", "heat must be a number, not 'hot'"),
        ("steam = 1", "steam must be true or false, not 1"),
        ("crust = 1", "crust must be a text, not 1"),
        ("limit = [1]", r"limit must be a whole number, not \[1\]"),
        ("n_loaves = = 1", "not a TOML file"),
    ],
)
def test_a_toml_file_with_a_mistake_is_refused_by_name(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=rf"bread\.toml: {sentence}"):
        read_config(write(tmp_path, text), Baker)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "bread.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not a TOML file"):
        read_config(path, Baker)


def test_every_parameter_of_the_estimator_has_an_option_with_help():
    parameters = parameters_of(XRLinear)
    assert [p.name for p in parameters] == list(inspect.signature(XRLinear).parameters)
    assert [p.name for p in parameters if not p.help] == []
    for parameter in parameters:
        assert parameter.option.name == parameter.name


def test_old_options_are_refused_with_the_new_ones(tmp_path):
    @click.command()
    @parameter_options(XRLinear)
    def train(**options: Any) -> None: ...

    spelled = {"--cost": "--C", "--tolerance": "--tol", "--threshold": "--min-weight"}
    for old, new in spelled.items():
        result = CliRunner().invoke(train, [f"{old}=1"])
        assert result.exit_code == 2
        assert f"There is no option {old}; it is called {new}." in result.output
    assert CliRunner().invoke(train, ["--seed=1", "--threads=1", "--no-verbose"]).exit_code == 0
    assert "--cost" not in CliRunner().invoke(train, ["--help"]).output


def test_old_keys_of_a_toml_file_are_refused_with_the_new_ones(tmp_path):
    for old, new in RENAMED.items():
        with pytest.raises(ValueError, match=f"unknown parameter '{old}'; it is called {new}."):
            read_config(write(tmp_path, f"{old} = 1"), XRLinear)


def test_a_setting_is_read_as_in_a_toml_file_or_as_a_text():
    given = ["n_loaves=3", "heat=2", "crust=some/thing", "steam=false", "limit=7"]
    found = {"n_loaves": 3, "heat": 2, "crust": "some/thing", "steam": False, "limit": 7}
    assert read_settings(given, Baker) == found
    assert read_settings(["crust=12"], Baker) == {"crust": "12"}
    assert read_settings(['crust="a=b"'], Baker) == {"crust": "a=b"}


def test_a_setting_that_makes_no_sense_is_refused():
    with pytest.raises(click.UsageError, match="--set wants NAME=VALUE, not 'heat'"):
        read_settings(["heat"], Baker)
    with pytest.raises(click.UsageError, match="unknown parameter 'loaves'; did you mean"):
        read_settings(["loaves=3"], Baker)
    with pytest.raises(ValueError, match="--set: n_loaves must be a whole number, not 'many'"):
        read_settings(["n_loaves=many"], Baker)
