"""Model cards: a README.md for people who meet a model, as hubs of models show it.

>>> write_card("models/articles")  # unless somebody edited the card that is there
True
"""

from __future__ import annotations

import html
import json
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polyseme.files.model_folder import CARD, CARD_MARK
from polyseme.files.whole_files import written_beside
from polyseme.machine.printable import printable
from polyseme.machine.quantities import counted
from polyseme.tagger import Tagger, open_tagger

__all__ = ["model_card", "write_card"]

N_AMBIGUOUS = 10  # labels that a card names
FOR_HUBS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")  # figures that a hub lists
AT_THRESHOLD = ("precision", "recall", "f1")


def write_card(path: str | os.PathLike[str], tagger: Tagger | None = None) -> bool:
    """Write README.md into the folder of a model.

    Parameters
    ----------
    path : path of the model's folder
    tagger : Tagger, optional
        That model, if it is open already.

    Returns
    -------
    bool
        Whether it was written: a card that people have made their own stays.
    """
    folder = Path(path)
    place = folder / CARD
    if place.exists() and CARD_MARK not in place.read_text(encoding="utf-8", errors="replace"):
        return False
    card = model_card(open_tagger(folder) if tagger is None else tagger, folder.absolute().name)
    with written_beside(place) as stream:
        stream.write(printable(card).encode())
    return True


