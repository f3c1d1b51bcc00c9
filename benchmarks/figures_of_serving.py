"""Tables of servers and of models of texts; `benchmarks.figures` writes them."""

from __future__ import annotations

from benchmarks.recorded import DATA, markdown, recorded

CLIENTS = {"1": "1 client", "8": "8 clients", "64": "64 clients"}
SERVED = {
    "polyseme-copies2": "polyseme, 2 copies",
    "polyseme": "polyseme, plain",
    "libpecos": "libpecos",
    "libpecos-1": "libpecos, one thread",
    "none": "no model, only the server",
    "polyseme-text": "polyseme, texts",
}
ENCODED = {
    "tf-idf": "TF-IDF alone (`XRLinear`)",
    "torch": "encoder with torch",
    "onnx-float32": "ONNX Runtime, float32",
    "onnx-int8": "ONNX Runtime, int8",
}
PRECISION = 0.7  # of the thresholds that the page shows


def serving() -> str:
    """Show requests per second and times of each system, for several numbers of clients."""
    medians = recorded("benchmarks/results/serving.json")["medians"]
    rows = []
    for name, called in SERVED.items():
        cells = []
        for clients in CLIENTS:
            of = medians[name][clients]
            cells += [f"{of['per_second']:,.0f}", f"{of['p50_ms']:.1f}", f"{of['p99_ms']:.1f}"]
        rows.append([called, *cells])
    heads = [
        head
        for clients in CLIENTS.values()
        for head in (f"{clients}: requests/s", "p50 ms", "p99 ms")
    ]
    return markdown(["", *heads], rows)


def soak() -> str:
    """Say what many requests of all kinds leave behind."""
    of = recorded("benchmarks/results/serving.json")["soak"]
    right = "some of them wrongly" if of["unexpected"] else "each of them correctly"
    return (
        f"{of['n_clients']} clients sent {of['n_requests']:,} requests of all kinds, bad ones "
        f"among them, in {of['seconds']:.0f} s, while other work was\nrunning. The server "
        f"answered {right}; its resident memory was {of['first_quarter_mib']:.1f} MiB in the "
        f"first\nquarter and {of['last_quarter_mib']:.1f} MiB in the last."
    )


def encoders_served() -> str:
    """Show times of one text through an encoder."""
    latency = recorded("benchmarks/results/neural-serving.json")["latency"]
    whole, short = latency["whole texts"], latency["first 12 words"]
    rows = []
    for name, called in ENCODED.items():
        asked = [whole[name][way] for way in ("in process", "HTTP, 1 client", "HTTP, 8 clients")]
        asked.append(short[name]["HTTP, 1 client"])
        times = [f"{of['p50_ms']:.3g} / {of['p99_ms']:.3g}" for of in asked]
        processor = [f"{of[name]['in process']['processor_ms']:.1f}" for of in (whole, short)]
        rows.append([called, processor[0], *times[:3], processor[1], times[3]])
    head = ["", "processor ms, 128 tokens", "in process", "HTTP, 1 client", "HTTP, 8 clients"]
    return markdown([*head, "processor ms, 12 words", "HTTP, 1 client"], rows)


def label_thresholds() -> str:
    """Show thresholds for each label beside one for all."""
    rows = [
        [
            *(data, row["thresholds"], f"{row['precision']:.1%}", f"{row['recall']:.1%}"),
            "{:.0%} to {:.0%} precise".format(*row["spread"]),
        ]
        for data in reversed(DATA)
        for row in recorded(f"benchmarks/results/texts-{data}.json")["label_thresholds"]
        if row["wanted"] == PRECISION
    ]
    last = "four fifths of the labels with ten suggestions or more"
    return markdown(["data", "thresholds", "precision", "recall", last], rows)


def text_report() -> str:
    """Show what a report says, and what is true of the test part."""
    rows = []
    for data in DATA:
        found = recorded(f"benchmarks/results/texts-{data}.json")
        for called, of in (("the report", found["report"]), ("the test part", found["test"])):
            cut, error = of["threshold"], of["reliability"]["calibration_error"]
            shares = (cut["precision"], cut["recall"], cut["f1"], cut["without_label"], error)
            figures = (of["accuracy"]["P@1"], *(100 * share for share in shares))
            rows.append([data, called, *(f"{figure:.1f}" for figure in figures)])
    head = ["data", "in percent", "P@1", "precision", "recall", "F1", "without a label"]
    return markdown([*head, "error of probabilities"], rows)


BLOCKS = {
    "serving": serving,
    "soak": soak,
    "encoders-served": encoders_served,
    "label-thresholds": label_thresholds,
    "text-report": text_report,
}
