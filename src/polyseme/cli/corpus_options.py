"""Options for texts: which columns to read, which features to learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from polyseme.cli.errors import note
from polyseme.machine.progress import Progress
from polyseme.tagger import Tagger
from polyseme.text.corpora import FORMATS, Corpus, is_corpus, open_corpus
from polyseme.text.features import TextFeatures
from polyseme.text.vocabularies.reading import read_vocabulary
from polyseme.text.vocabularies.vocabulary import Vocabulary

__all__ = [
    "PLAIN_FORMATS",
    "features_from",
    "is_named_text",
    "is_text",
    "note_named_labels",
    "opened_corpus",
    "option_of",
    "reading_options",
    "refuse_text_options",
    "take",
    "threshold_option",
    "training_options",
    "vocabulary_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN_FORMATS = ("text", "lines")  # without labels, so for "predict" alone
_READING = (
    click.option(
        "--text-column",
        "text_columns",
        multiple=True,
        metavar="NAME",
        help="Column with the texts; give several to join them. By default found by its name.",
    ),
    click.option(
        "--labels-column",
        metavar="NAME",
        help="Column with the labels. By default found by its name.",
    ),
    click.option(
        "--label-separator",
        metavar="TEXT",
        help="What separates the labels in a cell; '' if each cell is one label. By default "
        "guessed.",
    ),
    click.option(
        "--id-column",
        metavar="NAME",
        help="Column with the ids of documents, which predictions carry along. By default found "
        "by its name.",
    ),
    click.option(
        "--format",
        type=click.Choice([*FORMATS, *PLAIN_FORMATS]),
        help="Kind of file. By default its ending or its first lines tell. For predict there are "
        "also text (the whole file is one text) and lines (each line is a text).",
    ),
    click.option(
        "--encoding", metavar="NAME", help="Encoding of text files, such as cp1252. [utf-8]"
    ),
    click.option(
        "--labels-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File with the labels of each line of a plain text file.",
    ),
)
_VOCABULARY = (
    click.option(
        "--vocabulary",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Vocabulary with the names of labels that are URIs or notations, their other names "
        "and their broader labels: SKOS (.ttl, .rdf, .nt, .jsonld), TSV with a URI and a name per "
        "line, or CSV with a header.",
    ),
    click.option(
        "--language",
        "languages",
        multiple=True,
        metavar="CODE",
        help="Language of the vocabulary's names, such as en; by default that of most names. Give "
        "--language again for a second choice.",
    ),
)
_TRAINING = (
    *_VOCABULARY,
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char"]),
        help="n-grams of words, or of characters within words. [word]",
    ),
    click.option(
        "--ngrams",
        metavar="N",
        help="Longest n-gram, or the shortest and the longest: 3 is 1-3. [1-2 for words, 3-5 for "
        "characters]",
    ),
    click.option(
        "--max-features", type=int, metavar="N", help="Keep at most N n-grams. [1000000]"
    ),
    click.option(
        "--min-documents",
        type=int,
        metavar="N",
        help="Leave out n-grams that occur in fewer than N texts. [2; 1 below 1,000 texts]",
    ),
    click.option("--hashing", is_flag=True, help="Hash n-grams instead of keeping a vocabulary."),
    click.option(
        "--held-out",
        type=float,
        metavar="X",
        help="Share of the documents to measure and calibrate on. [0.1]",
    ),
    click.option(
        "--no-held-out",
        is_flag=True,
        help="Hold nothing out: there is no report, and the probabilities are unchecked.",
    ),
    click.option(
        "--no-refit",
        is_flag=True,
        help="Keep the model that was measured; do not train again on all documents.",
    ),
    click.option(
        "--precision",
        type=float,
        metavar="X",
        help="Choose the threshold so that this share of the suggested labels is right, instead "
        "of for the best F1.",
    ),
    click.option(
        "--per-label",
        is_flag=True,
        help="With --precision, choose a threshold for each label, so that all are about as "
        "precise.",
    ),
    click.option(
        "--examples",
        type=int,
        metavar="N",
        help="How many texts to keep the beginnings of, per sense; 0 for none. [3]",
    ),
    click.option(
        "--keep-data",
        is_flag=True,
        help="Save the features and labels of all documents with the model, for updates.",
    ),
)
# Names of the arguments that these options fill.
_READING_NAMES = (
    "text_columns",
    "labels_column",
    "label_separator",
    "id_column",
    "format",
    "encoding",
    "labels_file",
)
_TRAINING_NAMES = (
    "vocabulary",
    "languages",
    "analyzer",
    "ngrams",
    "max_features",
    "min_documents",
    "hashing",
    "held_out",
    "no_held_out",
    "no_refit",
    "precision",
    "per_label",
    "examples",
    "keep_data",
)

_SINGULAR = {"text_columns": "--text-column", "languages": "--language"}

threshold_option = click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Least probability of a label; by default the model's own threshold, 0 for all labels. "
    "Texts only.",
)


def reading_options(function: Function) -> Function:
    """Add the options that say how texts are read."""
    return _with(function, _READING)


def training_options(function: Function) -> Function:
    """Add the options that say how texts are read and learned from."""
    return _with(function, _READING + _TRAINING)


def vocabulary_options(function: Function) -> Function:
    """Add the options that say what labels are called."""
    return _with(function, _VOCABULARY)


def _with(function: Function, options: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def take(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of texts from all those of a command, and return them."""
    names = (*_READING_NAMES, *_TRAINING_NAMES)
    return {name: options.pop(name) for name in names if name in options}


