"""Which labels of a vocabulary are most likely ambiguous: `python -m benchmarks.ambiguous_labels`.

A model with default settings is trained for each data set and seed. What a reader made of the
labels of the first lies in `benchmarks/judgements`; docs/senses.md shows both.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.options import count, make_folder, plain_errors
from polyseme import XRLinear, datasets, senses


def main() -> None:
    """Train on every data set; write its most ambiguous labels as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ambiguous_labels", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, nargs="+")
    parser.add_argument("--labels", type=count, default=20, help="%(default)s by default")
    parser.add_argument("--seeds", type=count, default=4, help="%(default)s by default")
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.ambiguous_labels"):
        make_folder(options.results, "--results")
        for folder in options.data:
            data = datasets.load(folder)
            found = [
                most_ambiguous(data, seed, options.labels, options.threads)
                for seed in range(options.seeds)
            ]
            file = options.results / f"ambiguous-{folder.resolve().name}.json"
            file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
            print(f"written: {file}")


def most_ambiguous(
    data: datasets.Dataset, seed: int, n_labels: int, n_threads: int
) -> dict[str, Any]:
    """Return the labels that divide most like two, and the senses of each."""
    model = XRLinear(random_state=seed, n_jobs=n_threads, verbose=0)
    model.fit(
        data.X_train,
        data.Y_train,
        label_names=data.label_names,
        feature_names=data.feature_names,
    )
    layer = model.senses_
    assert layer is not None
    return {
        "seed": seed,
        "n_judged": layer.n_judged,
        "n_ambiguous": layer.n_shown,
        "labels": [
            {
                "label": one.label,
                "name": one.name,
                "ambiguity": one.ambiguity,
                "senses": [
                    {"name": sense.name, "share": sense.share}
                    for sense in senses.senses_of(model, one.label, at_least=0)
                ],
            }
            for one in senses.ambiguous_labels(model, n_labels, at_least=0)
        ],
    }


if __name__ == "__main__":
    main()
