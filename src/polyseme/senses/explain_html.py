"""An explanation as a notebook shows it: a table, with words marked by what they count."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from polyseme.machine.printable import printable

if TYPE_CHECKING:
    from polyseme.senses.explain import Contribution, Explanation, LabelExplanation

__all__ = ["as_html"]

N_WORDS_SHOWN = 12  # for and against a label
FOR, AGAINST = "46, 125, 210", "210, 90, 40"  # see-through, so that they suit dark pages too


def as_html(explanation: Explanation) -> str:
    """Return a table with a row per label: how likely it is, and its words, the darkest first."""
    rows = "".join(map(_row, explanation.labels))
    if not rows:
        return "<p>No label was reached.</p>"
    head = _cells("th", ("label", "score", "words for it, and <s>against</s> it"))
    return f'<table class="dataframe"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _row(of: LabelExplanation) -> str:
    meant = "" if of.sense is None else f"<br><small>{_text(of.sense.name)}</small>"
    score = "not reached" if of.score is None else f"{of.score:.3f}"
    margin = of.slots[0].margin if of.slots else None
    found = [] if margin is None else margin.contributions[:N_WORDS_SHOWN]
    most = max((abs(one.amount) for one in found), default=0.0)
    words = " ".join(_marked(one, most) for one in found)
    return _cells("td", (f"{_text(of.name)}{meant}", score, words))


def _cells(kind: str, contents: tuple[str, ...]) -> str:
    cells = (f'<{kind} style="text-align: left">{content}</{kind}>' for content in contents)
    return f"<tr>{''.join(cells)}</tr>"


def _marked(word: Contribution, most: float) -> str:
    is_for = word.amount >= 0
    strength = 0.1 + 0.4 * abs(word.amount) / most if most else 0.1
    style = (
        f"background: rgba({FOR if is_for else AGAINST}, {strength:.2f}); border-radius: 0.3em; "
        "padding: 0 0.3em; white-space: nowrap"
    )
    name = _text(word.name) if is_for else f"<s>{_text(word.name)}</s>"
    return f'<span style="{style}" title="{word.amount:+.2f}">{name}</span>'


def _text(name: str | int) -> str:
    return escape(printable(str(name)))