def model_card(tagger: Tagger, name: str) -> str:
    """Return the card of a model as Markdown: use, figures, senses, limits, training."""
    parts = [
        _front_matter(tagger, name),
        CARD_MARK,
        f"# {name}",
        _summary(tagger),
        "## Use",
        _use(tagger, name),
        "## Figures",
        *_figures(tagger),
        "## Senses",
        *_senses(tagger),
        "## Limits",
        _bullets(_limits(tagger)),
        "## Training",
        *_training(tagger),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(tagger: Tagger, name: str) -> str:
    """Return what a hub reads, as YAML: what the model is for, and its figures."""
    kind = "text-classification" if tagger.takes_texts else "tabular-classification"
    return "\n".join(
        [
            "---",
            "library_name: polyseme",
            f"pipeline_tag: {kind}",
            "tags:",
            "- polyseme",
            "- multi-label-classification",
            "- extreme-classification",
            *(_results(tagger, kind, name) if tagger.report else ()),
            "---",
        ]
    )


def _results(tagger: Tagger, kind: str, name: str) -> Iterable[str]:
    report = tagger.report
    figures = {measure: report["accuracy"][measure] for measure in FOR_HUBS}
    cut = report.get("threshold", {})
    figures |= {measure: 100 * cut[measure] for measure in AT_THRESHOLD if measure in cut}
    data = tagger.origin.get("data") or "documents"
    yield "model-index:"
    yield f"- name: {json.dumps(name)}"
    yield "  results:"
    yield f"  - task:\n      type: {kind}"
    yield f"    dataset:\n      type: {json.dumps(data)}"
    yield f"      name: {json.dumps(f'held-out part of {data}')}"
    yield "    metrics:"
    for measure, value in figures.items():
        yield f"    - type: {measure.lower().replace('@', '_at_')}"
        yield f"      name: {measure.replace('f1', 'F1')}, in percent\n      value: {value:.2f}"


def _summary(tagger: Tagger) -> str:
    sizes = tagger.sizes()
    what = "texts" if tagger.takes_texts else "rows of features"
    ambiguous = ""
    if tagger.n_ambiguous:
        are, they = ("is", "it is") if tagger.n_ambiguous == 1 else ("are", "they are")
        ambiguous = f" {tagger.n_ambiguous:,} of the labels {are} likely ambiguous: {they} "
        ambiguous += "suggested in one of several senses."
    return (
        f"Suggests labels for {what}, from {counted(sizes['n_labels'], 'label')}, learned "
        f"from {counted(sizes['n_documents'], 'document')} with polyseme's method "
        f"`{sizes['method']}`.{ambiguous}"
    )


def _use(tagger: Tagger, name: str) -> str:
    if not tagger.takes_texts:
        return f"```python\nimport polyseme\n\nmodel = polyseme.load({json.dumps(name)})\n```"
    return (
        f"```sh\npolyseme predict {shlex.quote(name)} new.csv -o labels.csv\n```\n\n"
        f"```python\nimport polyseme\n\nmodel = polyseme.load({json.dumps(name)})\n"
        'for label in model.suggest(["A text."])[0]:\n    print(label.name, label.score)\n```'
    )


def _figures(tagger: Tagger) -> Iterable[str]:
    report = tagger.report
    if not report:
        return ["Nothing was held out, so nobody has measured it."]
    measured = f"Measured, in percent, on {counted(report['n_documents'], 'document')} that "
    if tagger.settings_of_texts().get("refit"):
        measured += (
            "were held out of a first training; with the same settings, this model then learned "
            "from all documents."
        )
    else:
        measured += "it was not trained on."
    found = [measured, _accuracy(report["accuracy"])]
    cut = report.get("threshold")
    if cut is not None:
        rows = [
            [
                f"{cut['threshold']:.3f}",
                *(f"{100 * cut[name]:.1f}" for name in ("precision", "recall", "f1")),
                f"{cut['labels_per_document']:.2f}",
                f"{100 * cut['without_label']:.1f}" if "without_label" in cut else "",
            ]
        ]
        columns = "Threshold|Precision|Recall|F1|Labels per document|Documents without a label"
        found += [_about_threshold(cut), _table(columns.split("|"), rows)]
    if "with_broader" in report:
        found.append(
            "Counted together with all that is broader: precision {precision:.1f}, recall "
            "{recall:.1f}, F1 {f1:.1f}.".format(**report["with_broader"])
        )
    rows = [
        [
            _range(row["least"], row["most"]),
            f"{row['n_labels']:,}",
            f"{row['precision']:.1f}",
            f"{row['recall']:.1f}",
        ]
        for row in report["by_label_frequency"]
    ]
    columns = "Training documents|Labels|Precision|Recall"
    return [
        *found,
        "Labels by their number of training documents, first five suggestions:",
        _table(columns.split("|"), rows),
    ]


def _accuracy(figures: dict[str, float]) -> str:
    ks = sorted({int(name.split("@")[1]) for name in figures})
    measures = dict.fromkeys(name.split("@")[0] for name in figures)
    rows = [
        [measure, *(_percent(figures.get(f"{measure}@{k}")) for k in ks)] for measure in measures
    ]
    return _table(["", *(f"@{k}" for k in ks)], rows)


def _about_threshold(cut: dict[str, Any]) -> str:
    wanted, own = cut.get("wanted_precision"), cut.get("n_labels_with_own")
    chosen = "the best F1" if wanted is None else f"{100 * wanted:g}% precision"
    which = "" if own is None else f"; {own:,} labels have a threshold of their own"
    return f"At the threshold, which was chosen for {chosen}{which}:"


def _senses(tagger: Tagger) -> Iterable[str]:
    labels = tagger.ambiguous_labels(N_AMBIGUOUS)
    if not labels:
        return ["No label is shown with several senses."]
    rows = [
        [str(one.name), f"{min(one.ambiguity, 0.99):.0%}", "; ".join(one.senses)] for one in labels
    ]
    return [
        "The labels that are most likely ambiguous. A sense is called by what goes with it.",
        _table(["Label", "Probability", "Senses"], rows),
    ]


def _limits(tagger: Tagger) -> Iterable[str]:
    yield "It suggests no label that it was not trained on, and rare ones seldom."
    if tagger.has_probabilities:
        yield (
            "A score is a probability over all labels: of suggestions with 0.7, 70% are right in "
            "documents like those it learned from, not of every single label."
        )
    else:
        yield "Scores are not probabilities."
    reliability = tagger.report.get("reliability")
    if reliability is not None:
        error = 100 * reliability["calibration_error"]
        yield f"Probabilities above 0.1 were off by {error:.1f} points on average."
    if "reach" in tagger.report:
        reach = tagger.report["reach"]
        yield f"Its beam reaches {reach:.1f}% of the true labels; the others it cannot find."
    if tagger.added_since_report is not None:
        yield "It was updated since: figures and threshold are from before."
    if tagger.takes_texts:
        if tagger.model.examples_ is not None:
            yield "It holds the beginnings of some of the texts that it was trained on."
        if tagger.model.training_data_ is not None:
            yield "It holds which words each training document has, and its labels."
        if tagger.model.features_.vocabulary_ is not None:
            yield "It holds words of the training texts, with how frequent they are."


def _training(tagger: Tagger) -> Iterable[str]:
    origin = tagger.origin
    versions = origin.pop("versions", {})
    before = " before the update" if origin.get("updated_at") else ""
    facts = {
        "trained": origin.get("trained_at"),
        "updated": origin.get("updated_at"),
        "data": origin.get("data"),
        "read": _reading(tagger.about_texts().get("reading") or {}),
        f"fingerprint of the data{before}": origin.get("fingerprint"),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    known = [[name, value] for name, value in facts.items() if value]
    classifier = tagger.classifier
    settings = {
        name: value
        for name, value in {**classifier.get_params(), **tagger.settings_of_texts()}.items()
        if name not in classifier.of_the_machine
    }
    chosen = {
        name: f"{value:g}, chosen by the data" for name, value in classifier.chosen().items()
    }
    rows = [
        [name, chosen.get(name, "not set") if value is None else repr(value)]
        for name, value in settings.items()
    ]
    return [
        *([_table(["", ""], known)] if known else []),
        "All settings:",
        _table(["Setting", "Value"], rows),
    ]


def _reading(reading: dict[str, Any]) -> str:
    """Say which columns texts and labels came from; nothing where there were none."""
    given = {name.replace("_", " "): value for name, value in reading.items() if value}
    return ", ".join(f"{name} {value!r}" for name, value in given.items())


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(html.escape(str(text), quote=False).replace("|", "\\|").split())


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1f}"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
