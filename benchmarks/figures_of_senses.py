"""Tables of senses, true and found, of docs/does-it-hold.md and docs/senses.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.figures_of_experiments import mean, results
from benchmarks.recorded import DATA, markdown, paragraph, recorded
from polyseme.experiments.cells import Results
from polyseme.experiments.statistics import compare_seeds
from polyseme.experiments.true_senses import FUSIONS, percents_by_senses, reliability_of

PAIRS = "random pairs"
OTHER_FUSIONS = [title for title in FUSIONS if title != PAIRS]
NAMING_HEAD = ("NMI", "purity", "right sense")
FRESH_SEED = 2  # had not been run with earlier rules
AIMED_AT = {  # NMI, purity, right sense; AUC
    "tibkat-core": ("0.70", "0.92", "0.88", "0.88"),
    "eurlex57k": ("0.62", "0.92", "0.85", "0.75"),
}


def with_margin(found: Results, method: str, figure: str) -> str:
    """Return a mean with half of its 95% interval over seeds."""
    values = found.values(method, figure)
    of = compare_seeds(values, np.zeros_like(values))
    return f"{of.difference:.3f} ± {of.margin:.3f}"


def for_each_data_set(table: Callable[[str, Results], str]) -> str:
    """Return the tables of both data sets, one below the other."""
    return "\n\n".join(table(data, results("true-senses", data)) for data in DATA)


def naming() -> str:
    """Who names the right part of labels that were fused at random."""
    answers = {
        "always the larger part": "whole",
        "slots": "slots",
        "**senses, every label**": "split",
        "senses, shown": "shown",
        "true parts, same naming": "parts",
    }
    figures = ("NMI", "purity", "right", "right_by_documents")

    def table(data: str, found: Results) -> str:
        rows = [
            [
                title,
                *(
                    "0"
                    if (answer, figure) == ("whole", "NMI")
                    else with_margin(found, PAIRS, f"{answer}_{figure}")
                    for figure in figures
                ),
            ]
            for title, answer in answers.items()
        ]
        fresh = found.figures(PAIRS)[FRESH_SEED]
        alone = (f"{fresh[f'split_{figure}']:.3f}" for figure in figures)
        rows.insert(3, [f"the same, seed {FRESH_SEED} alone", *alone])
        by_chance = (f"{mean(found, PAIRS, f'split_{of}_by_chance'):.3f}" for of in figures[:3])
        rows.append(["senses dealt out at random", *by_chance, ""])
        rows.append(["aimed at", *(f"at least {aim}" for aim in AIMED_AT[data][:3]), ""])
        return markdown([f"{data}, {PAIRS}", *NAMING_HEAD, "right, of all pairs"], rows)

    return for_each_data_set(table)


def naming_of_other_fusions() -> str:
    """Show the same where parts are related, several or rare."""

    def table(data: str, found: Results) -> str:
        rows = [
            [
                title,
                *(with_margin(found, title, f"split_{of}") for of in ("NMI", "purity", "right")),
                *(f"{mean(found, title, f'{of}_right'):.3f}" for of in ("whole", "parts")),
                with_margin(found, title, "shown_right"),
            ]
            for title in OTHER_FUSIONS
        ]
        head = [f"{data}, senses of every label", *NAMING_HEAD]
        return markdown([*head, "larger part", "true parts", "shown: right"], rows)

    return for_each_data_set(table)


def ambiguity() -> str:
    """Whether fused labels are told from others."""

    def table(data: str, found: Results) -> str:
        rows = []
        for title in FUSIONS:
            of = {
                figure: mean(found, title, figure)
                for figure in ("AUC_by_size", "AUC_by_slots", "Brier", "Brier_of_constant")
            }
            recall = mean(found, title, "recall")
            precision = mean(found, title, "precision")
            rows.append(
                [
                    title,
                    with_margin(found, title, "AUC"),
                    f"{of['AUC_by_size']:.2f}",
                    f"{of['AUC_by_slots']:.2f}",
                    with_margin(found, title, "calibration_error"),
                    f"{of['Brier']:.3f} ({of['Brier_of_constant']:.3f})",
                    # With next to nothing shown there is no precision to speak of.
                    f"{precision:.2f}" if recall >= 0.005 else "–",
                    f"{recall:.2f}",
                ]
            )
        rows.append([f"*{PAIRS}, aimed at*", f"at least {AIMED_AT[data][3]}", *[""] * 6])
        head = (data, "AUC", "by size", "by slots", "calibration error", "Brier (constant)")
        return markdown([*head, "precision", "recall"], rows)

    return for_each_data_set(table)


def reliability() -> str:
    """Shares of fused labels by probability, in fifths."""
    titles = {"random": PAIRS, "medium": "medium pairs"}
    columns = []
    for data in DATA:
        for title in titles.values():
            n, _, share = reliability_of(results("true-senses", data), title).T.reshape(3, 5, 2)
            n_fused = (n * share).sum(axis=1)
            columns.append(
                [
                    f"{100 * fused / all_:.0f} ({all_:,.0f})" if all_ else ""
                    for fused, all_ in zip(n_fused, n.sum(axis=1), strict=True)
                ]
            )
    rows = [
        [f"{place / 5:.1f} to {(place + 1) / 5:.1f}", *cells]
        for place, cells in enumerate(zip(*columns, strict=True))
    ]
    heads = (f"{data}, {title}" for data in DATA for title in titles)
    return markdown(["probability: share of fused labels, % (labels)", *heads], rows)


def numbers() -> str:
    """How many senses are found in labels of two, three and five parts."""
    asked = {
        "not fused, beside pairs: shown": (PAIRS, "unfused"),
        "2 parts: shown": (PAIRS, "shown"),
        "3 parts: shown": ("random, 3 parts", "shown"),
        "5 parts: shown": ("random, 5 parts", "shown"),
        "2 parts: every split": (PAIRS, "split"),
        "3 parts: every split": ("random, 3 parts", "split"),
        "5 parts: every split": ("random, 5 parts", "split"),
    }
    rows = []
    for called, (title, which) in asked.items():
        found = (percents_by_senses(results("true-senses", data), title, which) for data in DATA)
        rows.append([called, *(" / ".join(f"{percent:.0f}" for percent in of) for of in found)])
    return markdown(["labels with 1 / 2 / 3 / 4 / 5 senses, %", *DATA], rows)


def summary() -> str:
    """Show what stands in the other tables, in short."""
    medium, rare = "medium pairs", "pairs of rare labels"
    asked = {
        "NMI of senses and parts (1 is best)": (PAIRS, "split_NMI"),
        "NMI of slots and parts": (PAIRS, "slots_NMI"),
        "the right sense is named, mean over labels": (PAIRS, "split_right"),
        "always naming the larger part, mean over labels": (PAIRS, "whole_right"),
        "the right sense is named, over all documents": (PAIRS, "split_right_by_documents"),
        "always naming the larger part, over all documents": (PAIRS, "whole_right_by_documents"),
        "related labels (medium): the right sense is named": (medium, "split_right"),
        "related labels (medium): always naming the larger part": (medium, "whole_right"),
        "AUC of the probability, fused against other labels": (PAIRS, "AUC"),
        "fused labels that are shown": (PAIRS, "recall"),
        "related labels (medium) that are shown": (medium, "recall"),
        "labels with 3 to 10 documents per part that are shown": (rare, "recall"),
    }
    rows = [
        [called, *(f"{mean(results('true-senses', data), *of):.2f}" for data in DATA)]
        for called, of in asked.items()
    ]
    return markdown(["", *DATA], rows)


def judged(data: str) -> str:
    """Show the most ambiguous labels of a vocabulary, and what a reader made of each."""
    found = recorded(f"benchmarks/results/ambiguous-{data}.json")[0]
    rows = []
    for one, judgement in _with_judgements(data):
        called = judgement.get("senses", {})
        senses = "; ".join(
            f"{of['share']:.0%} {called.get(of['name'], of['name'])}" for of in one["senses"]
        )
        said = ": ".join(judgement[part] for part in ("verdict", "because") if part in judgement)
        rows.append(
            [f"{one['ambiguity']:.0%}", judgement.get("called", one["name"]), senses, said]
        )
    n_of = Counter(judgement["verdict"] for _, judgement in _with_judgements(data))
    said = (
        f"{found['n_ambiguous']} of the {found['n_judged']:,} labels that were judged have 50% or "
        f"more. Of the {len(rows)} below, a reader says **clearly** of {n_of['clearly']}, "
        f"**arguably** of {n_of['arguably']}, and **no** of {n_of['no']}."
    )
    table = markdown(["", "label", "senses", "several meanings?"], rows)
    return f"{paragraph(said)}\n\n{table}"


def judged_in_short() -> str:
    """Show how many a reader agrees with, and whether other seeds find the same."""
    both = [pair for data in DATA for pair in _with_judgements(data)]
    n_of = Counter(judgement["verdict"] for _, judgement in both)
    clear = [one["ambiguity"] for one, judgement in both if judgement["verdict"] == "clearly"]
    said = (
        f"Of all {len(both)}, a reader agrees with {n_of['clearly']} at once and with "
        f"{n_of['arguably']} more after thought. The probability did not tell these from the "
        f"others: those with clear meanings have {min(clear):.0%} to {max(clear):.0%}."
    )
    rows = []
    for data in DATA:
        first, *others = recorded(f"benchmarks/results/ambiguous-{data}.json")
        own = {one["label"] for one in first["labels"]}
        same = (str(len(own & {one["label"] for one in of["labels"]})) for of in others)
        shown = (str(of["n_ambiguous"]) for of in (first, *others))
        rows.append([data, ", ".join(same), ", ".join(shown)])
    n = len(others)
    head = [
        "",
        f"of these {len(own)} labels, found with seed 1, 2, ... {n}",
        f"labels with 50% or more, with seed 0, 1, ... {n}",
    ]
    return f"{paragraph(said)}\n\n{markdown(head, rows)}"


def _with_judgements(data: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the labels that were found with seed 0, each with what a reader made of it."""
    judgements = recorded(f"benchmarks/judgements/{data}.json")
    found = recorded(f"benchmarks/results/ambiguous-{data}.json")[0]["labels"]
    missing = [one["name"] for one in found if one["name"] not in judgements]
    if missing:
        raise ValueError(f"nobody has judged {', '.join(missing)} of {data} yet; read its senses")
    return [(one, judgements[one["name"]]) for one in found]


BLOCKS: dict[str, Callable[[], str]] = {
    **{f"judged-{data}": partial(judged, data) for data in DATA},
    "judged-in-short": judged_in_short,
    **{
        f"senses-{block.__name__.replace('_', '-')}": block
        for block in (naming, naming_of_other_fusions, ambiguity, reliability, numbers, summary)
    },
}
