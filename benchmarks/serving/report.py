"""The figures as a table in Markdown."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.serving.models import SERVED

MEASURES = ("per_second", "p50_ms", "p99_ms")
Runs = dict[str, dict[str, list[dict[str, Any]]]]  # by name of what is served, then by clients


def medians_of(runs: Runs) -> dict[str, dict[str, dict[str, float]]]:
    """Return the median of each measure over the rounds."""
    return {
        name: {
            clients: {key: median(run[key] for run in rounds) for key in MEASURES}
            for clients, rounds in by_clients.items()
        }
        for name, by_clients in runs.items()
    }


def table(runs: Runs) -> str:
    """One row for each that is served; three columns for each number of clients."""
    medians = medians_of(runs)
    clients = list(next(iter(medians.values())))
    heads = [
        f"{n} client{'' if n == '1' else 's'}: {first} | p50 ms | p99 ms"
        for n, first in zip(clients, ["requests/s", *["/s"] * len(clients)], strict=False)
    ]
    lines = [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * 3 * len(clients)}"]
    for name, of_name in medians.items():
        cells = [
            f"{of_name[n]['per_second']:,.0f} | {of_name[n]['p50_ms']:.1f} "
            f"| {of_name[n]['p99_ms']:.1f}"
            for n in clients
        ]
        lines.append(f"| {SERVED[name].title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def errors_of(runs: Runs) -> list[str]:
    """Say where a request failed."""
    return [
        f"{SERVED[name].title}, {clients} clients: {run['errors']}"
        for name, by_clients in runs.items()
        for clients, rounds in by_clients.items()
        for run in rounds
        if run["n_errors"]
    ]


def soak_summary(result: dict[str, Any]) -> str:
    """Say how a soak went."""
    n_unexpected = sum(result["unexpected"].values())
    return (
        f"soak: {result['n_requests']:,} requests of {result['n_clients']} clients in "
        f"{result['seconds']:.0f} s, {n_unexpected} not answered as expected; memory "
        f"{result['first_quarter_mib']:.1f} MiB in the first quarter, "
        f"{result['last_quarter_mib']:.1f} in the last"
    )
