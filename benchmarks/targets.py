"""What polyseme wants to reach against libpecos in one run, and what it reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PLAIN, COPIES = "polyseme", "polyseme-copies2"
PEER, PEER_COPIES = "libpecos", "libpecos-copies2"


@dataclass(frozen=True)
class Target:
    """`numerator / denominator` of one measure shall be at least `wanted` (at most, if said)."""

    what: str
    numerator: tuple[str, str]
    denominator: tuple[str, str]
    wanted: float
    at_most: bool = False


def targets(data_name: str) -> list[Target]:
    """List the targets; training with copies differs between the two public sets."""
    copies_speed = 2.5 if data_name == "tibkat-core" else 2.0

    def faster(what: str, measure: str, ours: str, theirs: str, wanted: float) -> Target:
        return Target(what, (theirs, measure), (ours, measure), wanted)

    def at_most(what: str, measure: str, ours: str, theirs: str, wanted: float) -> Target:
        return Target(what, (ours, measure), (theirs, measure), wanted, at_most=True)

    return [
        faster("training, plain", "train_s", PLAIN, PEER, 8),
        faster("training, 2 copies, against plain", "train_s", COPIES, PEER, copies_speed),
        faster("training, 2 copies, against reference way", "train_s", COPIES, PEER_COPIES, 12),
        faster("batch prediction, plain", "batch_us", PLAIN, PEER, 5),
        at_most("batch prediction, 2 copies / own plain", "batch_us", COPIES, PLAIN, 1.6),
        faster("one at a time, 2 copies, p50", "one_p50_us", COPIES, PEER, 15),
        Target(
            "one at a time, 2 copies, p99 / p50",
            (COPIES, "one_p99_us"),
            (COPIES, "one_p50_us"),
            3,
            at_most=True,
        ),
        at_most("peak memory of training, plain", "train_peak_mib", PLAIN, PEER, 0.5),
        at_most("model on disk, plain", "disk_mb", PLAIN, PEER, 0.5),
    ]


def compare_with_targets(data_name: str, medians: dict[str, Any]) -> list[str]:
    """One line a target whose systems were measured."""
    lines = []
    for target in targets(data_name):
        pairs = (target.numerator, target.denominator)
        if any(system not in medians for system, _ in pairs):
            continue
        above, below = (medians[system][measure] for system, measure in pairs)
        got = above / below
        reached = got <= target.wanted if target.at_most else got >= target.wanted
        bound = "at most" if target.at_most else "at least"
        verdict = "reached" if reached else "NOT reached"
        lines.append(f"{target.what:<43}{got:6.2f}x  {bound} {target.wanted:g}x  {verdict}")
    return ["", "targets", *lines] if lines else []
