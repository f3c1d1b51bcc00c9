"""What a search for settings gains on test documents: `python -m benchmarks.tuned --data D`.

Each search begins with the defaults. The model with what it found and one with the defaults are
then trained on all training documents, and measured on test documents, which no search saw.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.processors import processor
from polyseme import XRLinear, datasets, metrics, tune
from polyseme.machine.quantities import seconds_from, spoken_seconds
from polyseme.tuning import TuningResult

SEED = 0
KS = (1, 3, 5)


def main() -> None:
    """Search on every data set for every metric; write what was found as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuned", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, nargs="+")
    parser.add_argument("--metrics", nargs="+", default=["P@5", "PSP@5"])
    parser.add_argument("--budget", default="5m", help="of one search; %(default)s by default")
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.tuned"):
        make_folder(options.results, "--results")
        seconds = seconds_from(options.budget, "--budget")
        found: dict[str, Any] = {
            "processor": processor(),
            "threads": options.threads,
            "budget_s": seconds,
            "seed": SEED,
            "searches": [],
        }
        for folder in options.data:
            data = datasets.load(folder)
            if data.X_test is None or data.Y_test is None:
                raise ValueError(f"{folder} has no test documents; give one with X.tst.npz.")
            model = XRLinear(random_state=SEED, n_jobs=options.threads, verbose=0)
            baseline = measured(model, data)
            for metric in options.metrics:
                result = tune(
                    model, data.X_train, data.Y_train, budget=seconds, metric=metric, verbose=1
                )
                about = described(result, data, baseline) | {"data": folder.resolve().name}
                found["searches"].append(about)
                print(f"{about['data']}: {result.summary}\n{about['test']}", flush=True)
        file = options.results / "tuned.json"
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"written: {file}, after searches of {spoken_seconds(seconds)}")


def described(
    result: TuningResult, data: datasets.Dataset, baseline: dict[str, float]
) -> dict[str, Any]:
    """Return what a search found, and what that is worth on test documents."""
    best = result.best_estimator()
    return {
        "metric": result.metric,
        "given": result.baseline_parameters,
        "best": result.best_parameters,
        "held_out": {"defaults": result.baseline_score, "tuned": result.best_score},
        "test": {
            "defaults": baseline,
            "tuned": baseline
            if result.best_parameters == result.baseline_parameters
            else measured(best, data),
        },
        "n_held_out": result.n_held_out,
        "seconds": result.seconds,
        "shown": str(result),
        "toml": result.to_toml(),
        "trials": result.to_dict()["trials"],
    }


def measured(model: XRLinear, data: datasets.Dataset) -> dict[str, float]:
    """Train on all training documents; return figures on test documents, in percent."""
    assert data.Y_test is not None
    model.fit(data.X_train, data.Y_train)
    top, _ = model.predict_top_k(data.X_test, max(KS))
    weights = metrics.propensities(model.label_counts_, model.n_documents_)
    found = metrics.evaluate(top, data.Y_test, ks=KS, propensities=weights)
    return {f"{name}@{k}": found[f"{name}@{k}"] for name in ("P", "PSP") for k in KS}


if __name__ == "__main__":
    main()
