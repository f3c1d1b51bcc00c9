"""``polyseme demo``: see senses at work on a small corpus, within a minute."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from polyseme.cli.errors import note
from polyseme.cli.rendering import print_senses
from polyseme.cli.serve import require_server
from polyseme.cli.shared import common_options, console, plain_table, print_json
from polyseme.demo.corpus import AMBIGUOUS_LABELS
from polyseme.demo.experiment import COMPARED, NARROW, DemoResult, run_demo
from polyseme.machine.threads import count_threads

__all__ = ["demo"]


@click.command(epilog="Example: polyseme demo --save models/demo")
@click.option(
    "--save",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder to keep the model in, for the other verbs.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="In the end, serve a model of the corpus and its page on this machine, until Ctrl-C.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    metavar="N",
    help="Port of --serve, 0 for a free one; 8000 by default.",
)
@common_options(seed=True)
def demo(
    save: Path | None,
    serve: bool,
    port: int,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Train on a small made-up corpus and show the senses of its labels.

    Some labels of the corpus are ambiguous (apple, bat, tank, ...) and the true sense of
    each text is known, though not to the model. The command shows which labels the model
    finds to be ambiguous, and how often it names the right sense, with default settings.
    You can save or serve this model, which takes texts. The command also compares one
    cluster per label with two.
    """
    if serve:
        require_server()
    result = run_demo(seed=seed, n_threads=n_threads)
    if as_json:
        print_json(_as_json(result))
    else:
        _print(console(), result)
    if save is not None:
        result.model.save(save)
        note(f'saved; try "polyseme senses {save} bat".')
    if not serve:
        if not as_json:
            _print_how_to_open(console(), save)
        return
    if save is not None:
        _serve(save, port, n_threads)
        return
    with TemporaryDirectory() as folder:
        model = Path(folder) / "demo"
        result.model.save(model)
        _serve(model, port, n_threads)


def _serve(model: Path, port: int, n_threads: int | None) -> None:
    from polyseme.server.running import serve
    from polyseme.server.settings import ServerSettings

    def say(url: str) -> None:
        note(f"open {url} in a browser; stop with Ctrl-C.")

    settings = ServerSettings(n_threads=count_threads(n_threads), reload_seconds=0)
    serve({"demo": model}, settings, port=port, on_start=say)


def _print(out: Console, result: DemoResult) -> None:
    _print_corpus(out, result)
    _print_found(out, result)
    _print_labels(out, result)
    _print_right(out, result)
    _print_accuracy(out, result)


def _print_how_to_open(out: Console, save: Path | None) -> None:
    """Say how to see the model in a browser, with a command that works from here."""
    verb = "demo --serve" if save is None else f"serve {save}"
    program = "polyseme"
    if shutil.which(program) is None:
        here, python = Path.cwd(), Path(sys.executable)
        python = python.relative_to(here) if python.is_relative_to(here) else python
        program = f"{python} -m polyseme"
    _heading(out, "Look at it in a browser")
    out.print(f"{program} {verb}", markup=False, highlight=False, soft_wrap=True)
    out.print("then open http://127.0.0.1:8000: try texts, see senses, the map and the quality.")


def _print_corpus(out: Console, result: DemoResult) -> None:
    _heading(out, "The corpus")
    ambiguous = ", ".join(AMBIGUOUS_LABELS)
    out.print(
        f"{result.n_training_texts:,} short texts to learn from and {result.n_test_texts:,} to "
        f"be tested on, with {result.n_labels} labels. {len(AMBIGUOUS_LABELS)} of these mean "
        f"two things: {ambiguous}."
    )


def _print_found(out: Console, result: DemoResult) -> None:
    _heading(out, "Are the ambiguous labels found?")
    n_others = result.n_labels - len(AMBIGUOUS_LABELS)
    n_rare = result.n_labels - result.n_judged_labels
    out.print(
        f"{len(result.found)} of the {len(AMBIGUOUS_LABELS)} are shown as ambiguous, and "
        f"{len(result.wrongly_shown)} of the {n_others} others. {n_rare} labels have too few "
        "texts to be judged."
    )


def _print_labels(out: Console, result: DemoResult) -> None:
    if not result.shown:
        return
    _heading(out, "The senses of the labels that are most likely ambiguous")
    out.print(
        "A sense is called by labels that go with it. The truth, which the model never saw, is "
        "the topic that so many of its training texts have.\n"
    )
    for label, found in result.shown.items():
        if out.is_terminal:
            out.print(Text(label, style="bold"))
        senses = [sense for sense, _ in found]
        print_senses(out, label, senses, truths=[_truth(counts) for _, counts in found])


def _truth(counts: Counter[str]) -> str:
    """Say what most of the training texts of a sense are truly about."""
    if not counts:
        return "the label has one meaning"
    topic, count = counts.most_common(1)[0]
    return f"{topic} ({count} of {counts.total()})"


def _print_right(out: Console, result: DemoResult) -> None:
    _heading(out, "Is the right sense named?")
    out.print(
        f"In {result.right:.1f}% of {result.n_named} cases the sense that is named for an "
        f"ambiguous label of a test text is the true one; to take the more frequent sense always "
        f"would give {result.constant:.1f}%. By label:"
    )
    by_label = sorted(result.right_by_label.items(), key=lambda item: -item[1])
    out.print(", ".join(f"{label} {right:.0f}" for label, right in by_label) + ".")


def _print_accuracy(out: Console, result: DemoResult) -> None:
    _heading(out, "Accuracy with one and with two clusters per label, in percent")
    names = {"plain": "one (plain)", "disentangled": "two (disentangled)"}
    rows = [
        [name, *(f"{figure:.1f}" for figure in result.accuracy[kind].values())]
        for kind, name in names.items()
    ]
    columns = ("", "P@1", "P@3", "P@5", "ambiguous labels found")
    out.print(plain_table(columns, rows, numbers=range(1, 5)))
    out.print(
        f"All above is with default settings. Here a beam of {NARROW['beam_size']} clusters and "
        f"slots chosen by '{COMPARED['disentangled']['assignment']}' were picked for the effect "
        "to show. With a beam of 3 both do nearly alike here, and slots chosen by 'capped' find "
        "fewer of the ambiguous labels than plain."
    )


def _heading(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, style="bold cyan"))


def _as_json(result: DemoResult) -> dict[str, Any]:
    labels = {
        label: [{**dataclasses.asdict(sense), "true_senses": counts} for sense, counts in found]
        for label, found in result.shown.items()
    }
    plain = [field.name for field in dataclasses.fields(result) if field.name != "model"]
    return {name: getattr(result, name) for name in plain} | {"shown": labels}
