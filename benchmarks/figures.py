"""Writes figures into pages, from recorded results alone, so that no two pages disagree.

    python -m benchmarks.figures

In a page, what stands between `<!-- figures: NAME -->` and `<!-- end of figures -->` is made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import fmean

from benchmarks import (
    figures_of_adapters,
    figures_of_experiments,
    figures_of_machines,
    figures_of_networks,
    figures_of_ordering,
    figures_of_senses,
    figures_of_serving,
    figures_of_trees,
    figures_of_tuning,
)
from benchmarks.recorded import DATA, ROOT, markdown, paragraph, recorded
from benchmarks.report import COLUMNS
from benchmarks.targets import targets

PAGES = (
    "README.md",
    "docs/accuracy.md",
    "docs/paper.md",
    "docs/does-it-hold.md",
    "docs/performance.md",
    "docs/annif.md",
    "docs/one-vs-rest.md",
    "docs/nearest.md",
    "docs/ordering.md",
    "docs/neural.md",
    "docs/adapters.md",
    "docs/attention.md",
    "docs/senses.md",
    "docs/serving.md",
    "docs/text.md",
    "docs/trees.md",
    "docs/tuning.md",
    "benchmarks/README.md",
)
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.S)
SYSTEMS = {
    "polyseme": "polyseme plain",
    "polyseme-copies2": "polyseme 2 copies",
    "polyseme-best": "polyseme, rows of both kinds",
    "libpecos": "libpecos",
    "libpecos-copies2": "libpecos, 2 copies the reference way",
    "omikuji-parabel": "omikuji, Parabel",
    "omikuji-bonsai": "omikuji, Bonsai",
    "napkinxc-plt": "napkinXC, PLT",
}
OF_METHODS = {
    "libpecos": "libpecos XR-Linear",
    "xr-linear": "polyseme, plain",
    "xr-linear-copies2": "polyseme, two copies, bare product",
    "xr-linear-defaults": "**polyseme, defaults**",
}
COARSE = {"train_s": "{:.1f}", "load_s": "{:.2f}", "first_s": "{:.1f}", "batch_us": "{:.0f}"}
GENERATED = {
    "generated-80k": "generated, 80,000 labels, 90,000 documents",
    "generated-200k": "generated, 200,000 labels, 60,000 documents",
    "generated-5k": "generated, 5,000 labels, 80,000 documents",
}


def side_by_side() -> str:
    """Every system on both data sets."""
    parts = []
    for data in DATA:
        rows = [
            [
                SYSTEMS[name],
                *(COARSE.get(key, form).format(of[key]) for key, (_, form) in COLUMNS.items()),
                " / ".join(f"{of[f'P@{k}']:.1f}" for k in (1, 3, 5)),
            ]
            for name, of in recorded(f"benchmarks/results/{data}.json")["medians"].items()
        ]
        head = ["", *(heading for heading, _ in COLUMNS.values()), "P@1 / 3 / 5"]
        parts += [f"**{data}**", markdown(head, rows)]
    return "\n\n".join(parts)


def aims() -> str:
    """Compare with what was aimed at; bold where it was missed."""
    rows = []
    medians = [recorded(f"benchmarks/results/{data}.json")["medians"] for data in DATA]
    for of_data in zip(*map(targets, DATA), strict=True):
        cells = []
        for target, of in zip(of_data, medians, strict=True):
            above, below = (
                of[system][key] for system, key in (target.numerator, target.denominator)
            )
            got = above / below
            shown = f"{got:.2f}" if target.at_most else f"{got:.1f}x"
            missed = got > target.wanted if target.at_most else got < target.wanted
            cells.append(f"**{shown}**" if missed else shown)
        wanted = dict.fromkeys(f"{target.wanted:g}" for target in of_data)
        aim = ", ".join(f"at most {w}" if of_data[0].at_most else f"{w}x" for w in wanted)
        rows.append([of_data[0].what, *cells, aim])
    return markdown(["", *DATA, "aim"], rows)


def scaling() -> str:
    """How cost grows, as exponents."""
    results = recorded("benchmarks/results/scaling.json")
    measures = ("train_s", "train_peak_mib", "disk_mb", "batch_us")
    rows = []
    for axis, points in results["axes"].items():
        ends = [f"{int(point):,}" for point in points]
        slopes = (f"{results['slopes'][axis][measure]:.2f}" for measure in measures)
        rows.append([axis, f"{ends[0]} to {ends[-1]}", *slopes])
    head = ["what grows", "from, to", "training", "memory above the data", "model", "prediction"]
    return markdown(head, rows)


def a_million() -> str:
    """One million labels and documents, in a sentence."""
    of = recorded("benchmarks/results/scaling.json")["axes"]["labels and documents"]["1000000"]
    total, data = (
        of["train_total_mib"] / 1024,
        (of["train_total_mib"] - of["train_peak_mib"]) / 1024,
    )
    return (
        f"One million labels and one million documents, two copies, took {of['train_s']:.0f} s to "
        f"train and {total:.1f} GiB\nin all, {data:.1f} GiB of which are the data; the model has "
        f"{of['disk_mb'] / 1000:.1f} GB, and a document takes {of['batch_us']:.0f} us."
    )


def estimates() -> str:
    """Estimated over real cost, and how often the real one was within the range."""
    rows, n_within, n_all = [], 0, 0
    for name, runs in recorded("benchmarks/results/estimates.json").items():
        data, _, settings = name.partition(", ")
        ratios = []
        for measure in ("seconds", "peak_bytes", "model_bytes"):
            ratios.append(
                fmean(r["estimated"][measure]["about"] / r["real"][measure] for r in runs)
            )
            for run in runs:
                said, real = run["estimated"][measure], run["real"][measure]
                n_within += said["low"] <= real <= said["high"]
                n_all += 1
        rows.append([GENERATED.get(data, data), settings, *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["data", "settings", "time", "peak memory", "model size"]
    sentence = f"{n_within} of these {n_all} figures lay within the estimated range:"
    return f"{sentence}\n\n{markdown(head, rows)}"


def linear() -> str:
    """Show what disentanglement gains with the paper's settings, as means over seeds."""
    methods = {"XR-Linear": "one place", "alternative update": "two places, as in the paper"}
    rows = []
    for data in DATA:
        cells = recorded(f"experiments/results/{data}/linear.json")["cells"]
        for method, called in methods.items():
            of = [cell["figures"] for cell in cells if cell["method"] == method]
            rows.append(
                [data, called, *(f"{fmean(c[f'P@{k}'] for c in of):.2f}" for k in (1, 3, 5))]
            )
    return markdown(["data", "labels have", "P@1", "P@3", "P@5"], rows)


