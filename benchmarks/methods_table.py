"""The tables of methods as Markdown, from recorded results alone."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.methods_rows import COPIES, FAMILIES, PEER, PLAIN, ROWS, Row, peer_of, rows_of
from benchmarks.systems.of_methods import PART

BEGIN, END = "<!-- table of methods: begin -->", "<!-- table of methods: end -->"

# measure -> heading, format
COLUMNS = {
    **{
        f"{measure}@{k}": (f"{measure}@{k}", "{:.2f}")
        for measure in ("P", "PSP")
        for k in (1, 3, 5)
    },
    "train_s": ("train s", "{:.1f}"),
    "one_p50_us": ("p50 us", "{:.0f}"),
    "disk_mb": ("disk MB", "{:.1f}"),
}
FASTER = {"train_s": "training", "one_p50_us": "prediction"}
AIMS = {"train_s": 5, "one_p50_us": 10}  # times as fast as the peer
COSTS = {"train_s": "train", "one_p50_us": "p50", "disk_mb": "disk"}
GAINS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")
# Another seed moves P@5 by up to 0.15.
LEAST_GAIN = 0.15
WIDTH = 110


def tables(results: dict[str, Any]) -> str:
    """Return all that is said of one data set."""
    rows = results["rows"]
    shown = [row for row in ROWS.values() if row.name in rows]
    parts = [
        heading(results),
        figures(rows, shown),
        aims(rows, shown),
        what_copies_do(rows),
        *_notes(results, shown),
    ]
    return "\n\n".join(part for part in parts if part)


def heading(results: dict[str, Any]) -> str:
    """Say what was measured, where, and by which command."""
    data, rows = results["data"], list(results["rows"].values())
    machines = sorted({row["machine"]["processor"] for row in rows})
    threads = sorted({str(row["threads"]) for row in rows})
    seeds = sorted({str(row["seed"]) for row in rows})
    n_rounds = sorted({len(row["runs"]) for row in rows})
    rounds = " or ".join(str(n) for n in n_rounds)
    said = (
        f"{data['n_documents']:,} documents, {data['n_labels']:,} labels, "
        f"{data['n_features']:,} features; {' or '.join(threads)} threads, seed "
        f"{' or '.join(seeds)}, medians of {rounds} round{'s' * (n_rounds != [1])}, on "
        f"{' and '.join(machines)}. The last columns say how many times as fast as the peer "
        "each row is, where one run measured both: in training, and in prediction of one document "
        "at a time."
    )
    return f"### {data['name']}\n\n{wrapped(said)}"


def figures(rows: dict[str, Any], shown: list[Row]) -> str:
    """One line a system; what does not apply is empty."""
    lines = [
        [
            "",
            *(title for title, _ in COLUMNS.values()),
            *(f"{what}, x" for what in FASTER.values()),
        ]
    ]
    for row in shown:
        found = rows[row.name]["medians"]
        cells = [_cell(found, key, form) for key, (_, form) in COLUMNS.items()]
        times = [_times(rows, row, key) for key in FASTER]
        lines.append([row.title, *cells, *(f"{t:.1f}" if t else "" for t in times)])
    return markdown(lines)


def aims(rows: dict[str, Any], shown: list[Row]) -> str:
    """Say which plain methods are as many times as fast as their peer as was aimed at."""
    sentences = []
    for key, wanted in AIMS.items():
        ratios = {
            FAMILIES[row.family][0]: times
            for row in shown
            if row.variant == PLAIN and (times := _times(rows, row, key))
        }
        missed = [f"{title} ({times:.1f})" for title, times in ratios.items() if times < wanted]
        if ratios:
            said = f"all but {', '.join(missed)}" if missed else "all"
            if len(missed) == len(ratios):
                said = f"none: {', '.join(missed)}"
            sentences.append(
                f"At least {wanted} times as fast as the peer in {FASTER[key]}: {said}."
            )
    return wrapped(f"Of the plain ones. {' '.join(sentences)}") if sentences else ""


def what_copies_do(rows: dict[str, Any]) -> str:
    """Compare two copies with one, method by method: points gained, and times the cost."""
    lines = [
        ["copies=2 against plain", *GAINS, *(f"{c}, x" for c in COSTS.values()), "do they help?"]
    ]
    for family, (title, _, _) in FAMILIES.items():
        of_variant = {row.variant: rows[row.name] for row in rows_of(family) if row.name in rows}
        if not {PLAIN, COPIES} <= set(of_variant):
            continue
        plain, copies = of_variant[PLAIN]["medians"], of_variant[COPIES]["medians"]
        gains = [f"{copies[key] - plain[key]:+.2f}" for key in GAINS]
        in_one_run = of_variant[PLAIN]["run"] == of_variant[COPIES]["run"]
        costs = [
            f"{copies[key] / plain[key]:.2f}" if in_one_run or key == "disk_mb" else ""
            for key in COSTS
        ]
        lines.append([title, *gains, *costs, _verdict(copies["P@5"] - plain["P@5"])])
    if len(lines) == 1:
        return ""
    note = (
        f"They help where P@5 is higher by more than {LEAST_GAIN:g}, by which other seeds move "
        f"it, and do not where it is lower by more."
    )
    return f"{markdown(lines)}\n\n{wrapped(note)}"


def _verdict(gain: float) -> str:
    return "yes" if gain > LEAST_GAIN else "no" if gain < -LEAST_GAIN else "hardly"


def _notes(results: dict[str, Any], shown: list[Row]) -> list[str]:
    notes = []
    if any(row.part for row in shown):
        notes.append(
            f"Rows of {sum(PART.values())} labels know only these, the {PART['frequent']} most "
            f"frequent and {PART['rare']} rare ones by chance; figures count within them."
        )
    for name, why in results["failures"].items():
        notes.append(f"{ROWS[name].title if name in ROWS else name} failed: {why}.")
    return [wrapped(note) for note in notes]


def _cell(found: dict[str, Any], key: str, form: str) -> str:
    return form.format(found[key]) if key in found else ""


def _times(rows: dict[str, Any], row: Row, key: str) -> float | None:
    """Return how many times as fast as its peer a row is, if both were measured in one run."""
    peer = peer_of(row.family)
    if row.variant == PEER or peer not in rows or rows[peer]["run"] != rows[row.name]["run"]:
        return None
    return float(rows[peer]["medians"][key] / rows[row.name]["medians"][key])


def wrapped(text: str) -> str:
    """Return a paragraph in lines as long as those of the docs."""
    return "\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def markdown(lines: list[list[str]]) -> str:
    """Return a table; the first line is its heading."""
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(
        "| " + "".join(f"{cell} | " if cell else "| " for cell in line)[:-1] for line in ruled
    )


def write_between_markers(page: Path, text: str) -> None:
    """Put a text in the place of what stands between the markers of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} lacks the markers {BEGIN} and {END}; add them where tables go")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
