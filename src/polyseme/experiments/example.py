"""Fused labels as readable text: which documents go to which of their slots.

The paper shows one example ("tanks" and "fashion scarves"). Here a rule chooses: of the fused
labels with enough test documents of each part, in the order of how well their slots tell the parts
apart, the best, those at a quarter and at a half of the way, and the worst.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.fused_labels import fused_problem
from polyseme.experiments.label_fusion import fused_names
from polyseme.experiments.measuring import Figures
from polyseme.experiments.problem import Problem
from polyseme.experiments.published import PAPER
from polyseme.experiments.run_names import run_named
from polyseme.experiments.separation import (
    GoneTo,
    Separation,
    judge_separation,
    where_documents_go,
)
from polyseme.experiments.tables import Table
from polyseme.senses.slots import Slot, slots_of

__all__ = ["EXPERIMENTS", "choose_places", "telling_words"]

MIN_DOCUMENTS_OF_PART = 3
PLACES = {"best": 0.0, "a quarter down": 0.25, "in the middle": 0.5, "worst": 1.0}
N_DOCUMENTS = 2
N_WORDS = 8
N_NEIGHBOURS = 4
COMMON_SHARE = 0.1  # words of more texts than this say nothing
TEXT_LENGTH = 180
NMI = "normalised_mutual_information"


def _methods(problem: Problem) -> list[Method]:
    options = {"mode": "hard", "n_fused": 2}
    return [Method("hard, 2 fused", PAPER, options=options, run=run_example)]


@run_named("example")
def run_example(problem: Problem, method: Method, seed: int) -> Figures:
    """Train on fused labels and describe some of them, as JSON."""
    fused_label, fused = fused_problem(
        problem, method.options["mode"], method.options["n_fused"], seed
    )
    model = fused.fit(method.parameters, seed)
    matched = model.match(problem.X_test)
    gone = where_documents_go(matched, model.clusters_, problem.Y_test, fused_label)
    gone = _with_enough_of_each_part(gone, fused_label)
    separation = judge_separation(gone, n_permutations=100, seed=seed)
    names = fused_names(problem.dataset.label_names, fused_label)
    describe = _Describing(problem, fused, model, names)
    return {
        "n_considered": len(separation.fused_labels),
        "examples": [
            describe.label(place, position, separation, gone)
            for place, position in choose_places(separation).items()
        ],
    }


def choose_places(separation: Separation) -> dict[str, int]:
    """Return which of the judged labels to show, by the name of its place in their order.

    The order is that of normalised mutual information beyond chance; of equal ones the label with
    more documents comes first.
    """
    order = np.lexsort((separation.fused_labels, -separation.n_documents, -separation.excess))
    chosen: dict[str, int] = {}
    for name, share in PLACES.items() if len(order) else ():
        position = int(order[round(share * (len(order) - 1))])
        if position not in chosen.values():
            chosen[name] = position
    return chosen


def telling_words(
    inside: Sequence[str], outside: Sequence[str], left_out: Collection[str] = ()
) -> list[str]:
    """Return the words that are in more of some texts than of others, most telling first."""
    here, there = count_texts(inside), count_texts(outside)
    lead = {
        word: count / len(inside) - there[word] / max(1, len(outside))
        for word, count in here.items()
        if count > 1 and word not in left_out
    }
    best = sorted(lead, key=lambda word: (-lead[word], word))[:N_WORDS]
    return [word for word in best if lead[word] > 0]


def count_texts(texts: Sequence[str]) -> Counter[str]:
    """Return in how many texts each word is."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(re.findall(r"[^\W\d_]{3,}", text.lower())))
    return counts


