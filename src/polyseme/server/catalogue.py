"""What a model says of itself: its labels, senses, clusters and tree."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.linear.weights import LinearWeights
from polyseme.estimators.xr_linear import XRLinear
from polyseme.inputs.names import Names
from polyseme.senses.describe import division_scores, slots_differ, split_order
from polyseme.text.examples import Examples

__all__ = ["Catalogue"]

MAX_HITS = 20_000  # of a search; to rank more would take long, and nobody reads them
N_WORDS, N_NEIGHBOURS = 12, 10
CAPTION_WORDS, CAPTION_LABELS = 5, 3

Order = npt.NDArray[np.int64]


class Catalogue:
    """Answers about one model, as JSON values. Tables are made when first asked for.

    Parameters
    ----------
    model : XRLinear
    label_uris : Names, optional
        What the training data call the labels beside their names.
    slot_examples : Examples, optional
        Beginnings of training texts for each slot.
    """

    def __init__(
        self,
        model: XRLinear,
        label_uris: Names | None = None,
        slot_examples: Examples | None = None,
    ) -> None:
        self._model, self._label_uris, self._examples = model, label_uris, slot_examples

    # Labels

    def labels(self, query: str, order: str, limit: int, offset: int) -> tuple[int, list[Any]]:
        """Return how many labels fit, and some of them.

        Parameters
        ----------
        query : str
            A part of the name, in any case; empty for all labels.
        order : {'best', 'documents', 'split'}
            How well the name fits, most documents, or most evenly divided.
        """
        found: Sequence[int] | Order
        if query == "":
            found = self._by_split if order == "split" else self._by_documents
        else:
            found = self._search(query, order)
        return len(found), [self.summary(int(i)) for i in found[offset : offset + limit]]

    def summary(self, label: int) -> dict[str, Any]:
        """Return a label with its figures."""
        return {
            **self._named(label),
            "n_documents": int(self._model.label_counts_[label]),
            "n_senses": int(self._model.clusters_.copies[label]),
            "split": round(float(self._split[label]), 4),
        }

    def label(self, label: int) -> dict[str, Any] | None:
        """Return a label with its senses, or None if there is no such label."""
        if not 0 <= label < self._model.n_labels_:
            return None
        clusters, documents = self._model.clusters_, self._model.slot_documents_
        slots = clusters.slots_of(label)
        senses = []
        for slot in slots[np.argsort(-documents[slots], kind="stable")].tolist():
            cluster = int(clusters.cluster_of_slot[slot])
            beside = self._largest(cluster, N_NEIGHBOURS + 1)
            share = documents[slot] / max(1, self._model.label_counts_[label])
            senses.append(
                {
                    "slot": slot,
                    "cluster": cluster,
                    "share": round(float(share), 4),
                    "words": self._words(self._ranker, cluster, slot),
                    "neighbours": [self._named(int(i)) for i in beside if i != label][
                        :N_NEIGHBOURS
                    ],
                    "examples": [] if self._examples is None else self._examples.of(slot),
                }
            )
        differ = slots_differ(self._model, label)
        return {**self.summary(label), "slots_differ": differ, "senses": senses}

    def _named(self, label: int) -> dict[str, Any]:
        named: dict[str, Any] = {"label": label, "name": self.label_name(label)}
        if self._label_uris is not None:
            named["uri"] = self._label_uris[label]
        return named

    def label_name(self, label: int) -> str | int:
        """Return the name of a label, or its number if it has none."""
        names = self._model.label_names_
        return label if names is None else names[label]

    @cached_property
    def _split(self) -> npt.NDArray[np.float64]:
        return division_scores(self._model)

    @cached_property
    def _by_documents(self) -> Order:
        return np.argsort(-self._model.label_counts_, kind="stable")

    @cached_property
    def _by_split(self) -> Order:
        return split_order(self._model, self._split)

    @cached_property
    def _split_position(self) -> Order:
        """Where each label stands in `_by_split`; those that do not come after all others."""
        position = np.full(self._model.n_labels_, self._model.n_labels_)
        position[self._by_split] = np.arange(len(self._by_split))
        return position

    @cached_property
    def _haystack(self) -> tuple[str, list[int]]:
        """All names in one string, since one search in it takes less than many; their starts."""
        names = self._model.label_names_
        all_names = map(str, range(self._model.n_labels_) if names is None else names)
        folded = [name.casefold().replace("\n", " ") for name in all_names]
        return "\n".join(folded), [0, *accumulate(len(name) + 1 for name in folded)]

    def _search(self, query: str, order: str) -> list[int]:
        needle = query.casefold().replace("\n", " ")
        text, starts = self._haystack
        ranked: list[tuple[tuple[bool, bool, bool], int]] = []
        at = text.find(needle)
        while at >= 0 and len(ranked) < MAX_HITS:
            label = bisect_right(starts, at) - 1
            start, end = starts[label], starts[label + 1] - 1
            is_word = at == start or not text[at - 1].isalnum()
            fit = (end - start != len(needle), at != start, not is_word)
            ranked.append((fit, label))
            at = text.find(needle, end)
        counts = self._model.label_counts_
        if order == "split":
            position = self._split_position
            ranked.sort(key=lambda hit: (position[hit[1]], hit[1]))
        elif order == "documents":
            ranked.sort(key=lambda hit: (-counts[hit[1]], hit[1]))
        else:
            ranked.sort(key=lambda hit: (hit[0], -counts[hit[1]], hit[1]))
        return [label for _, label in ranked]

    # Clusters

    def cluster(self, cluster: int, limit: int) -> dict[str, Any] | None:
        """Return a cluster with its largest labels, or None if there is no such cluster."""
        clusters, tree = self._model.clusters_, self._model.tree_
        if not 0 <= cluster < clusters.n_clusters:
            return None
        path = [cluster]
        for fan_out in reversed(tree.fan_outs[1:]):
            path.append(path[-1] // fan_out)
        words = []
        if tree.n_levels > 0:
            parent = cluster // tree.fan_outs[-1]
            words = self._words(self._model.matcher_.levels[-1], parent, cluster)
        return {
            "cluster": cluster,
            "path": path[::-1],
            "words": words,
            "n_labels": int(clusters.sizes[cluster]),
            "labels": [self.summary(int(label)) for label in self._largest(cluster, limit)],
        }

    def _largest(self, cluster: int, n: int) -> npt.NDArray[np.int32]:
        clusters = self._model.clusters_
        labels = clusters.labels[clusters.starts[cluster] : clusters.starts[cluster + 1]]
        order = np.lexsort((labels, -self._model.label_counts_[labels]))[:n]
        return labels[order]

    @property
    def _ranker(self) -> LinearWeights:
        weights = self._model.ranker_.weights
        assert weights is not None
        return weights

    def _words(self, weights: LinearWeights, cluster: int, slot: int) -> list[dict[str, Any]]:
        features, values = weights.slot_weights(cluster, slot)
        order = [i for i in np.lexsort((features, -values))[:N_WORDS] if values[i] > 0]
        return [
            {
                "feature": int(features[i]),
                "name": self._feature_name(int(features[i])),
                "weight": float(values[i]),
            }
            for i in order
        ]

    def _feature_name(self, feature: int) -> str | int:
        names = self._model.feature_names_
        return feature if names is None else names[feature]

    # The tree

    def tree(self, n_links: int) -> dict[str, Any]:
        """Return all nodes with captions, and the labels that link clusters, most divided first.

        Without a tree there is still one cluster, which is then the only node of one level.
        """
        fan_outs = list(self._model.tree_.fan_outs)
        return {"fan_outs": fan_outs or [1], "levels": self._levels, "links": self._links(n_links)}

    @cached_property
    def _levels(self) -> list[list[dict[str, Any]]]:
        clusters, tree = self._model.clusters_, self._model.tree_
        levels: list[list[dict[str, Any]]] = []
        for level in range(1, max(1, tree.n_levels) + 1):
            n_nodes = tree.n_nodes(level)
            n_below = clusters.n_clusters // n_nodes
            captions = self._captions(level, n_nodes)
            nodes = []
            for node in range(n_nodes):
                first, last = clusters.starts[[node * n_below, (node + 1) * n_below]]
                below = np.unique(clusters.labels[first:last])
                counts = self._model.label_counts_[below]
                largest = below[np.lexsort((below, -counts))[:CAPTION_LABELS]]
                nodes.append(
                    {
                        "node": node,
                        "n_labels": len(below),
                        "words": captions[node],
                        "labels": [self._named(int(label)) for label in largest],
                    }
                )
            levels.append(nodes)
        return levels

    def _captions(self, level: int, n_nodes: int) -> list[list[str | int]]:
        """Return the strongest words of every node; all weights at once are quickest."""
        if level > self._model.tree_.n_levels:
            return [[] for _ in range(n_nodes)]
        weights = self._model.matcher_.levels[level - 1].to_rows().to_scipy().tocsc()
        captions = []
        for node in range(n_nodes):
            own = slice(weights.indptr[node], weights.indptr[node + 1])
            features, values = weights.indices[own], weights.data[own]
            strongest = np.lexsort((features, -values))[:CAPTION_WORDS]
            captions.append(
                [self._feature_name(int(features[i])) for i in strongest if values[i] > 0]
            )
        return captions

    def _links(self, n_links: int) -> list[dict[str, Any]]:
        clusters = self._model.clusters_
        chosen = self._by_split[:n_links]
        clusters_of: dict[int, list[int]] = {int(label): [] for label in chosen}
        wanted = np.flatnonzero(np.isin(clusters.labels, chosen))
        for slot in wanted:
            label = int(clusters.labels[slot])
            clusters_of[label].append(int(clusters.cluster_of_slot[slot]))
        return [
            {
                **self._named(label),
                "split": round(float(self._split[label]), 4),
                "clusters": found,
            }
            for label, found in clusters_of.items()
        ]
