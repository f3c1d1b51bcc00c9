"""``polyseme info``: what is in a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyseme.cli.report import described_senses, print_belief, print_report
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.files.model_folder import CARD, model_files
from polyseme.machine.quantities import counted
from polyseme.tagger import open_tagger

__all__ = ["info"]

STALE = (
    "Measured before {} and {} were added; `polyseme evaluate` measures the model as it is now."
)

BY_LABEL = {
    "label": "Label",
    "n_true": "Held-out documents",
    "n_suggested": "Suggested",
    "n_right": "Of these right",
}


@click.command(epilog="Example: polyseme info models/eurlex")
@path_argument("model")
@click.option(
    "--by-label",
    "with_labels",
    is_flag=True,
    help="Also show each label's figures in the held-out documents, one label per row.",
)
@common_options(threads=False)
def info(model: Path, with_labels: bool, n_threads: int | None, seed: int, as_json: bool) -> None:
    """Show what is in a model: its sizes, slots, senses and parameters."""
    tagger = open_tagger(model)
    parts = [model / name for name in (*model_files(model), CARD)]
    n_bytes = sum(part.stat().st_size for part in parts if part.exists())
    about, seconds = tagger.sizes(), tagger.phase_seconds
    chosen = tagger.classifier.chosen()
    added, texts = tagger.added_since_training, tagger.about_texts()
    by_label = tagger.report.get("by_label", {})
    if with_labels and not by_label:
        raise ValueError(
            f"{model} has no figures by label; models of texts with held-out documents do."
        )
    if as_json:
        updates = {"chosen": chosen, "updates": tagger.classifier.updates_, "seconds": seconds}
        updates["origin"] = tagger.origin
        of_texts = {"text": texts if with_labels else _without_labels(texts)} if texts else {}
        print_json({"model": str(model), "n_bytes": n_bytes, **about, **updates, **of_texts})
        return

    by_copies = ", ".join(
        f"{n_labels:,} with {copies}" for copies, n_labels in about["labels_by_copies"].items()
    )
    sizes = "{smallest} to {largest}, median {median:g}".format(**about["cluster_sizes"])
    rows = [
        ("method", about["method"]),
        ("documents", f"{about['n_documents']:,}"),
        ("labels", f"{about['n_labels']:,}{_names_of_labels(about)}"),
        ("features", f"{about['n_features']:,}" + _named(about["has_feature_names"])),
        ("clusters", f"{about['n_clusters']:,}"),
        ("slots", f"{about['n_slots']:,}"),
        ("labels by slots", by_copies),
        ("slots per cluster", sizes),
        ("order of labels", _order(about["ordering"])),
        ("ambiguous labels", described_senses(about["senses"])),
        ("size on disk", f"{n_bytes / 1e6:,.1f} MB"),
    ]
    for name, key in (("trained", "trained_at"), ("updated", "updated_at"), ("data", "data")):
        if tagger.origin.get(key):
            rows.append((name, tagger.origin[key]))
    if added is not None:
        rows.append(("added since training", _counted(added, "{} and {}")))
    if texts:
        rows.insert(0, ("kind", f"texts, n-grams of {texts['features']['analyzer']}s"))
        rows.append(("threshold", f"{texts['threshold']:.3f}{_own_thresholds(texts)}"))
        rows.append(("probabilities", texts["calibration"]))
    out = console()
    out.print(plain_table(("Model", str(model)), rows))
    if about["senses"] is not None:
        print_belief(out, about["senses"])
    out.print()
    parameters = {
        name: f"{chosen[name]:g}, chosen by the data"
        if value is None and name in chosen
        else value
        for name, value in about["parameters"].items()
    }
    out.print(plain_table(("Parameter", "Value"), parameters.items()))
    if seconds:
        out.print()
        timed = [(phase, f"{taken:.2f}") for phase, taken in seconds.items()]
        out.print(plain_table(("Training phase", "Seconds"), timed, numbers=[1]))
    if tagger.report:
        out.print()
        if added is not None:
            out.print(_counted(added, STALE), soft_wrap=True)
        print_report(out, tagger.report)
    if with_labels:
        out.print()
        rows_by_label = [
            (tagger.label_name(label), *counts)
            for label, *counts in zip(*(by_label[name] for name in BY_LABEL), strict=True)
            if label < about["n_labels"]
        ]
        out.print(plain_table(tuple(BY_LABEL.values()), rows_by_label, numbers=[1, 2, 3]))


def _without_labels(texts: dict[str, Any]) -> dict[str, Any]:
    """Leave out what has a row for every label: there can be very many."""
    report = {name: part for name, part in texts["report"].items() if name != "by_label"}
    return {**texts, "report": report}


def _counted(added: dict[str, int], sentence: str) -> str:
    """Put the numbers of documents and labels into a sentence."""
    return sentence.format(*(counted(added[f"n_{noun}s"], noun) for noun in ("document", "label")))


def _order(ordering: dict[str, int] | None) -> str:
    if ordering is None:
        return "by bare scores"
    return f"learned from {ordering['n_documents']:,} documents"


def _own_thresholds(texts: dict[str, Any]) -> str:
    n_own = texts["report"].get("threshold", {}).get("n_labels_with_own", 0)
    return f"; {n_own:,} labels have one of their own" if n_own else ""


def _names_of_labels(about: dict[str, Any]) -> str:
    n_named = about["n_named_labels"]
    if n_named < about["n_labels"] and about["has_label_names"]:
        return f", {n_named:,} with a name"
    return _named(about["has_label_names"])


def _named(has_names: bool) -> str:
    return ", with names" if has_names else ""