def _with_enough_of_each_part(gone: GoneTo, fused_label: npt.NDArray[np.int64]) -> GoneTo:
    """Keep the fused labels all of whose parts have some documents."""
    n_documents = np.bincount(gone.part, minlength=len(fused_label))
    fewest = np.full(int(fused_label.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(fewest, fused_label, n_documents)
    return gone.only(fewest[gone.fused_label] >= MIN_DOCUMENTS_OF_PART)


class _Describing:
    """Says in names and texts what the numbers of an example mean."""

    def __init__(
        self, problem: Problem, fused: Problem, model: XRLinear, names: list[list[str]]
    ) -> None:
        self.problem, self.model, self.names = problem, model, names
        self.texts = problem.dataset.test_texts
        n_texts = count_texts(self.texts or [])
        most = COMMON_SHARE * len(self.texts or [])
        self.common_words = {word for word, count in n_texts.items() if count > most}
        self.top_labels, _ = model.predict_top_k(fused.X_test, 5)

    def label(self, place: str, position: int, judged: Separation, gone: GoneTo) -> dict[str, Any]:
        label = int(judged.fused_labels[position])
        own = gone.only(gone.fused_label == label)
        return {
            "place": place,
            "parts": self.names[label],
            "n_documents": int(judged.n_documents[position]),
            "nmi": float(judged.seen[NMI][position]),
            "nmi_by_chance": float(judged.by_chance[NMI][position]),
            "slots": [self.slot(slot, label, own) for slot in self.slots_of(label)],
        }

    def slots_of(self, label: int) -> list[Slot]:
        return slots_of(self.model, label, n_words=N_WORDS, n_neighbours=N_NEIGHBOURS)

    def slot(self, slot: Slot, label: int, own: GoneTo) -> dict[str, Any]:
        there = own.only(own.slot == slot.slot)
        surest = np.argsort(-there.score, kind="stable")[:N_DOCUMENTS]
        parts = Counter(map(self.part_name, there.part))
        return {
            "cluster": slot.cluster,
            "n_documents": len(there.part),
            "of_part": {part: parts[part] for part in self.names[label]},
            "strongest": self.strongest(slot),
            "words": self.words(there, own.only(own.slot != slot.slot)),
            "neighbours": [" + ".join(self.names[i]) for i in slot.neighbours],
            "documents": [
                {
                    "document": int(there.document[i]),
                    "part": self.part_name(there.part[i]),
                    "is_found": bool(np.isin(label, self.top_labels[there.document[i]])),
                    "text": self.text(int(there.document[i])),
                }
                for i in surest
            ],
        }

    def part_name(self, part: Any) -> str:
        names = self.problem.dataset.label_names
        return f"label {part}" if names is None else names[int(part)]

    def strongest(self, slot: Slot) -> list[str]:
        names = self.problem.dataset.feature_names
        return [] if names is None else [names[word.feature] for word in slot.words]

    def words(self, there: GoneTo, elsewhere: GoneTo) -> list[str]:
        if self.texts is None or len(there.part) == 0:
            return []
        inside, outside = (
            [self.texts[document] for document in gone.document] for gone in (there, elsewhere)
        )
        return telling_words(inside, outside, self.common_words)

    def text(self, document: int) -> str:
        if self.texts is None:
            return ""
        text = " ".join(self.texts[document].split())
        return text if len(text) <= TEXT_LENGTH else text[:TEXT_LENGTH].rsplit(" ", 1)[0] + " …"


def _sections(results: Results) -> list[Table | str]:
    found: list[Table | str] = []
    for method in results.methods:
        by_seed = results.figures(method)
        for seed in list(by_seed)[:1]:  # one is enough to read
            found.append(f"{method}, two copies, seed {seed}. {_rule(by_seed[seed])}")
            found += map(render, by_seed[seed]["examples"])
    return found


def _rule(figures: Figures) -> str:
    return (
        f"{figures['n_considered']:,} fused labels have at least {MIN_DOCUMENTS_OF_PART} test "
        "documents of each part that reach a slot. In the order of how well their slots tell the "
        "parts apart (normalised mutual information beyond chance) these are the best, the worst, "
        "and those at a quarter and a half of the way."
    )


def render(example: dict[str, Any]) -> str:
    """Write an example as Markdown."""
    parts = " and ".join(f"“{part}”" for part in example["parts"])
    lines = [
        f"### {example['place'].capitalize()}: {parts}",
        "",
        f"{example['n_documents']} test documents; normalised mutual information "
        f"{example['nmi']:.2f}, by chance {example['nmi_by_chance']:.2f}.",
    ]
    for slot in example["slots"]:
        shares = ", ".join(f"{n} “{part}”" for part, n in slot["of_part"].items())
        lines += [
            "",
            f"- **Cluster {slot['cluster']}**, {slot['n_documents']} documents: {shares}",
        ]
        for title, words in (
            ("strongest features", slot["strongest"]),
            ("words that set its documents apart", slot["words"]),
            ("labels beside it", slot["neighbours"]),
        ):
            if words:
                lines.append(f"  - {title}: {', '.join(words)}")
        for document in slot["documents"]:
            found = "found" if document["is_found"] else "not found"
            text = document["text"] or f"document {document['document']}"
            lines.append(f"  - “{document['part']}” ({found} among the first five): {text}")
    return "\n".join(lines) + "\n"


EXPERIMENTS = (
    Experiment(
        name="example",
        summary="Fused labels, chosen by a rule, with the documents that go to each slot.",
        methods=_methods,
        sections=_sections,
        notes=(
            "The paper shows one such label, “a random example”: “tanks” and “fashion scarves”, "
            "with a text about a silk scarf in one of its clusters and one about filling air "
            "tanks in the other."
        ),
    ),
)
