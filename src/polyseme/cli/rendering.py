"""How the senses of a label look, shared by ``senses`` and ``demo``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from polyseme.inputs.excerpts import excerpt
from polyseme.senses.describe import Sense

__all__ = ["print_senses"]

PANEL_WIDTH = 39  # two side by side on 80 columns
EXCERPT = 70
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def print_senses(
    out: Console,
    label: str,
    senses: Sequence[Sense],
    *,
    differ: bool = True,
    titles: Sequence[str] | None = None,
) -> None:
    """Print the senses of a label: panels side by side on a terminal, plain lines elsewhere.

    Parameters
    ----------
    differ : bool
        Whether to call them senses; else a line says that they are slots of one sense.
    titles : sequence of str, optional
        What to call each sense; by default they are numbered.
    """
    if titles is None:
        noun = "sense" if differ or len(senses) == 1 else "slot"
        titles = [f"{noun} {number}" for number in range(1, len(senses) + 1)]
    bodies = [_body(sense) for sense in senses]
    if not differ and len(senses) > 1:
        n = NUMBERS.get(len(senses), str(len(senses)))
        out.print(
            f"The words of these {n} slots hardly differ: by them, the label is in {n} clusters, "
            f"not in {n} senses.\n",
            soft_wrap=True,
        )
    if not out.is_terminal:
        for title, body in zip(titles, bodies, strict=True):
            out.print(Text(f"{label}, {title}"))
            out.print(body, soft_wrap=True)
            out.print()
        return
    panels = [
        Panel(body, title=Text(f"{label}: {title}", style="bold"), width=PANEL_WIDTH)
        for title, body in zip(titles, bodies, strict=True)
    ]
    out.print(Columns(panels, padding=(0, 1)))


def _body(sense: Sense) -> Text:
    parts = {
        "words": _listed([name for name, _ in sense.strongest]),
        "beside": _listed(sense.neighbours),
        "reached": f"by {sense.share:.0%} of its documents, in cluster {sense.cluster}",
    }
    if sense.documents:
        parts["rows"] = _listed(sense.documents)
    if sense.examples:
        parts["such as"] = excerpt(sense.examples[0], EXCERPT)
    return Text("\n").join(
        Text.assemble((f"{name}: ", "dim"), value) for name, value in parts.items()
    )


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names)) or "none"
