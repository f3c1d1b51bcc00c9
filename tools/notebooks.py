"""Run the notebooks of the docs and keep what they show: ``python -m tools.notebooks``.

Cells are run one after the other in one process, as Jupyter does. What is printed is kept, and the
value of a cell's last line, as HTML too where it has that.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


class Shown(NamedTuple):
    """What a cell prints, and the value of its last line: as text, and as HTML if it has that."""

    printed: str = ""
    value: str = ""
    html: str = ""

    def outputs(self, number: int) -> list[dict[str, Any]]:
        """Return this as a notebook keeps it."""
        kept: list[dict[str, Any]] = []
        if self.printed:
            kept.append({"name": "stdout", "output_type": "stream", "text": _lines(self.printed)})
        if self.value:
            data = {"text/html": _lines(self.html)} if self.html else {}
            data["text/plain"] = _lines(self.value)
            result = {"execution_count": number, "metadata": {}, "output_type": "execute_result"}
            kept.append({"data": data, **result})
        return kept


def read(path: Path) -> dict[str, Any]:
    """Return a notebook as JSON values."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Shown]]:
    """Run all cells of code; yield each with what it shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell, _shown("".join(cell["source"]), names)


def _shown(code: str, names: dict[str, Any]) -> Shown:
    lines = ast.parse(code).body
    last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if value is None:
        return Shown(printed.getvalue())
    as_html = getattr(value, "_repr_html_", None)
    return Shown(printed.getvalue(), repr(value), as_html() if as_html else "")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def shown_before(cell: dict[str, Any]) -> Shown:
    """Return what a cell showed when it was last kept."""
    printed, value, html = "", "", ""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            printed = "".join(output["text"])
        else:
            value = "".join(output["data"]["text/plain"])
            html = "".join(output["data"].get("text/html", ()))
    return Shown(printed, value, html)


def main() -> None:
    """Run all notebooks, and write down what they show."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = read(path)
        for number, (cell, shown) in enumerate(run(notebook), start=1):
            cell["execution_count"] = number
            cell["outputs"] = shown.outputs(number)
        path.write_text(
            json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
