"""Imports go one way: a room knows the rooms below it, and none above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from polyseme import _HOMES

SOURCE = Path(__file__).parents[2] / "src" / "polyseme"

# From bottom to top. Beside the rooms stand the public modules, each above what it opens to users,
# and "polyseme" itself, which opens all that is below it.
LAYERS = [
    "_native",
    "machine",
    "inputs",
    "partition",
    "assignment",
    "metrics",
    "files",
    "datasets",
    "ordering",
    "backbones",
    "training",
    "update",
    "senses",
    "explain",
    "estimators",
    "cost",
    "suggestions",
    "text",
    "tuning",
    "adapters",
    "polyseme",
    "tagging",
    "tagger",
    "cards",
    "hub",
    "reports",
    "demo",
    "experiments",
    "annif",
    "server",
    "cli",
    "__main__",
]

# Imports that still point up, as (module, room). To be made fewer, never more.
UPWARD: set[tuple[str, str]] = set()

# Large packages, and those of extras, belong to one room (or to none yet).
AT_HOME = {
    "accelerate": {"backbones"},
    "annif": {"annif"},
    "click": {"annif", "cli"},
    "faiss": {"backbones"},
    "fastapi": {"server"},
    "huggingface_hub": {"hub"},
    "flask": {"annif"},
    "matplotlib": {"experiments"},
    "onnx": {"backbones"},
    "onnxruntime": {"backbones"},
    "openpyxl": {"text"},
    "pandas": {"suggestions"},
    "prometheus_client": {"server"},
    "pyarrow": {"text"},
    "pyoxigraph": {"text"},
    "ray": set(),
    "rich": {"cli", "machine"},
    "starlette": {"server"},
    "torch": {"backbones"},
    "transformers": {"backbones"},
    "uvicorn": {"server"},
}


def module_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "polyseme"


def running(node: ast.AST) -> Iterator[ast.AST]:
    """All of a program but what is there for type checkers, which may point anywhere."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from running(other)
        else:
            yield from running(child)


def imported(code: str) -> Iterator[str]:
    """Full names of all that is imported, also inside functions."""
    for node in running(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str:
    """Room of ``polyseme.<...>``; a public name is in the room where it lives."""
    _, _, inner = name.partition(".")
    first = inner.split(".")[0]
    return _HOMES.get(first, first).split(".")[0] or "polyseme"


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def imports() -> list[tuple[str, str]]:
    return [
        (module_of(file), name)
        for file in files()
        for name in imported(file.read_text(encoding="utf-8"))
    ]


def test_every_room_has_its_place_among_the_layers():
    rooms = {module_of(file).split(".")[0] for file in files()}
    assert rooms - set(LAYERS) == set(), "put it where it belongs in LAYERS"


def test_imports_point_down():
    height = {room: place for place, room in enumerate(LAYERS)}
    upward = {
        (module, room_of(name))
        for module, name in imports()
        if name.split(".")[0] == "polyseme"
        and height[room_of(name)] > height[module.split(".")[0]]
    }
    assert upward - UPWARD == set(), "imports that point up"
    assert UPWARD - upward == set(), "no longer so: strike it from UPWARD"


@pytest.mark.parametrize("package", AT_HOME)
def test_a_large_package_is_imported_in_its_room_only(package):
    importing = {module for module, name in imports() if name.split(".")[0] == package}
    rooms = {module.split(".")[0] for module in importing}
    assert rooms <= AT_HOME[package], f"{package} is imported by {sorted(importing)}"


def test_every_module_says_what_it_is():
    silent = [
        module_of(file)
        for file in files()
        if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from polyseme.text.model import TextModel", ["polyseme.text.model.TextModel"]),
        ("def f():\n    import polyseme.cli", ["polyseme.cli"]),
        ("if TYPE_CHECKING:\n    import torch", []),
        ("if typing.TYPE_CHECKING:\n    import torch\nelse:\n    import ray", ["ray"]),
    ],
)
def test_imports_are_found_wherever_they_stand(code, names):
    assert list(imported(code)) == names


@pytest.mark.parametrize(
    ("name", "room"),
    [
        ("polyseme", "polyseme"),
        ("polyseme.XRLinear", "estimators"),
        ("polyseme.metrics", "metrics"),
        ("polyseme.text.model.TextModel", "text"),
    ],
)
def test_a_public_name_is_in_the_room_where_it_lives(name, room):
    assert room_of(name) == room
