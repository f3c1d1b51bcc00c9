"""Do samples tell which settings are good? `python -m benchmarks.samples --data D`.

Sixteen settings are tried on samples of the training documents and on all of them, as a search
does it (`polyseme.tune`), on the same held-out documents. The better a sample puts them into the
order that all documents put them into, the sooner a search may rely on it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.processors import processor
from polyseme import XRLinear, datasets
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.tuning.metric import Metric
from polyseme.tuning.trials import SAMPLES, Laboratory

SEED = 0
METRICS = ("P@1", "P@5", "PSP@5", "nDCG@5")
BOTH, FINE, LARGE = {"training_rows": "both"}, {"min_weight": 0.05}, {"max_leaf_size": 200}
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"copies": 1, "rounds": 0},
    {"copies": 2},
    {"beam_size": 5},
    {"beam_size": 20},
    {"C": 0.5},
    {"C": 4.0},
    {"min_weight": 0.2},
    FINE,
    LARGE,
    {"max_leaf_size": 400},
    {"favour_rare": 0.25},
    BOTH,
    {**BOTH, **FINE},
    {**BOTH, **FINE, **LARGE},
    {**BOTH, **FINE, **LARGE, "copies": 2},
)


@dataclass(frozen=True)
class AllMetrics(Metric):
    """Measures several figures at once; the first is the score of the trial."""

    found: dict[str, float] = field(default_factory=dict)

    def __call__(self, top_labels: Any, Y_true: Any, propensities: Any) -> float:
        """Keep all figures in `found`, in percent."""
        for name in METRICS:
            self.found[name] = Metric.named(name)(top_labels, Y_true, propensities)
        return self.found[METRICS[0]]


def main() -> None:
    """Try all settings on every data set; write what was found as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.samples", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, nargs="+")
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.samples"):
        make_folder(options.results, "--results")
        for folder in options.data:
            data, name = datasets.load(folder), folder.resolve().name
            found = {
                "processor": processor(),
                "seed": SEED,
                "settings": list(SETTINGS),
                "figures": tried(data, name, options.threads),
            }
            file = options.results / f"samples-{name}.json"
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"written: {file}", flush=True)


def tried(data: datasets.Dataset, name: str, n_threads: int) -> dict[str, list[dict[str, float]]]:
    """Return the figures of all settings, by the share of the documents that they learned from."""
    documents = check_features(data.X_train)
    labels, _ = check_labels(data.Y_train, documents.n_rows)
    measure = AllMetrics("P", 5)
    model = XRLinear(random_state=SEED, n_jobs=n_threads, verbose=0)
    laboratory = Laboratory(model, documents, labels, measure, 0.1, SEED, 0.55, 1.5)
    figures: dict[str, list[dict[str, float]]] = {}
    for parts in SAMPLES:
        figures[str(parts)] = of_sample = []
        for number, settings in enumerate(SETTINGS, 1):
            laboratory.try_out(settings, laboratory.n_training // parts, lambda: False)
            of_sample.append(dict(measure.found))
            print(f"{name}, 1/{parts}, {number} of {len(SETTINGS)}: {measure.found}", flush=True)
    return figures


if __name__ == "__main__":
    main()
