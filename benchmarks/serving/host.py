"""A server in a process of its own: `python -m benchmarks.serving.host KIND MODEL`.

It is what `polyseme serve` runs; only the way to load the model can be another. Prints its
address when it listens, and ends with SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import site
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The peers' environment has libpecos and its NumPy; what it lacks (polyseme and what its server
# needs) comes from the environment of the harness.
HARNESS_PACKAGES = "BENCHMARK_HARNESS_PACKAGES"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["polyseme", "libpecos", "libpecos-1", "none"])
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    if HARNESS_PACKAGES in os.environ:
        site.addsitedir(os.environ[HARNESS_PACKAGES])

    from benchmarks.serving.other_models import load_libpecos, load_no_model
    from polyseme import load
    from polyseme.server.running import serve
    from polyseme.server.settings import ServerSettings

    loaders: dict[str, Callable[..., Any]] = {
        "polyseme": load,
        "libpecos": load_libpecos,
        "libpecos-1": lambda path, n_jobs: load_libpecos(path, 1),
        "none": load_no_model,
    }
    serve(
        {options.model.name: options.model},
        ServerSettings(n_threads=options.threads),
        port=0,
        load=loaders[options.kind],
        on_start=lambda url: print(url, flush=True),
    )


if __name__ == "__main__":
    main()
