"""Charts as SVG, drawn by hand: colours are left to the style of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Point", "grouped_bars", "unit_square"]

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 50
TICKS = (0, 0.25, 0.5, 0.75, 1)


class Point(NamedTuple):
    """A point of the unit square, its radius, and what is said of it."""

    x: float
    y: float
    radius: float
    said: str


def grouped_bars(
    groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], caption: str
) -> str:
    """Draw percentages as bars, side by side for each group.

    Parameters
    ----------
    groups : sequence of str
        What is below the bars.
    series : sequence of (str, sequence of float)
        What each kind of bar is called, and its height in each group, from 0 to 100.
    """
    across = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = min(34.0, across * 0.8 / max(1, len(series)))
    parts = [*_axes("", "percent", x_ticks=False)]
    for i, group in enumerate(groups):
        middle = LEFT + across * (i + 0.5)
        for j, (name, heights) in enumerate(series):
            x, y = middle + wide * (j - len(series) / 2), _y(heights[i] / 100)
            parts.append(
                f'<rect class="series-{j}" x="{x + 1:.1f}" y="{y:.1f}" width="{wide - 2:.1f}" '
                f'height="{_y(0) - y:.1f}" rx="2">'
                f"<title>{escape(f'{group}: {name} {heights[i]:.1f}%')}</title></rect>"
            )
        parts.append(_text(middle, HEIGHT - BOTTOM + 18, group, "tick middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, caption, "axis middle"))
    return _svg(parts, caption)


def unit_square(
    x_name: str,
    y_name: str,
    *,
    line: Iterable[tuple[float, float]] = (),
    points: Iterable[Point] = (),
    diagonal: bool = False,
) -> str:
    """Draw a line, points, or both, where both axes go from 0 to 1."""
    parts = [*_axes(x_name, y_name)]
    if diagonal:
        ends = f'x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"'
        parts.append(f'<line class="guide" {ends}/>')
    places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in line)
    if places:
        parts.append(f'<polyline class="line" points="{places}"/>')
    for x, y, radius, said in points:
        parts.append(
            f'<circle class="point" cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="{radius:.1f}">'
            f"<title>{escape(said)}</title></circle>"
        )
    return _svg(parts, f"{y_name} by {x_name}")


def _axes(x_name: str, y_name: str, *, x_ticks: bool = True) -> Iterator[str]:
    for tick in TICKS:
        y = _y(tick)
        yield f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
        yield _text(LEFT - 8, y + 4, f"{100 * tick:.0f}", "tick end")
        if x_ticks:
            yield _text(_x(tick), HEIGHT - BOTTOM + 18, f"{100 * tick:.0f}", "tick middle")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_name, "axis middle")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    yield f'<text class="axis middle" x="14" y="{middle}" {turned}>{escape(y_name)}</text>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(parts: Iterable[str], name: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">'
        f"{''.join(parts)}</svg>"
    )
