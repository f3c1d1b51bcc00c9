"""``polyseme train`` on texts: read, learn, measure on held-out documents, save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from polyseme.cli.errors import note
from polyseme.cli.estimate import print_estimate
from polyseme.cli.shared import console, plain_table, print_json
from polyseme.cli.summary import summary_of
from polyseme.cli.text_options import features_from, opened_corpus
from polyseme.cli.text_report import print_report
from polyseme.estimators.xr_linear import XRLinear
from polyseme.machine.progress import Progress
from polyseme.senses.describe import most_split
from polyseme.text.estimate import estimate_text_training
from polyseme.text.model import TextModel

__all__ = ["estimate_on_texts", "train_on_texts"]


def train_on_texts(
    data: Path, output: Path, classifier: XRLinear, options: dict[str, Any], as_json: bool
) -> None:
    """Train a text model and say what came out."""
    model = _untrained(classifier, options)
    corpus = opened_corpus(data, options)
    note(f"{data}: {corpus.description}.")
    model.fit_records(corpus, label_names=corpus.label_names)
    if model.n_without_labels_:
        note(f"{model.n_without_labels_:,} documents without labels were left out.")
    if not model.report_:
        note("nothing was held out: there is no report, and scores are not probabilities.")
    progress = Progress()
    with progress, progress.phase("Saving the model"):
        model.save(output)
    seconds = {**model.phase_seconds_, **progress.seconds}
    trained = model.classifier_
    if as_json:
        print_json(
            {
                "model": str(output),
                **summary_of(trained),
                "features": model.features_.describe()["parameters"],
                "reading": model.reading_,
                "n_documents": trained.n_documents_,
                "n_without_labels": model.n_without_labels_,
                "threshold": model.threshold_,
                "report": model.report_,
                "most_split": [
                    {"label": label, "split": split} for label, split in most_split(trained)
                ],
                "seconds": seconds,
            }
        )
        return
    _print(console(), model, output, seconds)


def estimate_on_texts(
    data: Path, classifier: XRLinear, options: dict[str, Any], as_json: bool
) -> None:
    """Say what training a text model would take."""
    model = _untrained(classifier, options)
    corpus = opened_corpus(data, options)
    note(f"{data}: {corpus.description}.")
    print_estimate(classifier, estimate_text_training(model, corpus), data, as_json)


def _untrained(classifier: XRLinear, options: dict[str, Any]) -> TextModel:
    if options["no_held_out"] and options["held_out"] is not None:
        raise click.UsageError("--held-out and --no-held-out exclude each other.")
    share = 0.1 if options["held_out"] is None else options["held_out"]
    model = TextModel(
        features_from(options),
        classifier,
        held_out=0 if options["no_held_out"] else share,
        refit=not options["no_refit"],
        precision=options["precision"],
        examples=3 if options["examples"] is None else options["examples"],
        keep_data=options["keep_data"],
        verbose=classifier.verbose,
    )
    model.check_parameters()
    return model


def _print(out: Console, model: TextModel, output: Path, seconds: dict[str, float]) -> None:
    rows = [(phase, f"{taken:.2f}") for phase, taken in seconds.items()]
    rows.append(("Total", f"{sum(seconds.values()):.2f}"))
    out.print(plain_table(("Phase", "Seconds"), rows, numbers=[1]))
    if model.report_:
        out.print()
        print_report(out, model.report_)
    split = most_split(model.classifier_)
    if split:
        out.print()
        labels = [(label, f"{share:.3f}") for label, share in split]
        out.print(plain_table(("Most split labels", "Split"), labels, numbers=[1]))
    out.print()
    clusters = model.classifier_.clusters_
    out.print(
        f"{output}: {model.classifier_.n_documents_:,} documents, {model.classifier_.n_labels_:,} "
        f"labels in {clusters.n_slots:,} slots of {clusters.n_clusters:,} clusters",
        markup=False,
        soft_wrap=True,
    )
