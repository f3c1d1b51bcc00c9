"""How the senses of labels look, shared by ``senses``, ``train`` and ``demo``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from polyseme.cli.shared import plain_table
from polyseme.inputs.excerpts import excerpt
from polyseme.machine.quantities import counted
from polyseme.senses.describe import AmbiguousLabel, Sense

__all__ = ["ambiguous_table", "print_only_meaning", "print_senses", "spoken_share"]

PANEL_WIDTH = 39  # two side by side on 80 columns
EXCERPT = 70


def print_senses(
    out: Console, label: str, senses: Sequence[Sense], *, truths: Sequence[str] | None = None
) -> None:
    """Print the senses of a label: panels side by side on a terminal, plain lines elsewhere.

    Parameters
    ----------
    truths : sequence of str, optional
        What each of them truly is, where that is known.
    """
    truths = truths or [""] * len(senses)
    titles = [sense.name for sense in senses]
    bodies = [_body(sense, truth) for sense, truth in zip(senses, truths, strict=True)]
    if not out.is_terminal:
        for title, body in zip(titles, bodies, strict=True):
            out.print(Text(f"{label}: {title}"), soft_wrap=True)
            out.print(body, soft_wrap=True)
            out.print()
        return
    panels = [
        Panel(body, title=Text(title, style="bold"), width=PANEL_WIDTH)
        for title, body in zip(titles, bodies, strict=True)
    ]
    out.print(Columns(panels, padding=(0, 1)))


def print_only_meaning(out: Console, meaning: Sense) -> None:
    """Print what goes with a label that has one meaning."""
    out.print(_lines(_what_goes_with(meaning)), soft_wrap=True)


def ambiguous_table(found: Sequence[AmbiguousLabel]) -> Table:
    """Lay out labels with the names of their senses, a line each."""
    rows = [(one.name, spoken_share(one.ambiguity), "\n".join(one.senses)) for one in found]
    return plain_table(("Most ambiguous labels", "Probability", "Senses"), rows, numbers=[1])


def spoken_share(share: float) -> str:
    """Return a probability in percent, never one that claims to be sure."""
    if share >= 0.995:
        return "over 99%"
    return "under 1%" if share < 0.005 else f"{share:.0%}"


def _body(sense: Sense, truth: str) -> Text:
    share = {"share": f"{sense.share:.0%}, {counted(sense.n_documents, 'document')}"}
    return _lines(({"truth": truth} if truth else {}) | share | _what_goes_with(sense))


def _what_goes_with(sense: Sense) -> dict[str, str]:
    listed: dict[str, Sequence[object]] = {
        "labels": [name for name, _ in sense.labels],
        "words": [name for name, _ in sense.words],
        "rows": sense.documents,
    }
    parts = {name: ", ".join(map(str, found)) for name, found in listed.items() if found}
    if sense.examples:
        parts["such as"] = excerpt(sense.examples[0], EXCERPT)
    return parts


def _lines(parts: dict[str, str]) -> Text:
    return Text("\n").join(
        Text.assemble((f"{name}: ", "dim"), value) for name, value in parts.items()
    )
