"""Our backend of Annif beside its own: `python -m benchmarks.annif_projects --data D`.

The folder has texts (`X.trn.txt`, `X.tst.txt`), labels (`Y.trn.npz`, `Y.tst.npz`) and their names
(`labels.txt`). Projects share vocabulary, corpus and analyzer, are trained and evaluated one after
the other by Annif's own command line, in the environment that `make annif-test` makes; omikuji is
installed there when its backend is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from benchmarks.options import plain_errors
from benchmarks.report import table

ENVIRONMENT = Path("build/annif-venv")
ANALYZER = "simple"
# The peer's is the setting of Bonsai in Annif's documentation, with pairs of words as ours.
PROJECTS: dict[str, dict[str, str]] = {
    "polyseme": {"backend": "polyseme"},
    "polyseme-product": {"backend": "polyseme", "ordering": "product"},
    "bonsai": {
        "backend": "omikuji",
        "cluster_balanced": "False",
        "cluster_k": "100",
        "max_depth": "3",
        "min_df": "2",
        "ngram": "2",
    },
}
FIGURES = ("Precision@1", "Precision@3", "Precision@5", "F1@5", "NDCG", "NDCG@5")


def main() -> None:
    """Train and evaluate each project; print a table, write JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.annif_projects", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with texts and matrices")
    parser.add_argument(
        "--projects",
        default=",".join(PROJECTS),
        help="some of %(default)s, by commas",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("build/annif-benchmark"),
        help="where to work; %(default)s",
    )
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    with plain_errors("benchmarks.annif_projects"):
        names = options.projects.split(",")
        unknown = [name for name in names if name not in PROJECTS]
        if unknown:
            raise ValueError(
                f"there is no project {unknown[0]!r}; known are {', '.join(PROJECTS)}."
            )
        if not (ENVIRONMENT / "bin" / "annif").exists():
            raise FileNotFoundError(f"{ENVIRONMENT} is not there; `make annif-test` makes it.")
        write_projects(options.data, options.work)
    annif = Annif(options.work)
    if "bonsai" in names:
        annif.install("omikuji")
    annif("load-vocab", "labels", "labels.tsv", "--language", "en", "--force")
    results = {}
    for name in names:
        seconds = annif("train", name, "train.tsv")
        annif("eval", name, "test.tsv", "--metrics-file", f"{name}.json")
        found = json.loads((options.work / f"{name}.json").read_text())
        results[name] = {"train_seconds": seconds, **{key: found.get(key) for key in FIGURES}}
        print(f"{name}: {results[name]}", file=sys.stderr)
    print(report(results))
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def write_projects(data: Path, work: Path) -> None:
    """Write corpus, vocabulary and projects as Annif reads them."""
    work.mkdir(parents=True, exist_ok=True)
    labels = (data / "labels.txt").read_text(encoding="utf-8").splitlines()
    rows = [f"<{uri_of(i)}>\t{name}\n" for i, name in enumerate(labels)]
    (work / "labels.tsv").write_text("".join(rows), encoding="utf-8")
    for part, name in (("trn", "train"), ("tst", "test")):
        Y = sp.csr_array(sp.load_npz(data / f"Y.{part}.npz"))
        texts = (data / f"X.{part}.txt").read_text(encoding="utf-8").split("\n")
        with open(work / f"{name}.tsv", "w", encoding="utf-8") as file:
            for i in range(Y.shape[0]):
                uris = " ".join(f"<{uri_of(j)}>" for j in Y.indices[Y.indptr[i] : Y.indptr[i + 1]])
                file.write(f"{' '.join(texts[i].split())}\t{uris}\n")
    shared = {"language": "en", "vocab": "labels", "analyzer": ANALYZER}
    sections = [
        "\n".join([f"[{name}]", *(f"{k}={v}" for k, v in {"name": name, **shared, **own}.items())])
        for name, own in PROJECTS.items()
    ]
    (work / "projects.cfg").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    # NLTK wants a model of sentences; one that has learned nothing will do, since words count.
    english = work / "nltk" / "tokenizers" / "punkt_tab" / "english"
    english.mkdir(parents=True, exist_ok=True)
    for file_name in (
        "collocations.tab",
        "sent_starters.txt",
        "abbrev_types.txt",
        "ortho_context.tab",
    ):
        (english / file_name).write_text("", encoding="utf-8")


def uri_of(label: int) -> str:
    """Return what a label is called in the vocabulary."""
    return f"http://example.org/{label}"


class Annif:
    """Annif's command line in a folder."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.bin = (ENVIRONMENT / "bin").absolute()
        self.variables = {**os.environ, "NLTK_DATA": str((work / "nltk").absolute())}

    def __call__(self, *words: str) -> float:
        """Run a command and return its seconds."""
        began = time.perf_counter()
        subprocess.run([self.bin / "annif", *words], cwd=self.work, env=self.variables, check=True)
        return time.perf_counter() - began

    def install(self, package: str) -> None:
        """Install a package beside Annif."""
        subprocess.run(
            [self.bin / "python", "-m", "pip", "install", "--quiet", package], check=True
        )


def report(results: dict[str, dict[str, Any]]) -> str:
    """Return a table of all projects."""
    header = ["project", "train s", *FIGURES]
    rows = [
        [name, f"{found['train_seconds']:.0f}", *(f"{found[key]:.4f}" for key in FIGURES)]
        for name, found in results.items()
    ]
    return "\n".join(table([header, *rows]))


if __name__ == "__main__":
    main()
