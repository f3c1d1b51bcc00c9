"""Tables of how near to the limits of a machine we are, for docs/performance.md."""

from __future__ import annotations

from benchmarks.recorded import markdown, paragraph, recorded

__all__ = ["BLOCKS"]

N_PASSES = 10
PREDICTION = {
    "if all lines came from memory": "random lines, all from memory",
    "if all lines came from L2": "random lines, all from L2",
    "if only bytes counted": "bytes from memory",
    "arithmetic": "arithmetic",
}


def machine() -> str:
    """Say what the machine of the measurements can do at most."""
    found = recorded("benchmarks/results/roofline.json")
    of = {name: value / 1e9 for name, value in found["machine"].items()}
    return paragraph(
        f"The machine of these measurements ({found['processor']}), with {found['threads']} "
        f"threads at work, reaches {of['memory_bytes_per_s']:.0f} GB/s from memory, "
        f"{of['l2_bytes_per_s']:.0f} GB/s from L2, {of['random_lines_per_s']:.2f} billion random "
        f"lines per second from memory ({found['machine']['random_latency_ns']:.0f} ns each) and "
        f"{of['l2_random_lines_per_s']:.1f} billion from L2, and {of['flops']:.0f} GFLOP/s."
    )


def prediction_limits() -> str:
    """Show what a prediction needs, and what it takes."""
    models = recorded("benchmarks/results/roofline.json")["models"]
    jobs = [of["prediction"] for of in models.values()]
    counts = [job["counts"] for job in jobs]
    rows = [
        ["features looked up; rows found"]
        + [f"{of['lookups']:,.0f}; {of['rows_found']:,.0f}" for of in counts],
        ["weights; cache lines"] + [f"{of['weights']:,.0f}; {of['lines']:,.0f}" for of in counts],
    ]
    for called, name in PREDICTION.items():
        rows.append([called, *(_microseconds(job["limit_s"][name]) for job in jobs)])
    rows.append(
        ["measured, with clusters left out", *(_microseconds(job["measured_s"]) for job in jobs)]
    )
    return markdown(["per document, in a batch", *models], rows)


def training_limits() -> str:
    """Show what the solver needs, and what it takes."""
    models = recorded("benchmarks/results/roofline.json")["models"]
    jobs = [of["training pass"] for of in models.values()]
    pass_s = [job["limit_s"]["weights from L2"] for job in jobs]
    measured = [job["measured_s"] for job in jobs]
    shares = [N_PASSES * one / all_ for one, all_ in zip(pass_s, measured, strict=True)]
    rows = [
        ["one pass, weights from L2", *(f"{seconds:.3f} s" for seconds in pass_s)],
        ["ten passes", *(f"{N_PASSES * seconds:.2f} s" for seconds in pass_s)],
        ["measured, with gathering, targets and pruning", *(f"{s:.2f} s" for s in measured)],
    ]
    said = (
        f"Training runs at {min(shares):.0%} to {max(shares):.0%} of what L2 can deliver for "
        "ten whole passes."
    )
    return f"{markdown(['ranker, all passes', *models], rows)}\n\n{said}"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.2g} us"


BLOCKS = {
    "limits-of-the-machine": machine,
    "limits-of-prediction": prediction_limits,
    "limits-of-training": training_limits,
}
