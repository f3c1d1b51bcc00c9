"""The report of a training or an evaluation: one HTML file that asks nobody for anything."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from polyseme.files.whole_files import written_beside
from polyseme.machine.printable import printable
from polyseme.machine.quantities import counted, spoken_seconds
from polyseme.reports.charts import Point, grouped_bars, unit_square
from polyseme.tagger import Tagger, tagger_for

__all__ = ["check_report_path", "write_report"]

N_AMBIGUOUS = 15
ENDINGS = (".html", ".htm")
MEASURES = {
    "P": "precision (P)",
    "R": "recall (R)",
    "PSP": "PSP: rare labels count more",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a place where no report can be written, before the work begins."""
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise ValueError(f"{place}: a report is a page; give a name that ends in .html.")
    if place.is_dir() or not place.parent.is_dir():
        raise ValueError(f"{place}: cannot be written; give a file in a folder that exists.")
    return place


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    seconds: Mapping[str, float] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    data: str = "",
) -> None:
    """Write what a training came to, as one HTML file without anything from outside.

    With `evaluation`, write how good the model is on other documents.

    Parameters
    ----------
    model : estimator or TextModel
        A trained one. Accuracy is that of its held-out documents, if it has any.
    path : path
        Ends in .html.
    name : str
        What the model is called.
    seconds : dict of str to float, optional
        What each phase took; by default what the model keeps of that.
    evaluation : dict, optional
        Figures of other documents than the held-out ones, from `Tagger.evaluate`.
    data : str
        What these documents are called.
    """
    place = check_report_path(path)
    tagger = model if isinstance(model, Tagger) else tagger_for(model)
    if evaluation is None:
        title = f"Training report: {name}" if name else "Training report"
        measured_on = "that were held out of training"
    else:
        title = f"Evaluation of {name or 'a model'}{f' on {data}' if data else ''}"
        measured_on = f"of {data}" if data else "that are not those of the training"
    content = _page(
        tagger,
        title,
        tagger.report if evaluation is None else evaluation,
        measured_on,
        tagger.phase_seconds if seconds is None else seconds,
    )
    with written_beside(place) as stream:
        stream.write(printable(content).encode())


def _page(
    tagger: Tagger,
    title: str,
    report: Mapping[str, Any],
    measured_on: str,
    seconds: Mapping[str, float],
) -> str:
    style = files("polyseme.reports").joinpath("style.css").read_text(encoding="utf-8")
    sections = "\n".join(_sections(tagger, report, measured_on, seconds))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{_tiles(tagger, report, seconds)}</header>\n"
        f"<main>\n{sections}\n</main>\n</body>\n</html>\n"
    )