def annif() -> str:
    """Our backend beside Annif's own."""
    results = recorded("benchmarks/results/annif-tibkat-core.json")
    names = {"polyseme": "polyseme", "bonsai": "omikuji, Bonsai"}
    rows = [
        [
            *(names[name], f"{of['train_seconds']:.0f}"),
            *(f"{100 * of[f'Precision@{k}']:.1f}" for k in (1, 3, 5)),
            *(f"{of['F1@5']:.3f}", f"{of['NDCG']:.3f}"),
        ]
        for name, of in results.items()
    ]
    return markdown(["backend", "train s", "P@1", "P@3", "P@5", "F1@5", "NDCG"], rows)


def of_methods(data: str) -> dict[str, dict[str, float]]:
    """Return the medians of XR-Linear and its peer in the table of methods."""
    rows = recorded(f"benchmarks/results/methods-{data}.json")["rows"]
    return {name: rows[name]["medians"] for name in OF_METHODS}


def _six(of: dict[str, float]) -> list[str]:
    return [
        " / ".join(f"{of[f'{measure}@{k}']:.2f}" for k in (1, 3, 5)) for measure in ("P", "PSP")
    ]


def nearest() -> str:
    """Show methods that ask neighbours, beside trees."""
    names = {
        "nearest-neighbours": "`NearestNeighbours`",
        "nearest-labels": "`NearestLabels`",
        "nearest-labels-copies2": "`NearestLabels`, two copies",
        "xr-linear": "`XRLinear`, plain",
        "xr-linear-defaults": "`XRLinear`, defaults",
    }
    rows = []
    for data in reversed(DATA):
        found = recorded(f"benchmarks/results/methods-{data}.json")["rows"]
        for name, called in names.items():
            of = found[name]["medians"]
            rows.append([data, called, *_six(of), f"{of['train_s']:.0f}", f"{of['disk_mb']:.0f}"])
    return markdown(["data", "method", "P@1 / 3 / 5", "PSP@1 / 3 / 5", "train s", "MB"], rows)


