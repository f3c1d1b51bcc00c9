"""The results as text."""

from __future__ import annotations

from typing import Any

from benchmarks.systems import REFERENCE
from benchmarks.targets import compare_with_targets

# measure -> heading, format; all but P@k are better when small
COLUMNS = {
    "train_s": ("train s", "{:.2f}"),
    "train_peak_mib": ("mem MiB", "{:.0f}"),
    "disk_mb": ("disk MB", "{:.1f}"),
    "load_s": ("load s", "{:.3f}"),
    "first_s": ("first s", "{:.2f}"),
    "batch_us": ("batch us", "{:.1f}"),
    "one_p50_us": ("p50 us", "{:.0f}"),
    "one_p99_us": ("p99 us", "{:.0f}"),
}
ACCURACY = ("P@1", "P@3", "P@5")


def report(results: dict[str, Any]) -> str:
    """All tables, at most 100 columns wide."""
    data, settings, machine = results["data"], results["settings"], results["machine"]
    head = [
        "",
        f"{data['name']}: {data['n_documents']:,} documents, {data['n_labels']:,} labels, "
        f"{data['n_features']:,} features; {settings['threads']} threads, "
        f"medians of up to {settings['repeats']}",
        f"{machine['processor']}, {machine['n_cores']} cores",
    ]
    medians = results["medians"]
    parts = [*head, "", *figures(medians), *ratios(medians), *phases(medians)]
    if data["is_whole"]:
        parts += compare_with_targets(data["name"], medians)
    else:
        parts += ["", "Only a part of the documents: good to try things, not to compare systems."]
    parts += [f"{name} failed: {why}" for name, why in results["failures"].items()]
    if results["kept"]:
        parts += ["", f"From an earlier run: {', '.join(results['kept'])}."]
    return "\n".join(parts)


def figures(medians: dict[str, Any]) -> list[str]:
    """One row a system."""
    rows = [["", *(heading for heading, _ in COLUMNS.values()), *ACCURACY]]
    for name, of_name in medians.items():
        measures = [form.format(of_name[key]) for key, (_, form) in COLUMNS.items()]
        rows.append([name, *measures, *(f"{of_name[key]:.2f}" for key in ACCURACY)])
    return table(rows)


def ratios(medians: dict[str, Any]) -> list[str]:
    """How many times better than the reference each system is; below 1 is worse."""
    if REFERENCE not in medians:
        return []
    rows = [["", *(heading.split()[0] for heading, _ in COLUMNS.values()), *ACCURACY]]
    base = medians[REFERENCE]
    for name, of_name in medians.items():
        times = [f"{base[key] / of_name[key]:.2f}x" if of_name[key] else "-" for key in COLUMNS]
        rows.append([name, *times, *(f"{of_name[key] - base[key]:+.2f}" for key in ACCURACY)])
    return ["", f"times better than {REFERENCE} (P@k: difference)", *table(rows)]


def phases(medians: dict[str, Any]) -> list[str]:
    """Where the training time goes."""
    lines = ["", "training by phase, s"]
    for name, of_name in medians.items():
        parts = (f"{phase} {seconds:.2f}" for phase, seconds in of_name["phase_s"].items())
        lines.append(f"{name:<18}{', '.join(parts)}")
    return lines


def table(rows: list[list[str]]) -> list[str]:
    """Columns as wide as they must be, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        " ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]
