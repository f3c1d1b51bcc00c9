"""Tables of docs/tuning.md: what searches gain, and what samples tell them."""

from __future__ import annotations

from statistics import fmean
from textwrap import fill

from scipy.stats import spearmanr

from benchmarks.recorded import DATA, markdown, paragraph, recorded

__all__ = ["BLOCKS"]

N_SHOWN = 8  # trials of the example
COLUMNS = 80  # of a terminal
EXAMPLE = ("eurlex57k", "PSP@5")
SAME = 0.05  # points that are no difference
SPOKEN_OF, ALIKE = "P@5", 0.3

Figures = dict[str, list[dict[str, float]]]


def tuned() -> str:
    """Show what a search gains on held-out and on test documents."""
    rows = []
    for found in recorded("benchmarks/results/tuned.json")["searches"]:
        held_out, test, metric = found["held_out"], found["test"], found["metric"]
        gain = held_out["tuned"] - held_out["defaults"]
        of_test = (f"{test[of][name]:.2f}" for name in (metric, "P@1") for of in test)
        changed = ", ".join(
            f"`{name}={value}`"
            for name, value in found["best"].items()
            if found["given"].get(name) != value
        )
        rows.append([found["data"], metric, f"{gain:+.2f}", *of_test, changed])
    head = ["data", "searched for", "held-out", "test, defaults", "tuned"]
    return markdown([*head, "P@1, defaults", "tuned", "what it changed"], rows)


def tuning_example() -> str:
    """Show what a search prints and what it writes."""
    record = recorded("benchmarks/results/tuned.json")
    (found,) = (of for of in record["searches"] if (of["data"], of["metric"]) == EXAMPLE)
    table, summary = found["shown"].split("\n\n", 1)
    head, *trials = table.splitlines()
    settings = " " * head.index("Settings")
    trials = [fill(trial, COLUMNS, subsequent_indent=settings) for trial in trials[:N_SHOWN]]
    shown = "\n".join([head, *trials, "...", fill(summary, COLUMNS)])
    where = f"On {record['threads']} cores ({record['processor']}) this prints, abridged:"
    toml = "\n".join(
        fill(line, COLUMNS, subsequent_indent="# ") for line in found["toml"].splitlines()
    )
    return (
        f"{where}\n\n```\n{shown}\nmodels/eurlex.toml has the best settings.\n```\n\n"
        f"`models/eurlex.toml` then contains:\n\n```toml\n{toml}\n```"
    )


def samples() -> str:
    """Show how well samples put settings into the order that all documents put them into."""
    rows = []
    for data in DATA:
        figures: Figures = recorded(f"benchmarks/results/samples-{data}.json")["figures"]
        whole = figures.pop("1")
        for parts, of_sample in figures.items():
            cells = [
                f"{spearmanr(_of(of_sample, name), _of(whole, name)).statistic:.2f}"
                for name in whole[0]
            ]
            rows.append([data, f"1/{parts}", *cells])
    metrics = list(recorded(f"benchmarks/results/samples-{DATA[0]}.json")["figures"]["1"][0])
    table = markdown(["data", "sample", *metrics], rows)
    return f"{table}\n\n{paragraph(f'{_how_settings_differ()} {_what_halving_needs()}')}"


def _how_settings_differ() -> str:
    said = []
    for data in DATA:
        whole = recorded(f"benchmarks/results/samples-{data}.json")["figures"]["1"]
        scores = _of(whole, SPOKEN_OF)
        n_alike = sum(max(scores) - score < ALIKE for score in scores)
        said.append(
            f"by {max(scores) - min(scores):.1f} points on {data}, where {n_alike} of the "
            f"{len(scores)} are within {ALIKE} points of the best"
        )
    return f"Trained on all documents, the settings differ in {SPOKEN_OF} {'; and '.join(said)}."


def _what_halving_needs() -> str:
    lost_by_half, lost_by_first = [], []
    for data in DATA:
        figures: Figures = recorded(f"benchmarks/results/samples-{data}.json")["figures"]
        whole = figures.pop("1")
        for of_sample in figures.values():
            for name in whole[0]:
                scores = _of(of_sample, name)
                best_first = sorted(range(len(scores)), key=lambda i: -scores[i])
                truth = [whole[i][name] for i in best_first]
                lost_by_first.append(max(truth) - truth[0])
                lost_by_half.append(max(truth) - max(truth[: len(truth) // 2]))
    n_cases = len(lost_by_first)
    n_kept = sum(lost < SAME for lost in lost_by_half)
    n_first = sum(lost < SAME for lost in lost_by_first)
    return (
        f"In {n_kept} of the {n_cases} cases the better half on the sample includes a setting "
        f"that is within {SAME} points of the best one on all documents (the most that is lost is "
        f"{max(lost_by_half):.2f} points), which is all that halving needs. The first on the "
        f"sample is that good in {n_first} cases; it is {max(lost_by_first):.1f} points worse "
        f"at most, and {fmean(lost_by_first):.2f} on average."
    )


def _of(trials: list[dict[str, float]], metric: str) -> list[float]:
    return [trial[metric] for trial in trials]


BLOCKS = {"tuned-by-search": tuned, "tuning-example": tuning_example, "samples": samples}
