"""Command-line options and TOML files for the parameters of an estimator.

Names, types and defaults come from the signature and help from the docstring, so that nothing is
said twice.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from polyseme.cli.hierarchy import HIERARCHY
from polyseme.estimators.parameters import RENAMED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "Parameter",
    "given_parameters",
    "hint",
    "parameter_options",
    "parameters_of",
    "read_config",
    "read_settings",
    "read_toml",
]

Function = TypeVar("Function", bound=Callable[..., Any])

SHORTER_NAMES = {"n_jobs": "--threads", "random_state": "--seed"}
SWITCHES = ("verbose",)  # a number in Python, as in scikit-learn, but on or off
NOT_PARAMETERS = ("method", "texts", *HIERARCHY)  # of a file, which see `polyseme.cli.config_file`
METAVARS = {int: "N", float: "X", str: "NAME"}
SPOKEN = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator, as its signature and docstring describe it."""

    name: str
    default: Any
    kind: type
    help: str

    @property
    def option(self) -> click.Option:
        """The option of this parameter; it stays None unless it was given."""
        dashed = _spelled(self.name)
        is_switch = self.kind is bool
        return click.Option(
            [f"{dashed}/--no-{dashed[2:]}" if is_switch else dashed, self.name],
            type=self.kind,
            default=None,
            help=self.help if self.default is None else f"{self.help} [{self._default_text}]",
            metavar=None if is_switch else METAVARS[self.kind],
        )

    @property
    def _default_text(self) -> str:
        return str(bool(self.default)).lower() if self.kind is bool else str(self.default)

    def check(self, value: object, source: Path) -> None:
        """Refuse a value from a file that is of another kind than the parameter."""
        if self.name in SWITCHES and type(value) is int and value in (0, 1):
            return
        kinds = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and self.kind is not bool):
            raise ValueError(f"{source}: {self.name} must be {SPOKEN[self.kind]}, not {value!r}.")


def parameters_of(estimator: type) -> list[Parameter]:
    """Read the parameters of an estimator's ``__init__``, in its order."""
    described: dict[str, str] = {}
    for one in reversed(estimator.__mro__):  # a class says only what differs from those above it
        described |= _described_parameters(inspect.cleandoc(one.__doc__ or ""))
    return [
        Parameter(name, argument.default, _kind_of(argument), described.get(name, ""))
        for name, argument in inspect.signature(estimator).parameters.items()
    ]


def parameter_options(estimator: type) -> Callable[[Function], Function]:
    """Give a command one option for each parameter of `estimator`."""

    def decorate(function: Function) -> Function:
        known: list[click.Parameter] = getattr(function, "__click_params__", [])
        parameters = parameters_of(estimator)
        known.extend(_old_options([parameter.name for parameter in parameters]))
        # Click reads decorators from the bottom up, hence the reversal.
        known.extend(parameter.option for parameter in reversed(parameters))
        function.__click_params__ = known  # type: ignore[attr-defined]
        return function

    return decorate


def given_parameters(
    estimator: type, config: Path | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters that a file and options give, which win over it.

    An option that belongs to another estimator is refused.
    """
    parameters = read_config(config, estimator) if config is not None else {}
    known = {parameter.name for parameter in parameters_of(estimator)}
    for name, value in options.items():
        if value is None:
            continue
        if name not in known:
            raise click.UsageError(
                f"{estimator.__name__} has no {name}, so {_spelled(name)} means nothing to it."
            )
        parameters[name] = value
    return parameters


def read_config(path: Path, estimator: type) -> dict[str, Any]:
    """Read the parameters of a TOML file; keys are the names of the estimator's parameters."""
    values = {key: value for key, value in read_toml(path).items() if key not in NOT_PARAMETERS}
    known = {parameter.name: parameter for parameter in parameters_of(estimator)}
    for key, value in values.items():
        if key not in known:
            names = [*known, *NOT_PARAMETERS]
            raise ValueError(f"{path}: unknown parameter {key!r}; {hint(key, names)}")
        known[key].check(value, path)
    return values


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error


def read_settings(given: Sequence[str], estimator: type) -> dict[str, Any]:
    """Read parameters that are given as ``name=value``; a value is as in TOML, or a bare text."""
    known = {parameter.name: parameter for parameter in parameters_of(estimator)}
    settings = {}
    for one in given:
        name, is_there, text = one.partition("=")
        if not is_there:
            raise click.UsageError(f"--set wants NAME=VALUE, not {one!r}.")
        if name not in known:
            raise click.UsageError(f"--set: unknown parameter {name!r}; {hint(name, list(known))}")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        if known[name].kind is str and not isinstance(value, str):
            value = text
        known[name].check(value, Path("--set"))
        settings[name] = value
    return settings


def _spelled(name: str) -> str:
    return SHORTER_NAMES.get(name, "--" + name.replace("_", "-"))


def _old_options(known: list[str]) -> list[click.Option]:
    """Return hidden options that tell what the options of before are called now."""
    spelled = [(_spelled(old), _spelled(new)) for old, new in RENAMED.items() if new in known]

    def refusing(old: str, new: str) -> click.Option:
        def refuse(context: click.Context, option: click.Parameter, value: str | None) -> None:
            if value is not None:
                raise click.UsageError(f"There is no option {old}; it is called {new}.", context)

        return click.Option([old], hidden=True, expose_value=False, callback=refuse)

    return [refusing(old, new) for old, new in spelled if old != new]


def hint(key: str, known: list[str]) -> str:
    """Return what may have been meant by a name that is not known."""
    if RENAMED.get(key) in known:
        return f"it is called {RENAMED[key]}."
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."


def _described_parameters(docstring: str) -> dict[str, str]:
    """Return the first paragraph about each entry of a docstring's Parameters section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", docstring, re.S | re.M)
    if section is None:
        return {}
    entries = re.findall(r"^(\w+) ?:.*\n((?:[ \t]+.*\n?|\n)*)", section.group(1), re.M)
    return {name: _first_paragraph(body) for name, body in entries}


def _first_paragraph(text: str) -> str:
    paragraph = inspect.cleandoc(text).split("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split())


def _kind_of(argument: inspect.Parameter) -> type:
    if argument.name in SWITCHES:
        return bool
    if argument.default is not None:
        return type(argument.default)
    # Only an annotation such as `int | None` tells what an optional parameter is.
    words = re.findall(r"\w+", str(argument.annotation))
    return next((kind for kind in (list, float, int, bool) if kind.__name__ in words), str)
