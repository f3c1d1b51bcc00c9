"""TOML files of everything that ``polyseme train`` can be told, written and read.

At the top are the method and its parameters, in the table ``texts`` the options of texts.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from polyseme.cli.corpus_options import PLAIN_FORMATS, training_options
from polyseme.cli.estimator_options import METAVARS, SPOKEN, hint, parameters_of, read_toml
from polyseme.cli.hierarchy import hierarchy_options
from polyseme.files.kinds import method_named

__all__ = ["config_text", "method_in", "with_hierarchy_of", "with_texts_of"]

WIDTH = 96
INTRODUCTION = """\
# What "polyseme train" can be told. Take away the "#" before a name to set it; what stands
# there is the default, or what kind of value is wanted. Options on the command line win.
#
#     polyseme train DATA -o MODEL --config FILE
"""


def config_text(method: str) -> str:
    """Return a file with every setting of a method and of texts, explained and commented out."""
    lines = [INTRODUCTION, "# What to train.", f"method = {json.dumps(method)}", ""]
    for parameter in parameters_of(method_named(method)):
        value = METAVARS.get(parameter.kind, "VALUE")
        if parameter.default is not None:
            value = _toml(parameter.default)
        about = parameter.help or "See the documentation of the method."
        lines += [*_explained(about), f"# {parameter.name} = {value}", ""]
    for option in _options_of(hierarchy_options):
        lines += [*_explained(option.help or ""), f"# {option.name} = {_default_of(option)}", ""]
    lines += ["", "# For texts; data that are matrices have no use for it.", "[texts]", ""]
    for option in text_options():
        lines += [*_explained(option.help or ""), f"# {option.name} = {_default_of(option)}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def method_in(path: Path) -> str | None:
    """Return the method that a file names, if it does."""
    method = read_toml(path).get("method")
    if method is not None and not isinstance(method, str):
        raise ValueError(f"{path}: method must be a text, not {method!r}.")
    return method


def with_texts_of(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of texts, those that are not given from a file."""
    found = read_toml(path).get("texts", {})
    if not isinstance(found, dict):
        raise ValueError(f"{path}: texts must be a table, [texts], not {found!r}.")
    known = {str(option.name): option for option in text_options()}
    options = dict(given)
    for name, value in found.items():
        if name not in known:
            raise ValueError(f"{path}: unknown {name!r} in [texts]; {hint(name, list(known))}")
        if options.get(name) in (None, False, ()):
            options[name] = _value_of(known[name], value, f"{path}: {name} in [texts]")
    return options


def with_hierarchy_of(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a hierarchy, those that are not given from a file."""
    found, options = read_toml(path), dict(given)
    for option in _options_of(hierarchy_options):
        name = str(option.name)
        if name in found and options[name] is None:
            options[name] = _value_of(option, found[name], f"{path}: {name}")
    return options


def text_options() -> list[click.Option]:
    """Return all options of texts, in their order."""
    return _options_of(training_options)


def _options_of(decorator: Callable[..., Any]) -> list[click.Option]:
    def nothing() -> None:
        pass

    return list(reversed(decorator(nothing).__click_params__))


def _value_of(option: click.Option, value: Any, where: str) -> Any:
    """Return a value of a file as the command line would give it."""
    wanted: tuple[type, ...] = (str,)
    if option.is_flag:
        wanted = (bool,)
    elif isinstance(option.type, click.types.IntParamType):
        wanted = (int,)
    elif isinstance(option.type, click.types.FloatParamType):
        wanted = (int, float)
    if option.name == "ngrams" and type(value) is int:
        value = str(value)
    values = value if option.multiple and isinstance(value, list) else [value]
    if not all(type(one) in wanted for one in values):
        raise ValueError(f"{where} must be {SPOKEN[wanted[-1]]}, not {value!r}.")
    try:
        converted = [option.type.convert(one, option, None) for one in values]
    except click.BadParameter as error:
        raise ValueError(f"{where}: {error.message}") from None
    return tuple(converted) if option.multiple else converted[0]


def _explained(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, WIDTH))


def _default_of(option: click.Option) -> str:
    """Return the default that the help of an option ends with, else what it stands for."""
    if option.is_flag:
        return "false"
    is_number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    said = re.search(r"\[([\w.-]+)[^\]]*\]$", option.help or "")
    if said is not None:
        shown = said.group(1)
    elif isinstance(option.type, click.Choice):
        shown = "|".join(one for one in option.type.choices if one not in PLAIN_FORMATS)
    else:
        shown = option.metavar or ""
    shown = shown if is_number else json.dumps(shown)
    return f"[{shown}]" if option.multiple else shown


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
