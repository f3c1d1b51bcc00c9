"""A text model with the defaults, from texts to its report: `python -m benchmarks.texts --data D`.

D is a folder with texts beside its matrices (`X.trn.txt`, `X.tst.txt`, `labels.txt`). What the
report of the training says is recorded, what is true of the test part, what thresholds for each
label bring, and what the training took.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.label_thresholds import compared
from benchmarks.options import make_folder, plain_errors
from polyseme import TextModel, XRLinear, datasets
from polyseme.text import Record

KEPT = ("n_documents", "n_labels", "accuracy", "threshold", "reliability")
SEED = 0


def main() -> None:
    """Train and measure, and write down what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.texts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, action="append")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.texts"):
        make_folder(options.results, "--results")
        for folder in options.data:
            found = measured(datasets.load_folder(folder))
            file = options.results / f"texts-{folder.resolve().name}.json"
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"{file} is written")


def measured(data: datasets.Dataset) -> dict[str, Any]:
    """Train a model with the defaults, and measure it on the test part."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    model = TextModel(classifier=XRLinear(random_state=SEED, verbose=0), verbose=0)
    training = list(records(data.train_texts, data.Y_train, data.label_names))
    model.fit_records(training)
    after = resource.getrusage(resource.RUSAGE_SELF)
    test = list(records(data.test_texts, data.Y_test, data.label_names))
    report, on_test = model.report_, model.evaluate(test)
    return {
        "n_training_documents": len(training),
        "report": {key: report[key] for key in KEPT},
        "test": {key: on_test[key] for key in KEPT},
        "label_thresholds": compared(model, test, SEED),
        "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def records(texts: Any, labels: Any, names: Any) -> Iterator[Record]:
    """Yield documents with the names of their labels."""
    rows = labels.tocsr()
    for i, text in enumerate(texts):
        of = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        yield Record(text, tuple(names[label] for label in of))


if __name__ == "__main__":
    main()