def shortlists() -> str:
    """Show which share of the true labels is near a document, by vectors of several kinds."""
    called = {
        "directions": "256 directions, as here",
        "by the root of the spread": "the same, each divided by the root of its spread",
        "by the spread": "the same, each divided by its spread",
        "directions learned with labels": "256 directions learned with labels",
        "all words": "all 200,000 words, no projection",
    }
    found = recorded("benchmarks/results/shortlists-tibkat-core.json")["found"]
    rows = [
        [text, *(f"{share:.1%}" for share in found[name].values())]
        for name, text in called.items()
    ]
    return markdown(["vectors", *(f"of {size}" for size in found["directions"])], rows)


def one_vs_rest_whole() -> str:
    """Show one-vs-rest of all labels, beside trees."""
    names = {
        "one-vs-rest": "one-vs-rest",
        "xr-linear": "`XRLinear`, plain",
        "xr-linear-defaults": "`XRLinear`, defaults",
    }
    rows = []
    for data in reversed(DATA):
        found = recorded(f"benchmarks/results/methods-{data}.json")["rows"]
        rows += [[data, called, *_six(found[name]["medians"])] for name, called in names.items()]
    return markdown(["data", "method", "P@1 / 3 / 5", "PSP@1 / 3 / 5"], rows)


def in_short() -> str:
    """Show in few words what polyseme gains and what that takes."""
    keys = ("P@1", "P@3", "P@5", "PSP@5")
    rows = []
    for data in DATA:
        n_labels = recorded(f"benchmarks/results/methods-{data}.json")["data"]["n_labels"]
        place = f"{data}, {n_labels:,} labels"
        for name, of in of_methods(data).items():
            if name != "xr-linear-copies2":
                form = "**{:.2f}**" if name == "xr-linear-defaults" else "{:.2f}"
                rows.append([place, OF_METHODS[name], *(form.format(of[key]) for key in keys)])
                place = ""
    seconds = {name: of["train_s"] for name, of in of_methods(DATA[0]).items()}
    annif_seconds = {
        name: of["train_seconds"]
        for name, of in recorded("benchmarks/results/annif-tibkat-core.json").items()
    }
    sentences = (
        f"Training on {DATA[0]} takes {seconds['xr-linear']:.1f} s plain and "
        f"{seconds['xr-linear-defaults']:.0f} s by default; libpecos takes "
        f"{seconds['libpecos']:.0f} s.\nIn Annif the defaults beat its Bonsai in every figure and "
        f"train {annif_seconds['bonsai'] / annif_seconds['polyseme']:.1f} times as fast."
    )
    return f"{markdown(['data', 'model', *keys], rows)}\n\n{sentences}"


def accuracy() -> str:
    """Show XR-Linear beside libpecos."""
    keys = [f"{measure}@{k}" for measure in ("P", "PSP") for k in (1, 3, 5)]
    rows = [
        [data, OF_METHODS[name], f"{of['train_s']:.1f}", *(f"{of[key]:.2f}" for key in keys)]
        for data in DATA
        for name, of in of_methods(data).items()
    ]
    return markdown(["data", "model", "train s", *keys], rows)


