"""Small projects of Annif: a vocabulary of six subjects, and texts that give them away."""

from __future__ import annotations

import random
from pathlib import Path

from annif.corpus import Document, DocumentList, SubjectSet
from annif.registry import AnnifRegistry
from annif.vocab import VocabFileTSV

from polyseme.annif import register

register()

WORDS = {
    "aquarium": "water glass filter pump gravel algae",
    "army": "soldier trench general march uniform barrack",
    "bakery": "flour oven dough yeast crust loaf",
    "astronomy": "star comet orbit telescope galaxy nebula",
    "banking": "loan interest deposit credit teller vault",
    "sailing": "mast anchor rudder harbour keel regatta",
}
COMMON = ["the", "a", "of", "and", "today", "about", "some", "with"]
SETTINGS = {"name": "Small", "language": "en", "backend": "polyseme", "vocab": "small"}


def uri_of(name: str) -> str:
    return f"http://example.org/{name}"


def make_project(folder: Path, **settings: object):
    """Return a project of its own registry, as a new process would see it."""
    lines = [f"{key}={value}" for key, value in {**SETTINGS, **settings}.items()]
    (folder / "projects.cfg").write_text("\n".join(["[small]", *lines, ""]), encoding="utf-8")
    registry = AnnifRegistry(str(folder / "projects.cfg"), str(folder / "data"), False)
    return registry.get_project("small")


def load_vocabulary(project, names, *, folder: Path, force: bool = False) -> None:
    """Load subjects, a name and perhaps another label for people, into a project's vocabulary."""
    pairs = names.items() if isinstance(names, dict) else zip(names, names, strict=True)
    path = folder / "subjects.tsv"
    path.write_text("".join(f"<{uri_of(n)}>\t{label}\n" for n, label in pairs), encoding="utf-8")
    project.vocab.load_vocabulary(VocabFileTSV(str(path), "en"), force=force)


def text_about(name: str, dice: random.Random) -> str:
    return " ".join(dice.sample(WORDS[name].split(), 3) + dice.sample(COMMON, 3))


def documents(project, names=tuple(WORDS), n_each: int = 10, seed: int = 0) -> DocumentList:
    """Return texts about each subject."""
    dice = random.Random(seed)
    return DocumentList(
        [
            Document(
                text=text_about(name, dice),
                subject_set=SubjectSet([project.subjects.by_uri(uri_of(name))]),
            )
            for _ in range(n_each)
            for name in names
        ]
    )


def best(project, text: str) -> str | None:
    """Return the URI's end of the first suggestion."""
    found = list(project.suggest([Document(text=text)])[0])
    return project.subjects[found[0].subject_id].uri.rsplit("/", 1)[1] if found else None
