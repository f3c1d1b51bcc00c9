"""``polyseme info``: what is in a model."""

from __future__ import annotations

from pathlib import Path

import click

import polyseme
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.cli.summary import summary_of
from polyseme.cli.text_report import print_report
from polyseme.text.model import TextModel
from polyseme.training.update import added_since_training

__all__ = ["info"]

STALE = (
    "Measured before {} and {} were added; `polyseme evaluate` measures the model as it is now."
)


@click.command(epilog="Example: polyseme info models/eurlex")
@path_argument("model")
@common_options(threads=False)
def info(model: Path, n_threads: int | None, seed: int, as_json: bool) -> None:
    """Show what is in a model: its sizes, slots and parameters."""
    loaded = polyseme.load(model)
    texts = loaded if isinstance(loaded, TextModel) else None
    if isinstance(loaded, TextModel):
        loaded = loaded.classifier_
    n_bytes = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
    summary = {"model": str(model), "n_bytes": n_bytes, **summary_of(loaded)}
    added = added_since_training(loaded)
    summary["updates"] = loaded.updates_
    summary["seconds"] = dict(loaded.phase_seconds_ if texts is None else texts.phase_seconds_)
    if texts is not None:
        summary["text"] = {
            "features": texts.features_.describe()["parameters"],
            "calibration": texts.calibration_.method,
            "threshold": texts.threshold_,
            "reading": texts.reading_,
            "report": texts.report_,
            "added_since_report": added if texts.report_ else None,
        }
    if as_json:
        print_json(summary)
        return

    sizes = summary["cluster_sizes"]
    by_copies = ", ".join(
        f"{n_labels:,} with {copies}" for copies, n_labels in summary["labels_by_copies"].items()
    )
    rows = [
        ("labels", f"{summary['n_labels']:,}" + _named(summary["has_label_names"])),
        ("features", f"{summary['n_features']:,}" + _named(summary["has_feature_names"])),
        ("clusters", f"{summary['n_clusters']:,}"),
        ("slots", f"{summary['n_slots']:,}"),
        ("labels by slots", by_copies),
        ("slots a cluster", "{smallest} to {largest}, median {median:g}".format(**sizes)),
        ("size on disk", f"{n_bytes / 1e6:,.1f} MB"),
    ]
    if added is not None:
        rows.append(("added since training", _counted(added, "{} and {}")))
    if texts is not None:
        rows.insert(0, ("kind", f"texts, n-grams of {texts.features_.analyzer}s"))
        rows.append(("threshold", f"{texts.threshold_:.3f}"))
        rows.append(("probabilities", texts.calibration_.method))
    out = console()
    out.print(plain_table(("Model", str(model)), rows))
    out.print()
    out.print(plain_table(("Parameter", "Value"), summary["parameters"].items()))
    if summary["seconds"]:
        out.print()
        timed = [(phase, f"{taken:.2f}") for phase, taken in summary["seconds"].items()]
        out.print(plain_table(("Training phase", "Seconds"), timed, numbers=[1]))
    if texts is not None and texts.report_:
        out.print()
        if added is not None:
            out.print(_counted(added, STALE), soft_wrap=True)
        print_report(out, texts.report_)


def _counted(added: dict[str, int], sentence: str) -> str:
    """Put the numbers of documents and labels into a sentence."""
    counted = [
        f"{added[f'n_{noun}s']:,} {noun}{'' if added[f'n_{noun}s'] == 1 else 's'}"
        for noun in ("document", "label")
    ]
    return sentence.format(*counted)


def _named(has_names: bool) -> str:
    return ", with names" if has_names else ""
