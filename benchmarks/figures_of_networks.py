"""Tables of networks and encoders, from recorded results; `benchmarks.figures` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.recorded import markdown, recorded
from polyseme.machine import phases

PRECISIONS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
CALLED = {
    "tf-idf": "TF-IDF",
    "static": "static table + TF-IDF",
    "frozen": "MiniLM, not fine-tuned + TF-IDF",
    "fine-tuned": "MiniLM fine-tuned + TF-IDF",
    "ensemble": "ensemble of three",
    "xr-linear": "XR-Linear",
    "xr-linear-of-texts": "XR-Linear on the texts that networks read",
    "attention-xml": "AttentionXML",
    "xml-cnn": "XML-CNN",
}
OF_ENCODERS = (phases.FINE_TUNING, phases.ENCODING)
ENCODERS = {"minilm": "MiniLM", "wordllama": "static table"}


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of results, in the order in which tables have them."""
    rows: list[dict[str, Any]] = recorded(f"benchmarks/results/{name}")
    order = list(CALLED)
    return sorted(
        rows,
        key=lambda row: (
            row["asked"]["data"],
            row["asked"]["n_documents"],
            order.index(row["asked"]["row"]),
            row["asked"]["copies"],
        ),
    )


def of_file(name: str) -> str:
    """Return a table for each data set of a file, with the number of documents above it."""
    parts: dict[tuple[str, int], list[list[str]]] = {}
    for row in rows_of(name):
        asked = row["asked"]
        copies = "plain" if asked["copies"] == 1 else f"{asked['copies']} copies"
        cells = [f"{_called(asked)}, {copies}", f"{row['train_seconds']:,.0f}"]
        cells += [f"{row[key]:.2f}" for key in PRECISIONS]
        parts.setdefault((asked["data"], asked["n_documents"]), []).append(cells)
    head = ["", "train s", *PRECISIONS]
    return "\n\n".join(
        f"**{data}, {n_documents:,} training documents**\n\n{markdown(head, rows)}"
        for (data, n_documents), rows in parts.items()
    )


def neural() -> str:
    """Compare encoders beside TF-IDF."""
    return of_file("neural.json")


def attention() -> str:
    """Compare networks that read words."""
    return of_file("attention.json")


def members() -> str:
    """Show each member of each ensemble with copies, and all together."""
    parts = []
    for row in rows_of("neural.json"):
        asked = row["asked"]
        cells = [
            [_member(one), *(f"{one[key]:.2f}" for key in PRECISIONS)]
            for one in row.get("members", [])
        ]
        if cells and asked["copies"] > 1:
            title = f"**{asked['data']}, {_called(asked)}, {asked['copies']} copies**"
            parts.append(f"{title}\n\n{markdown(['', *PRECISIONS], cells)}")
    return "\n\n".join(parts)


def levels() -> str:
    """Show what fine-tuning came to: the recall of clusters on held-out documents."""
    rows = []
    for row in rows_of("neural.json"):
        asked = row["asked"]
        if asked["row"] != "fine-tuned" or asked["copies"] == 1:
            continue
        for level in row["finetuning"]:
            recalls = (f"{100 * level[key]:.1f}" for key in ("recall_before", "recall"))
            cells = (f"{level['n_clusters']:,}", f"{level['n_steps']:,}", *recalls)
            rows.append([asked["data"], f"{asked['n_documents']:,}", *cells])
    return markdown(
        ["data", "documents", "clusters", "steps", "recall before", "recall after"], rows
    )


def overhead() -> str:
    """Show what copies add to the training of a fine-tuned encoder and its linear parts.

    The row that was trained first has the seconds of the encoder; the other reads what it kept.
    """
    rows = []
    tuned = [row for row in rows_of("neural.json") if row["asked"]["row"] == "fine-tuned"]
    for data in dict.fromkeys(row["asked"]["data"] for row in tuned):
        seconds = {row["asked"]["copies"]: row["phase_seconds"] for row in tuned if _of(row, data)}
        if len(seconds) < 2:
            continue
        encoding = max(sum(of[phase] for phase in OF_ENCODERS) for of in seconds.values())
        plain, copies = (
            sum(taken for phase, taken in seconds[n].items() if phase not in OF_ENCODERS)
            for n in (1, 2)
        )
        more = f"{100 * (copies - plain) / (encoding + plain):.1f}%"
        rows.append([data, f"{encoding:,.0f}", f"{plain:.0f}", f"{copies:.0f}", more])
    head = ["data", "encoder s", "linear parts s, plain", "with two copies", "more training"]
    return markdown(head, rows)


def _of(row: dict[str, Any], data: str) -> bool:
    return bool(row["asked"]["data"] == data)


def _called(asked: dict[str, Any]) -> str:
    name = CALLED[asked["row"]]
    if asked["row"] == "ensemble":
        is_tuned = asked["settings"].get("finetuning") != "none"
        name += " with MiniLM fine-tuned" if is_tuned else " with MiniLM not fine-tuned"
    return name


def _member(one: dict[str, Any]) -> str:
    if one["member"] is None:
        return "**all together**"
    encoder, label_features = one["of"]
    return f"{ENCODERS[Path(encoder).name]}, labels grouped by {label_features}"


BLOCKS = {
    "neural": neural,
    "members": members,
    "levels": levels,
    "overhead": overhead,
    "attention": attention,
}
