"""A small project to try: ``python -m polyseme.annif.example FOLDER`` writes its files."""

from __future__ import annotations

import sys
from pathlib import Path

from polyseme.demo import make_corpus

__all__ = ["write_example"]

PROJECT = """\
[demo]
name=Demo of polyseme
language=en
backend=polyseme
vocab=demo
limit=100
allow_learn=true
"""
N_TEXTS, N_TRAINING_TEXTS = 2500, 2000


def write_example(folder: Path) -> None:
    """Write a vocabulary, documents to train on and to test with, and ``projects.cfg``.

    Parameters
    ----------
    folder : Path
        Is made; files of these names that are there already are refused.
    """
    corpus = make_corpus(N_TEXTS)
    names = sorted({name for labels in corpus.labels for name in labels})
    uri = {name: f"<http://example.org/{name.replace(' ', '-')}>" for name in names}
    documents = [
        f"{text}\t{' '.join(uri[name] for name in labels)}\n"
        for text, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]
    contents = {
        "projects.cfg": PROJECT,
        "subjects.tsv": "".join(f"{uri[name]}\t{name}\n" for name in names),
        "train.tsv": "".join(documents[:N_TRAINING_TEXTS]),
        "test.tsv": "".join(documents[N_TRAINING_TEXTS:]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    present = [name for name in contents if (folder / name).exists()]
    if present:
        raise FileExistsError(f"{folder / present[0]} is there already; give another folder.")
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the folder to write to: python -m polyseme.annif.example FOLDER")
    try:
        write_example(Path(sys.argv[1]))
    except OSError as error:
        sys.exit(f"Error: {error}")
