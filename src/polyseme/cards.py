"""Model cards: a README.md for people who meet a model, as hubs of models show it.

>>> write_card("models/articles")  # unless somebody edited the card that is there
True
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polyseme.files.model_folder import CARD, CARD_MARK
from polyseme.files.whole_files import written_beside
from polyseme.machine.printable import printable
from polyseme.tagger import Tagger, open_tagger

__all__ = ["model_card", "write_card"]

N_AMBIGUOUS = 10  # labels that a card names


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
        _front_matter(tagger),
        CARD_MARK,
        f"# {name}",
        _summary(tagger),
        "## Use",
        _use(tagger, name),
        "## Figures",
        *_figures(tagger.report),
        "## Senses",
        *_senses(tagger),
        "## Limits",
        _bullets(_limits(tagger)),
        "## Training",
        *_training(tagger),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(tagger: Tagger) -> str:
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
            "---",
        ]
    )


def _summary(tagger: Tagger) -> str:
    sizes = tagger.sizes()
    what = "texts" if tagger.takes_texts else "rows of features"
    ambiguous = ""
    if tagger.n_ambiguous:
        ambiguous = f" {tagger.n_ambiguous:,} of the labels are likely ambiguous: they are "
        ambiguous += "suggested in one of several senses."
    return (
        f"Suggests labels for {what}, from {sizes['n_labels']:,} labels, learned from "
        f"{sizes['n_documents']:,} documents with polyseme's method "
        f"`{sizes['method']}`.{ambiguous}"
    )


def _use(tagger: Tagger, name: str) -> str:
    if not tagger.takes_texts:
        return f'```python\nimport polyseme\n\nmodel = polyseme.load("{name}")\n```'
    return (
        f"```sh\npolyseme predict {name} new.csv -o labels.csv\n```\n\n"
        f'```python\nimport polyseme\n\nmodel = polyseme.load("{name}")\n'
        'for label in model.suggest(["A text."])[0]:\n    print(label.name, label.score)\n```'
    )


def _figures(report: dict[str, Any]) -> Iterable[str]:
    if not report:
        return ["Nothing was held out, so nobody has measured it."]
    accuracy = {name: f"{value:.1f}" for name, value in report["accuracy"].items()}
    found = [
        f"Measured on {report['n_documents']:,} documents that it was not trained on, in percent.",
        _table(list(accuracy), [list(accuracy.values())]),
    ]
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
        found += [
            "At the threshold that suggestions are cut at:",
            _table(columns.split("|"), rows),
        ]
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
        yield f"Its beam reaches {tagger.report['reach']:.1f}% of the true labels."
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
    facts = {
        "trained": origin.get("trained_at"),
        "updated": origin.get("updated_at"),
        "data": origin.get("data"),
        "fingerprint of the data": origin.get("fingerprint"),
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
        [name, chosen.get(name, "left to polyseme") if value is None else repr(value)]
        for name, value in settings.items()
    ]
    return [
        *([_table(["", ""], known)] if known else []),
        "All settings:",
        _table(["Setting", "Value"], rows),
    ]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(html.escape(str(text), quote=False).replace("|", "\\|").split())


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
