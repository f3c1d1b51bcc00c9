"""Options for a tree of labels that users have, in the place of one that is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from polyseme.partition.trees.given import OTHERS, LabelHierarchy
from polyseme.text.vocabularies.reading import read_hierarchy

__all__ = ["HIERARCHY", "hierarchy_options", "read_given"]

Function = TypeVar("Function", bound=Callable[..., Any])

HIERARCHY = ("hierarchy", "hierarchy_others")  # names of the arguments that the options fill


def hierarchy_options(function: Function) -> Function:
    """Add the options."""
    file = click.option(
        "--hierarchy",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A tree of your own for the labels, instead of --tree: JSON of nested lists or "
        "objects, TSV or CSV with a label and a broader one per line, or a vocabulary of SKOS.",
    )
    others = click.option(
        "--hierarchy-others",
        type=click.Choice(OTHERS),
        help="Labels that are not in the hierarchy: refuse them, or put them together. [refuse]",
    )
    return file(others(function))


def read_given(hierarchy: Path | None, hierarchy_others: str | None) -> LabelHierarchy | None:
    """Read the tree that the options name, if they do."""
    if hierarchy is None:
        if hierarchy_others is not None:
            raise click.UsageError("--hierarchy-others needs --hierarchy with a file.")
        return None
    return read_hierarchy(hierarchy, others=hierarchy_others or "refuse")