def _tiles(tagger: Tagger, report: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    classifier = tagger.classifier
    tiles = []
    if report:
        tiles += [
            (f"{report['accuracy'][figure]:.1f}%", figure)
            for figure in ("P@1", "P@5", "R@10")
            if figure in report["accuracy"]
        ]
    if "threshold" in report:
        tiles.append((f"{100 * _f1(report['threshold']):.1f}%", "F1 at the threshold"))
    tiles += [
        (f"{classifier.n_documents_:,}", "training documents"),
        (f"{classifier.n_labels_:,}", "labels"),
        (f"{tagger.n_ambiguous:,}", "likely ambiguous"),
        (spoken_seconds(sum(seconds.values())), "in all"),
    ]
    shown = (f"<div><b>{escape(value)}</b>{escape(what)}</div>" for value, what in tiles)
    return f'<div class="tiles">{"".join(shown)}</div>'


def _f1(cut: Mapping[str, float]) -> float:
    both = cut["precision"] + cut["recall"]
    return 2 * cut["precision"] * cut["recall"] / both if both else 0.0


def _sections(
    tagger: Tagger, report: Mapping[str, Any], measured_on: str, seconds: Mapping[str, float]
) -> Iterator[str]:
    if report:
        yield from _about_accuracy(report, measured_on)
    else:
        said = (
            "No documents were held out of this training, so nothing was measured. Measure the "
            "model on other documents: polyseme evaluate MODEL DATA --report report.html"
        )
        yield _section("Accuracy", said, "", wide=True)
    yield _about_senses(tagger)
    yield _section("What it took", "Seconds of each phase.", _bars(seconds))
    about = _table(("", ""), _about_model(tagger, report), n_text=2)
    yield _section("The model", "", about)


def _about_accuracy(report: Mapping[str, Any], measured_on: str) -> Iterator[str]:
    figures = report["accuracy"]
    ks = sorted({int(name.split("@")[1]) for name in figures})
    measures = list(dict.fromkeys(name.split("@")[0] for name in figures))
    rows = [
        [MEASURES.get(one, one), *(_percent(figures.get(f"{one}@{k}")) for k in ks)]
        for one in measures
    ]
    yield _section(
        "Accuracy",
        f"In percent, on {counted(report['n_documents'], 'document')} {measured_on}.",
        _table(["", *(f"@{k}" for k in ks)], rows),
    )
    if "threshold" in report or "by_threshold" in report:
        yield _about_threshold(report.get("threshold"), report.get("by_threshold"))
    if report["by_label_frequency"]:
        yield _about_frequencies(report["by_label_frequency"])
    if "reliability" in report:
        yield _about_probabilities(report["reliability"])


def _about_frequencies(by_frequency: Sequence[Mapping[str, Any]]) -> str:
    return _section(
        "Rare and frequent labels",
        "How many of the first five suggestions are right, and how many of the true labels are "
        "among them, by how many training documents a label has.",
        grouped_bars(
            [_least(row["least"], row["most"]) for row in by_frequency],
            [
                ("right", [row["precision"] for row in by_frequency]),
                ("found", [row["recall"] for row in by_frequency]),
            ],
            "training documents of a label, from this number",
        )
        + '<p class="key"><i class="series-0"></i> right <i class="series-1"></i> found</p>',
    )


def _about_threshold(cut: Mapping[str, Any] | None, curve: Mapping[str, Any] | None) -> str:
    said = "Along the line the threshold falls from left to right."
    points = []
    if cut is not None:
        least, own = f"{cut['threshold']:.2f}", cut.get("n_labels_with_own")
        name, where = f"threshold {least}", ""
        if own is not None:
            name = f"threshold of its own for {counted(own, 'label')}, and {least} for all others"
            where = " The dot is beside it, since the line has one threshold for all labels."
        points.append(Point(cut["recall"], cut["precision"], 6, name))
        nothing = ""
        if "without_label" in cut:  # reports of older models do not say it
            nothing = f"; {100 * cut['without_label']:.1f}% of the documents get none"
        said = (
            f"At a {name}, {100 * cut['precision']:.1f}% of the suggested labels are right "
            f"(precision), {100 * cut['recall']:.1f}% of the true ones are found (recall), and a "
            f"document gets {cut['labels_per_document']:.1f} labels{nothing}. {said}{where}"
        )
    places = () if curve is None else zip(curve["recall"], curve["precision"], strict=True)
    n_kept = None if curve is None else curve["labels_per_document"]
    kept = [place for i, place in enumerate(places) if n_kept is None or n_kept[i] > 0]
    drawn = unit_square("recall, percent", "precision, percent", line=kept, points=points)
    return _section("Precision and recall", said, drawn)


def _about_probabilities(reliability: Mapping[str, Any]) -> str:
    error, bins = reliability["calibration_error"], reliability.get("bins", ())
    most = max((row["n"] for row in bins), default=1)
    points = [
        Point(
            row["mean_probability"],
            row["share_right"],
            3 + 6 * math.log1p(row["n"]) / math.log1p(most),
            f"{counted(row['n'], 'suggestion')}: {row['mean_probability']:.0%} expected, "
            f"{row['share_right']:.0%} right",
        )
        for row in bins
    ]
    return _section(
        "What probabilities are worth",
        "Points on the dashed line are suggestions that are right as often as they say. Larger "
        f"points are more suggestions. Above 0.1 they are off by {100 * error:.1f} points on "
        "average.",
        unit_square("probability, percent", "right, percent", points=points, diagonal=True),
    )


def _about_senses(tagger: Tagger) -> str:
    senses = tagger.sizes()["senses"]
    if senses is None:
        return _section("Meanings", "Nobody looked for labels with several meanings.", "")
    said = (
        f"{senses['n_ambiguous']:,} of {senses['n_judged']:,} labels that have enough documents "
        "to be judged are likely ambiguous."
    )
    rows = [
        (str(one.name), f"{one.ambiguity:.0%}", " / ".join(one.senses))
        for one in tagger.ambiguous_labels(N_AMBIGUOUS)
    ]
    columns = ("Label", "Probability", "Meanings")
    drawn = _table(columns, rows, text_last=True, kind="meanings") if rows else ""
    return _section("Meanings", said, drawn, wide=bool(rows))


def _about_model(tagger: Tagger, report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sizes = tagger.sizes()
    yield "method", str(sizes["method"])
    if report.get("n_training_documents"):
        n_training, n_held_out = report["n_training_documents"], report["n_documents"]
        yield "documents measured with", f"{n_training:,} to learn, {n_held_out:,} held out"
    for what in ("features", "clusters", "slots"):
        yield what, f"{sizes[f'n_{what}']:,}"
    if tagger.label_uris is not None:
        yield "labels with a name", f"{tagger.n_named_labels:,} of {sizes['n_labels']:,}"
    if "reach" in report:
        yield "true labels that the beam reaches", f"{report['reach']:.1f}%"
    if "with_broader" in report:
        wide = report["with_broader"]
        yield "F1 together with all that is broader", f"{wide['f1']:.1f}%"
    changed = _changed(tagger)
    if changed:
        yield "settings", ", ".join(f"{name} = {value!r}" for name, value in changed.items())


def _changed(tagger: Tagger) -> dict[str, Any]:
    """Return the parameters of the classifier that are not the defaults."""
    defaults = type(tagger.classifier)().get_params(deep=False)
    given = tagger.classifier.get_params(deep=False)
    of_machine = ("n_jobs", "verbose")
    return {
        name: value
        for name, value in given.items()
        if name not in of_machine and value != defaults.get(name)
    }


def _section(title: str, said: str, drawn: str, *, wide: bool = False) -> str:
    sentence = f"<p>{escape(said)}</p>" if said else ""
    kind = ' class="wide"' if wide else ""
    return f"<section{kind}><h2>{escape(title)}</h2>{sentence}{drawn}</section>"


def _table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    n_text: int = 1,
    text_last: bool = False,
    kind: str = "scroll",
) -> str:
    """Lay out a table; the first columns are text, the others numbers but perhaps the last."""

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = ["" if i < n_text else ' class="number"' for i in range(len(row))]
        if text_last:
            kinds[-1] = ""
        laid = (
            f"<{tag}{kind}>{escape(one)}</{tag}>" for kind, one in zip(kinds, row, strict=True)
        )
        return f"<tr>{''.join(laid)}</tr>"

    head = f"<thead>{cells(columns, 'th')}</thead>" if any(columns) else ""
    body = "".join(cells(row, "td") for row in rows)
    return f'<div class="{kind}"><table>{head}<tbody>{body}</tbody></table></div>'


def _bars(seconds: Mapping[str, float]) -> str:
    """Lay out what each phase took, with a bar for each."""
    longest = max(seconds.values(), default=0) or 1
    rows = "".join(
        f'<tr><td>{escape(phase)}</td><td class="number">{taken:.1f}</td>'
        f'<td class="bar"><i style="width: {100 * taken / longest:.1f}%"></i></td></tr>'
        for phase, taken in seconds.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1f}"


def _least(least: int, most: int | None) -> str:
    return f"{least:,}" if least == most else f"{least:,}+"
