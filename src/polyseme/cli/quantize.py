"""``polyseme quantize``: a model whose encoder is quick on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyseme.backbones.transformer.onnx_encoder import PRECISIONS
from polyseme.cli.corpus_options import reading_options
from polyseme.cli.documents import read_labelled
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.estimators.quantizing import quantize as quantized
from polyseme.files.model_folder import check_target
from polyseme.machine.progress import Progress
from polyseme.tagger import open_tagger, tagger_for

__all__ = ["quantize"]

SHOWN = ("P@1", "P@3", "P@5")


@click.command(epilog="Example: polyseme quantize models/articles test.csv -o models/quick")
@path_argument("model")
@path_argument("data", metavar="[DATA]", required=False)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder to save the new model in.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=PRECISIONS[0],
    help="What the encoder computes with; float32 loses nothing and is slower. int8 by default.",
)
@reading_options
@common_options()
def quantize(
    model: Path,
    data: Path | None,
    output: Path,
    precision: str,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Make a model whose encoder computes in int8, without torch.

    MODEL was trained with the method x-transformer and a transformer. The new model runs on
    a CPU, by ONNX Runtime; you can use, serve and measure it like any other. If you give
    DATA, documents with labels as for "evaluate", the command says what accuracy is lost.
    """
    check_target(output)
    accuracy: dict[str, dict[str, float]] = {}
    with Progress() as progress:
        with progress.phase("Reading the model"):
            before = open_tagger(model, n_jobs=n_threads)
        with progress.phase("Quantizing the encoder"):
            after = tagger_for(quantized(before.model, precision))
        if data is not None:
            with progress.phase("Reading the data"):
                labelled = read_labelled(before, data, options, n_threads, wants_test=True)
            for name, tagger in (("before", before), ("after", after)):
                with progress.phase(f"Predicting, {name}"):
                    report = tagger.evaluate(labelled.documents, labelled.labels)
                accuracy[name] = report["accuracy"]
        with progress.phase("Saving the model"):
            after.model.save(output)
    n_bytes = {"before": _size(model), "after": _size(output)}
    if as_json:
        result = {"model": str(output), "precision": precision, "n_bytes": n_bytes}
        print_json({**result, **({"accuracy": accuracy} if accuracy else {})})
        return
    out = console()
    rows: list[tuple[str, ...]] = [
        ("size on disk", *(f"{size / 1e6:,.1f} MB" for size in n_bytes.values()))
    ]
    rows += [
        (name, *(f"{figures[name]:.2f}" for figures in accuracy.values()))
        for name in SHOWN
        if accuracy
    ]
    out.print(plain_table(("", "before", precision), rows, numbers=(1, 2)))


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