def is_text(data: Path, options: dict[str, Any]) -> bool:
    """Say whether the data are texts."""
    return is_named_text(options) or is_corpus(data)


def is_named_text(options: dict[str, Any]) -> bool:
    """Say whether an option says that the data are texts, whatever they look like."""
    return options.get("labels_file") is not None or options.get("format") is not None


def option_of(name: str) -> str:
    """Return the option that fills an argument."""
    return _SINGULAR.get(name, "--" + name.replace("_", "-"))


def refuse_text_options(data: Path, options: dict[str, Any]) -> None:
    """Refuse options that have no meaning for matrices."""
    for name, value in options.items():
        if value not in (None, False, ()):
            raise ValueError(f"{option_of(name)} is for texts, and {data} is not a file of texts.")


def opened_corpus(data: Path, options: dict[str, Any], **more: Any) -> Corpus:
    """Open a corpus as the options say."""
    reading = {name: options[name] for name in _READING_NAMES if options.get(name) is not None}
    return open_corpus(data, **reading, vocabulary=opened_vocabulary(options), **more)


def opened_vocabulary(options: dict[str, Any]) -> Vocabulary | None:
    """Read the vocabulary that the options name, and say what is in it."""
    path, languages = options.get("vocabulary"), options.get("languages") or ()
    if path is None:
        if languages:
            raise ValueError("--language is for the names of a --vocabulary; give one.")
        return None
    progress = Progress()
    with progress, progress.phase("Reading the vocabulary"):
        found = read_vocabulary(path, languages)
    note(f"{path}: {found.description}.")
    return found


def note_named_labels(tagger: Tagger, options: dict[str, Any]) -> None:
    """Say how many labels have a name, if a vocabulary was to give them one."""
    path = options.get("vocabulary")
    if path is None or tagger.label_uris is None:
        return
    n_named, n_labels = tagger.n_named_labels, tagger.classifier.n_labels_
    note(f"{n_named:,} of {n_labels:,} labels have a name in {path}.")
    if n_named == 0:
        note(
            f"labels are written like {str(tagger.label_uris[0])[:80]!r}, which is no URI, "
            "notation or name there; is it the right file?"
        )


def features_from(options: dict[str, Any]) -> TextFeatures:
    """Return features as the options say, checked."""
    given = {
        name: options[name]
        for name in ("analyzer", "max_features", "min_documents", "hashing")
        if options.get(name) is not None
    }
    if options.get("ngrams") is not None:
        given["ngrams"] = _pair(options["ngrams"])
    features = TextFeatures(**given)
    features.check_parameters()
    return features


def _pair(text: str) -> tuple[int, int]:
    shortest, _, longest = (text if "-" in text else f"1-{text}").partition("-")
    is_range = shortest.isdecimal() and longest.isdecimal()
    if not is_range or not 1 <= int(shortest) <= int(longest):
        raise ValueError(
            f"--ngrams must be a number from 1 on, or a range such as 1-2, not {text!r}."
        )
    return int(shortest), int(longest)
