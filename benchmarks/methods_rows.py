"""The rows of the table of methods: which there are, and which peer each is held against."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import polyseme
from benchmarks.systems import SYSTEMS
from benchmarks.systems.of_methods import METHOD_SYSTEMS, METHODS, PART

PLAIN, COPIES, DEFAULTS, PEER = "plain", "copies=2", "defaults", "peer"
N_OF_PART = sum(PART.values())


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name : str
        Of the system, and of the row in the file.
    family : str
        What it is compared within.
    variant : str
        'plain', 'copies=2', 'defaults' or 'peer'.
    title : str
        What the table calls it.
    """

    name: str
    family: str
    variant: str
    title: str

    @property
    def system(self) -> tuple[str, str, dict[str, Any], str]:
        """Module, class, settings and package; see `benchmarks.systems`."""
        return {**SYSTEMS, **METHOD_SYSTEMS}[self.name]

    @property
    def part(self) -> dict[str, int] | None:
        """Which labels are learned; None for all."""
        found: dict[str, int] | None = self.system[2].get("part")
        return found

    @property
    def is_available(self) -> bool:
        """Whether polyseme has the method, and copies where they are asked for."""
        if self.variant == PEER:
            return True
        found = getattr(polyseme, METHODS[self.family][0], None)
        return found is not None and (
            self.variant != COPIES or "copies" in inspect.signature(found).parameters
        )

    def is_for(self, data_name: str) -> bool:
        """Tell whether it belongs to the table of a data set."""
        return self.family not in ONLY_ON or data_name == ONLY_ON[self.family]


# family -> what tables call the method, its peer and what they call that
FAMILIES: dict[str, tuple[str, str | None, str]] = {
    "parabel-1": ("Parabel, one tree", "omikuji-parabel", "omikuji, Parabel, one tree"),
    "parabel-3": ("Parabel, three trees", "omikuji-parabel-3", "omikuji, Parabel, three trees"),
    "bonsai-1": ("Bonsai, one tree", "omikuji-bonsai", "omikuji, Bonsai, one tree"),
    "bonsai-3": ("Bonsai, three trees", "omikuji-bonsai-3", "omikuji, Bonsai, three trees"),
    "plt": ("PLT", "napkinxc-plt", "napkinXC, PLT"),
    "xr-linear": ("XRLinear", "libpecos", "libpecos, XR-Linear"),
    "one-vs-rest": ("OneVsRest", None, ""),
    "one-vs-rest-part": (
        f"OneVsRest, {N_OF_PART} labels",
        "liblinear-part",
        f"liblinear, {N_OF_PART} labels",
    ),
    "nearest-neighbours": ("NearestNeighbours", None, ""),
    "nearest-labels": ("NearestLabels", None, ""),
}
# What liblinear needs for one label is a second and more, so it is asked on one set only.
ONLY_ON = {"one-vs-rest-part": "eurlex57k"}


def rows_of(family: str) -> list[Row]:
    """Return the rows of a method, those that cannot be had included."""
    title, peer, peer_title = FAMILIES[family]
    rows = [
        Row(family, family, PLAIN, f"{title}, plain"),
        Row(f"{family}-copies2", family, COPIES, f"{title}, copies=2"),
    ]
    if family == "xr-linear":
        rows.append(Row("xr-linear-defaults", family, DEFAULTS, f"{title}, defaults"))
    if peer is not None:
        rows.append(Row(peer, family, PEER, peer_title))
    return rows


ROWS: dict[str, Row] = {row.name: row for family in FAMILIES for row in rows_of(family)}


def chosen_rows(names: list[str] | None, data_name: str) -> list[Row]:
    """Return the rows of that name or method, all that belong to the data if none is named."""
    if names is None:
        return [row for row in ROWS.values() if row.is_available and row.is_for(data_name)]
    return [
        row
        for row in ROWS.values()
        if row.is_available and (row.name in names or row.family in names)
    ]


def peer_of(family: str) -> str | None:
    """Return the name of the row that those of a method are held against."""
    return FAMILIES[family][1]