def more_accuracy() -> str:
    """Show XR-Linear on further data sets."""
    keys = [f"{measure}@{k}" for measure in ("P", "PSP") for k in (1, 3, 5)]
    rows = []
    for data in ("metamath", "npm-deps"):
        found = recorded(f"benchmarks/results/more/methods-{data}.json")["rows"]
        for name in ("xr-linear-copies2", "xr-linear-defaults"):
            of = found[name]["medians"]
            rows.append([data, OF_METHODS[name], *(f"{of[key]:.2f}" for key in keys)])
    return markdown(["data", "model", *keys], rows)


def one_vs_rest() -> str:
    """Our solver beside liblinear's."""
    systems = recorded("benchmarks/results/one-vs-rest.json")["systems"]
    rows = [
        [name, f"{of['train_s']:.1f}", *(f"{of[f'P@{k}']:.2f}" for k in (1, 3, 5))]
        for name, of in systems.items()
    ]
    return markdown(["", "train s", "P@1", "P@3", "P@5"], rows)


def penalties() -> str:
    """Show what the two penalties of one-vs-rest take and find."""
    rows = []
    for data in reversed(DATA):
        found = recorded(f"benchmarks/results/penalties-{data}.json")
        for name, row in found["rows"].items():
            all_labels = row["train_s"] * found["n_labels"] / found["n_drawn"]
            figures = [f"{row[key]:.2f}" for key in row if "@" in key]
            took = [f"{row['train_s']:.1f}", f"{all_labels:.0f}", f"{row['n_weights']:,}"]
            rows.append([data, name, *took, *figures])
    measures = [f"{measure}@{k}" for measure in ("P", "PSP") for k in (1, 3, 5)]
    return markdown(["data", "penalty", "train s", "all labels", "weights", *measures], rows)


def frames() -> str:
    """How fast the cloud of the page is drawn."""
    found = recorded("benchmarks/results/frames.json")
    rows = [
        (
            str(screen["pixels_per_pixel"]),
            f"{screen['frames_per_second']:.0f}",
            f"{screen['late_share']:.0%}",
            f"{min(screen['draw_ms'].values()):.1f} to {max(screen['draw_ms'].values()):.1f}",
        )
        for screen in found["screens"]
    ]
    head = ("device pixels per pixel", "frames per second", "late frames", "ms to draw a frame")
    said = (
        f"A moving cloud of {found['topics']:,} topics in a window "
        f"of {found['screen']['width']:,} pixels, in Chromium without a graphics card "
        "(`python -m benchmarks.frames`):"
    )
    return f"{paragraph(said)}\n\n{markdown(head, rows)}"


BLOCKS: dict[str, Callable[[], str]] = {
    "frames": frames,
    "penalties": penalties,
    "in-short": in_short,
    "accuracy": accuracy,
    "more-accuracy": more_accuracy,
    "side-by-side": side_by_side,
    "aims": aims,
    "scaling": scaling,
    "a-million": a_million,
    "estimates": estimates,
    "linear": linear,
    "annif": annif,
    "one-vs-rest": one_vs_rest,
    "one-vs-rest-whole": one_vs_rest_whole,
    "nearest": nearest,
    "shortlists": shortlists,
    **figures_of_adapters.BLOCKS,
    **figures_of_experiments.BLOCKS,
    **figures_of_senses.BLOCKS,
    **figures_of_networks.BLOCKS,
    **figures_of_ordering.BLOCKS,
    **figures_of_serving.BLOCKS,
    **figures_of_trees.BLOCKS,
    **figures_of_machines.BLOCKS,
    **figures_of_tuning.BLOCKS,
}


def filled(text: str) -> str:
    """Return a page with its figures as they are recorded now."""
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]()}\n{match[3]}", text)


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            path.write_text(filled(text), encoding="utf-8")
            print(f"{page} has new figures")


if __name__ == "__main__":
    main()
