"""Run the notebooks of the docs and keep what they show: ``python -m tools.notebooks``.

Cells are run one after the other in one process, as Jupyter does. What is printed is kept, and the
value of a cell's last line.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def read(path: Path) -> dict[str, Any]:
    """Return a notebook as JSON values."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Run all cells of code; yield each with what it shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell, _shown("".join(cell["source"]), names)


def _shown(code: str, names: dict[str, Any]) -> str:
    lines = ast.parse(code).body
    last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def shown_before(cell: dict[str, Any]) -> str:
    """Return what a cell showed when it was last kept."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def main() -> None:
    """Run all notebooks, and write down what they show."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = read(path)
        for number, (cell, shown) in enumerate(run(notebook), start=1):
            cell["execution_count"] = number
            stream = {"name": "stdout", "output_type": "stream"}
            lines = shown.splitlines(keepends=True)
            cell["outputs"] = [{**stream, "text": lines}] if lines else []
        path.write_text(
            json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
