"""What a model says of itself, as JSON values: its labels, senses, clusters and tree."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.senses.called import is_code, sense_name
from polyseme.senses.describe import Sense
from polyseme.senses.label_list import LabelSummary
from polyseme.senses.plane import Plane
from polyseme.senses.slots import Slot, largest_labels, slots_of
from polyseme.senses.words import Word, level_words, node_words
from polyseme.tagger import Tagger

__all__ = ["Catalogue"]

N_WORDS, N_LABELS = 12, 10
NOTHING_KNOWN: dict[str, Any] = {"labels": [], "words": [], "examples": []}
CAPTION_WORDS, CAPTION_LABELS = 5, 6
MOST_CAPTION_LABELS, ALL_CAPTION_LABELS = 40, 600  # of a node, and of a level with few nodes


class Catalogue:
    """Answers about one model. Tables are made when first asked for.

    Parameters
    ----------
    tagger : Tagger
    """

    def __init__(self, tagger: Tagger) -> None:
        self._tagger, self._model = tagger, tagger.classifier

    # Labels

    def labels(self, query: str, order: str, limit: int, offset: int) -> tuple[int, list[Any]]:
        """Return how many labels fit, and some of them; see `LabelList.find`."""
        n_found, found = self._tagger.labels.find(query, order, limit, offset)
        return n_found, [{**self._named(one.label), **_as_json(one)} for one in found]

    def summary(self, label: int) -> dict[str, Any]:
        """Return a label with its figures."""
        return {**self._named(label), **_as_json(self._tagger.labels.summary(label))}

    def label(self, label: int) -> dict[str, Any] | None:
        """Return a label with its senses and its slots, or None if there is no such label.

        What is known of a label with one meaning stands beside an empty list of senses.
        """
        if not 0 <= label < self._model.n_labels_:
            return None
        layer = self._model.senses_
        found = self._tagger.senses(label, n_labels=N_LABELS, n_words=N_WORDS)
        of_one_meaning = self._known_of(found[0]) if len(found) == 1 else NOTHING_KNOWN
        slots = slots_of(self._model, label, n_words=N_WORDS, n_neighbours=N_LABELS)
        return {
            **self.summary(label),
            **self._in_vocabulary(label),
            "evidence": None if layer is None else layer.evidence,
            "senses": [self._sense(sense) for sense in found] if len(found) > 1 else [],
            **of_one_meaning,
            "slots": [self._slot(slot) for slot in slots],
        }

    def _in_vocabulary(self, label: int) -> dict[str, Any]:
        vocabulary = self._tagger.vocabulary
        if vocabulary is None:
            return {"other_names": [], "notations": [], "broader": [], "narrower": []}
        return {
            "other_names": vocabulary.other_names(label),
            "notations": vocabulary.notations_of(label),
            "broader": [one._asdict() for one in vocabulary.broader_than(label)],
            "narrower": [one._asdict() for one in vocabulary.narrower_than(label)],
        }

    def _sense(self, sense: Sense) -> dict[str, Any]:
        return {
            "name": sense.name,
            "share": round(sense.share, 4),
            "n_documents": sense.n_documents,
            **self._known_of(sense),
        }

    def _known_of(self, sense: Sense) -> dict[str, Any]:
        labels = zip(sense.label_numbers, sense.labels, strict=True)
        words = zip(sense.word_numbers, sense.words, strict=True)
        return {
            "labels": [{**self._named(label), "weight": weight} for label, (_, weight) in labels],
            "words": [Word(feature, *word)._asdict() for feature, word in words],
            "examples": sense.examples,
        }

    def _slot(self, slot: Slot) -> dict[str, Any]:
        return {
            "slot": slot.slot,
            "cluster": slot.cluster,
            "share": round(slot.share, 4),
            "words": [word._asdict() for word in slot.words],
            "neighbours": [self._named(label) for label in slot.neighbours],
        }

    def _named(self, label: int) -> dict[str, Any]:
        named: dict[str, Any] = {"label": label, "name": self._tagger.label_name(label)}
        if self._tagger.label_uris is not None:
            named["uri"] = self._tagger.label_uris[label]
        return named

    def about_senses(self) -> dict[str, Any] | None:
        """Return what is known of the model's senses as a whole; None if it has none."""
        layer = self._model.senses_
        if layer is None:
            return None
        return {
            "n_judged_labels": layer.n_judged,
            "n_ambiguous_labels": layer.n_shown,
            "evidence": layer.evidence,
        }

    def sense_quality(self) -> dict[str, Any] | None:
        """Return the same with how reliable the probabilities of being ambiguous proved."""
        layer, about = self._model.senses_, self.about_senses()
        if layer is None or about is None:
            return None
        return {**about, "calibration": layer.calibration}

    # Clusters

    def cluster(self, cluster: int, limit: int) -> dict[str, Any] | None:
        """Return a cluster with its largest labels, or None if there is no such cluster."""
        clusters, tree = self._model.clusters_, self._model.tree_
        if not 0 <= cluster < clusters.n_clusters:
            return None
        words = []
        if tree.n_levels > 0:
            words = node_words(self._model, tree.n_levels, cluster, N_WORDS)
        largest = largest_labels(self._model, cluster, limit)
        return {
            "cluster": cluster,
            "path": tree.path_to(cluster) or [cluster],
            "words": [word._asdict() for word in words],
            "n_labels": int(clusters.sizes[cluster]),
            "labels": [self.summary(label) for label in largest],
        }

    # The tree

    def tree(self, n_links: int) -> dict[str, Any]:
        """Return all nodes with captions, and the labels that link clusters, most divided first.

        Without a tree there is still one cluster, which is then the only node of one level.
        """
        tree = self._model.tree_
        starts = [starts.tolist() for starts in tree.levels]
        return {
            "starts": starts or [[0, 1]],
            "levels": self._levels,
            "links": self._links(n_links),
        }

    @cached_property
    def _levels(self) -> list[list[dict[str, Any]]]:
        n_levels = max(1, self._model.tree_.n_levels)
        return [self._nodes(level) for level in range(1, n_levels + 1)]

    def _nodes(self, level: int) -> list[dict[str, Any]]:
        clusters, visits = self._model.clusters_, self._model.slot_documents_
        slot_starts = clusters.starts[self._model.tree_.clusters_below(level)]
        all_visits = np.bincount(clusters.labels, visits, clusters.n_labels)
        n_given = np.diff(np.append(0, np.cumsum(visits))[slot_starts])
        found = []
        most_at_home = np.zeros(clusters.n_labels)
        for slots in (slice(*pair) for pair in pairwise(slot_starts.tolist())):
            below, place = np.unique(clusters.labels[slots], return_inverse=True)
            here = np.bincount(place, visits[slots], len(below))
            # A label that is as much at home elsewhere is the name of no place.
            at_home = here * (here / np.maximum(1, all_visits[below])) ** 2
            found.append((below, at_home))
            most_at_home[below] = np.maximum(most_at_home[below], at_home)
        n_named = max(CAPTION_LABELS, min(MOST_CAPTION_LABELS, ALL_CAPTION_LABELS // len(found)))
        nodes = []
        for node, words in enumerate(level_words(self._model, level, CAPTION_WORDS)):
            below, at_home = found[node]
            elsewhere = at_home < most_at_home[below]
            order = np.lexsort((below, -at_home, elsewhere, self._says_nothing[below]))
            largest = below[order[:n_named]]
            nodes.append(
                {
                    "node": node,
                    "n_labels": len(below),
                    "n_given": int(n_given[node]),
                    "words": [word.name for word in words],
                    "labels": [self._named(label) for label in largest.tolist()],
                }
            )
        return nodes

    @cached_property
    def _says_nothing(self) -> npt.NDArray[np.bool_]:
        """Which labels have no name that says something to people, shape (n_labels,)."""
        names = map(self._tagger.label_name, range(self._model.n_labels_))
        return np.fromiter(map(is_code, names), np.bool_, self._model.n_labels_)

    # The plane

    def plane(self, plane: Plane | None) -> dict[str, Any]:
        """Return where labels lie in the plane, column by column; empty where nothing tells.

        Labels with most documents come first, each with the cluster where it has most.
        """
        if plane is None:
            return {"labels": [], "names": [], "x": [], "y": [], "clusters": [], "senses": []}
        layer, labels = self._model.senses_, plane.labels.tolist()
        senses = []
        for sense, (x, y) in zip(
            plane.senses.tolist(), _rounded(plane.sense_positions), strict=True
        ):
            assert layer is not None
            label = int(layer.labels[layer.label_place(sense)])
            name = sense_name(self._model, sense)
            senses.append({"label": label, "name": name, "x": x, "y": y})
        positions = _rounded(plane.positions)
        return {
            "labels": labels,
            "names": [self._tagger.label_name(label) for label in labels],
            "x": [x for x, _ in positions],
            "y": [y for _, y in positions],
            "clusters": self._fullest_clusters[plane.labels].tolist(),
            "senses": senses,
        }

    @property
    def _fullest_clusters(self) -> npt.NDArray[np.int64]:
        """The cluster with most documents of a label, shape (n_labels,)."""
        clusters = self._model.clusters_
        found = np.zeros(clusters.n_labels, dtype=np.int64)
        fullest_last = np.argsort(self._model.slot_documents_, kind="stable")
        found[clusters.labels[fullest_last]] = clusters.cluster_of_slot[fullest_last]
        return found

    # Figures of labels

    def label_figures(self) -> list[dict[str, Any]]:
        """Return each label that was measured, with its figures in the held-out documents."""
        columns = self._tagger.report.get("by_label", {})
        rows = zip(*columns.values(), strict=True)
        return [
            {**self.summary(row["label"]), **row}
            for row in (dict(zip(columns, values, strict=True)) for values in rows)
            if row["label"] < self._model.n_labels_
        ]

    def _links(self, n_links: int) -> list[dict[str, Any]]:
        clusters, labels = self._model.clusters_, self._tagger.labels
        chosen = labels.by_split[:n_links]
        clusters_of: dict[int, list[int]] = {label: [] for label in chosen.tolist()}
        for slot in np.flatnonzero(np.isin(clusters.labels, chosen)):
            clusters_of[int(clusters.labels[slot])].append(int(clusters.cluster_of_slot[slot]))
        return [
            {
                **self._named(label),
                "split": round(float(labels.split[label]), 4),
                "clusters": found,
            }
            for label, found in clusters_of.items()
        ]


def _as_json(summary: LabelSummary) -> dict[str, Any]:
    """Return the figures of a label, and by what name it was found only if that was another."""
    found = asdict(summary)
    if summary.found_as is None:
        del found["found_as"]
    return found


def _rounded(positions: npt.NDArray[np.float32]) -> list[list[float]]:
    rounded: list[list[float]] = np.round(positions.astype(np.float64), 5).tolist()
    return rounded
