"""Trees from outside: a user's thesaurus, groups, or another program's tree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees.hierarchy_files import DELIMITERS, read_nested, read_pairs
from polyseme.partition.trees.laying_out import laid_out, one_of_a_cycle

__all__ = ["OTHERS", "LabelHierarchy", "check_hierarchy"]

Label: TypeAlias = str | int

OTHERS = ("refuse", "together")
N_NAMED = 3  # of the labels that something is wrong with

_Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelHierarchy:
    """A tree of labels from outside, for ``fit(X, Y, hierarchy=...)``.

    Make one by `from_nested`, `from_parents`, `from_skos`, `from_cluster_chain` or `from_file`.
    The labels of one node become a cluster, however many they are. A label may be at several
    nodes; it then begins in several clusters. Labels may also be at inner nodes: their cluster
    lies beside the nodes below. Nodes without labels of Y vanish, and so do those with a single
    child.

    Attributes
    ----------
    parents : ndarray of int64, shape (n_nodes,)
        The node above each; -1 for node 0 alone, which is the root.
    labels : tuple of str or int
    nodes : ndarray of int64, shape (n_labels,)
        The node that each of the labels is at.
    others : str
        What becomes of labels of Y that are not in the hierarchy: 'refuse' says which they are,
        'together' puts them into a cluster of their own, below the root.
    by_column : bool
        Labels are columns of Y, whatever the names of these are.
    """

    parents: _Numbers
    labels: tuple[Label, ...]
    nodes: _Numbers
    others: str = "refuse"
    by_column: bool = False

    def __post_init__(self) -> None:
        if self.others not in OTHERS:
            raise ValueError(
                f"others must be one of {', '.join(map(repr, OTHERS))}, not {self.others!r}."
            )

    def __repr__(self) -> str:
        return f"<LabelHierarchy: {len(self.labels):,} labels at {len(self.parents):,} nodes>"

    # Ways to make one

    @classmethod
    def from_nested(cls, nested: Any, *, others: str = "refuse") -> LabelHierarchy:
        """Take nested lists, or dictionaries from names to what is below them.

        Parameters
        ----------
        nested : list or dict
            Labels (str or int) and further lists or dictionaries. A name in a dictionary is a
            label too, if Y has it; with nothing below it (an empty list, or None) it belongs to
            the cluster of its neighbours.
        others : str
            See `LabelHierarchy`.
        """
        made = _Growing()
        waiting: list[tuple[Any, int]] = [(nested, 0)]
        while waiting:
            group, node = waiting.pop()
            for name, below in _entries(group):
                if below is None or (_is_group(below) and not below):
                    made.put(name, node)
                    continue
                child = made.child_of(node)
                if name is not None:
                    made.put(name, child)
                waiting.append((below, child))
        return made.hierarchy(others)

    @classmethod
    def from_parents(
        cls,
        parents: npt.ArrayLike,
        node_of_label: Mapping[Any, int] | npt.ArrayLike,
        *,
        others: str = "refuse",
    ) -> LabelHierarchy:
        """Take nodes that know their parents, and the node of each label.

        Parameters
        ----------
        parents : array-like of int, shape (n_nodes,)
            The node above each, -1 where there is none.
        node_of_label : mapping from labels to nodes, or array-like of int, shape (n_labels,)
            An array has the columns of Y in their order.
        others : str
            See `LabelHierarchy`.
        """
        above = _whole_numbers(parents, "parents")
        n_nodes = len(above)
        wrong = np.flatnonzero((above < -1) | (above >= n_nodes))
        if len(wrong):
            raise ValueError(
                f"parents: node {wrong[0]} is below node {above[wrong[0]]}, but nodes are "
                f"numbered from 0 to {n_nodes - 1}."
            )
        by_column = not isinstance(node_of_label, Mapping)
        labels: list[Any]
        if isinstance(node_of_label, Mapping):
            labels = [_checked_label(label) for label in node_of_label]
            nodes = _whole_numbers(list(node_of_label.values()), "node_of_label")
        else:
            nodes = _whole_numbers(node_of_label, "node_of_label")
            labels = list(range(len(nodes)))
        wrong = np.flatnonzero((nodes < 0) | (nodes >= n_nodes))
        if len(wrong):
            raise ValueError(
                f"label {labels[wrong[0]]!r} is at node {nodes[wrong[0]]}, but nodes are numbered "
                f"from 0 to {n_nodes - 1}."
            )
        inside = one_of_a_cycle(above)
        if inside is not None:
            raise ValueError(f"parents: node {inside} is above itself, by way of others.")
        # A root above all.
        return cls(np.concatenate([[-1], above + 1]), tuple(labels), nodes + 1, others, by_column)

    @classmethod
    def from_skos(
        cls, broader: Iterable[tuple[Label, Label | None]], *, others: str = "refuse"
    ) -> LabelHierarchy:
        """Take pairs of a label and a broader one, as a thesaurus has them.

        A label and those right below it that have nothing below themselves are one cluster.

        Parameters
        ----------
        broader : iterable of (label, broader label or None)
            Of several broader labels of one, the first counts. A label without any is at the top,
            and need not be mentioned for that if it is broader than another.
        others : str
            See `LabelHierarchy`.
        """
        numbers: dict[Label, int] = {}
        above: dict[int, int] = {}
        for pair in broader:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise ValueError(f"a label and a broader one are expected, not {pair!r:.80}.")
            label, wider = pair
            number = numbers.setdefault(_checked_label(label), len(numbers))
            if wider is not None:
                over = numbers.setdefault(_checked_label(wider), len(numbers))
                above.setdefault(number, over)
        parents = np.full(len(numbers), -1, dtype=np.int64)
        parents[list(above)] = list(above.values())
        labels = list(numbers)
        inside = one_of_a_cycle(parents)
        if inside is not None:
            raise ValueError(
                f"label {labels[inside]!r} is broader than itself, by way of "
                f"{labels[parents[inside]]!r}; the hierarchy must not go round in circles."
            )
        has_narrower = np.zeros(len(labels) + 1, dtype=bool)
        has_narrower[parents] = True  # the last is nobody
        nodes = np.where(has_narrower[:-1], np.arange(len(labels)), parents) + 1
        return cls(np.concatenate([[-1], parents + 1]), tuple(labels), nodes, others)

    @classmethod
    def from_cluster_chain(
        cls, matrices: Iterable[sp.sparray | sp.spmatrix], *, others: str = "refuse"
    ) -> LabelHierarchy:
        """Take a cluster chain, as PECOS has it and `LabelTree.to_cluster_chain` makes it.

        Parameters
        ----------
        matrices : iterable of sparse matrices, top first
            For each level, which nodes are below which, shape (n_nodes_below, n_nodes); the last
            has a row for each label, in the order of the columns of Y.
        others : str
            See `LabelHierarchy`.
        """
        chain: list[sp.csr_array] = []
        for matrix in matrices:
            if not sp.issparse(matrix):
                raise ValueError(f"matrix {len(chain)} of the cluster chain is not sparse.")
            rows = sp.csr_array(matrix, copy=True)
            rows.eliminate_zeros()
            chain.append(rows)
        if not chain:
            raise ValueError("a cluster chain has one matrix at least.")
        parents, first = [np.full(chain[0].shape[1], -1, dtype=np.int64)], 0
        for level, rows in enumerate(chain):
            n_above = len(parents[-1])
            if rows.shape[1] != n_above:
                raise ValueError(
                    f"matrix {level} of the cluster chain has {rows.shape[1]} columns, but there "
                    f"are {n_above} nodes above it."
                )
            n_entries = np.diff(rows.indptr)
            is_last = level == len(chain) - 1
            wrong = np.flatnonzero(n_entries == 0 if is_last else n_entries != 1)
            if len(wrong) and not (is_last and others == "together"):
                raise ValueError(
                    f"matrix {level} of the cluster chain: row {wrong[0]} has "
                    f"{n_entries[wrong[0]]} entries; "
                    + ("a label is in one cluster at least." if is_last else "a node has one.")
                )
            if not is_last:
                parents.append(first + rows.indices.astype(np.int64))
                first += n_above
        labels = np.repeat(np.arange(chain[-1].shape[0]), np.diff(chain[-1].indptr))
        nodes = first + chain[-1].indices.astype(np.int64)
        whole = np.concatenate([[-1], np.concatenate(parents) + 1])
        return cls(whole, tuple(labels.tolist()), nodes + 1, others, by_column=True)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, others: str = "refuse") -> LabelHierarchy:
        """Read a hierarchy.

        Parameters
        ----------
        path : path
            A JSON file of nested lists and objects, as for `from_nested`; or a file of two
            columns, TSV or CSV, with a label and a broader one per line, as for `from_skos`.
        others : str
            See `LabelHierarchy`.
        """
        place = Path(path)
        ending = place.suffix.lower()
        if ending != ".json" and ending not in DELIMITERS:
            raise ValueError(
                f"{place}: a hierarchy is a file that ends in .json, .tsv or .csv, not "
                f"{ending!r}; SKOS is read by polyseme.text.read_hierarchy."
            )
        is_nested = ending == ".json"
        content = read_nested(place) if is_nested else list(read_pairs(place))
        if not content:
            raise ValueError(f"{place} is empty; give a label and a broader one per line.")
        try:
            if is_nested:
                return cls.from_nested(content, others=others)
            return cls.from_skos(content, others=others)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None

    # From labels to columns of Y

    def for_columns(self, *names: Sequence[Any]) -> LabelHierarchy:
        """Return the same with columns of Y for labels.

        Parameters
        ----------
        names : sequences of str or int, each of shape (n_labels,)
            What the columns are called; where the hierarchy does not have the first, the second
            counts, and so on.
        """
        nodes_of: dict[Label, list[int]] = {}
        for label, node in zip(self.labels, self.nodes.tolist(), strict=True):
            nodes_of.setdefault(label, []).append(node)
        columns: list[Label] = []
        nodes: list[int] = []
        for column, known_as in enumerate(zip(*names, strict=True)):
            # A file has numbers as texts.
            spelled = [*known_as, *(str(name) for name in known_as if not isinstance(name, str))]
            found = next((nodes_of[name] for name in spelled if name in nodes_of), [])
            nodes += found
            columns += [column] * len(found)
        return LabelHierarchy(
            self.parents, tuple(columns), np.array(nodes, dtype=np.int64), self.others, True
        )

    def tree_of(
        self, n_labels: int, names: Sequence[Any] | None = None
    ) -> tuple[LabelTree, LabelClusters]:
        """Return the tree of the labels of Y, and its clusters.

        Parameters
        ----------
        n_labels : int
        names : sequence of str or int, shape (n_labels,), optional
            The names of the columns of Y; by default their numbers.
        """
        if not self.by_column:
            called = range(n_labels) if names is None else names
            return self.for_columns(called).tree_of(n_labels, names)
        columns = np.array(self.labels, dtype=np.int64)
        is_there = columns < n_labels
        columns, nodes, parents = columns[is_there], self.nodes[is_there], self.parents
        is_placed = np.zeros(n_labels, dtype=bool)
        is_placed[columns] = True
        missing = np.flatnonzero(~is_placed)
        if len(missing):
            if self.others == "refuse":
                raise ValueError(_lacking(missing, names))
            columns = np.concatenate([columns, missing])
            nodes = np.concatenate([nodes, np.full(len(missing), len(parents))])
            parents = np.concatenate([parents, [0]])
        return laid_out(parents, columns, nodes, n_labels)


def check_hierarchy(given: Any) -> LabelHierarchy | None:
    """Return a hierarchy, or None where none is given; refuse all else."""
    if given is None or isinstance(given, LabelHierarchy):
        return given
    raise ValueError(f"hierarchy must be a polyseme.LabelHierarchy, not {given!r:.80}.")


class _Growing:
    """A hierarchy to which nodes and labels are added; node 0 is the root."""

    def __init__(self) -> None:
        self._parents = [-1]
        self._labels: list[Label] = []
        self._nodes: list[int] = []

    def child_of(self, node: int) -> int:
        self._parents.append(node)
        return len(self._parents) - 1

    def put(self, label: Any, node: int) -> None:
        self._labels.append(_checked_label(label))
        self._nodes.append(node)

    def hierarchy(self, others: str) -> LabelHierarchy:
        return LabelHierarchy(
            np.array(self._parents, dtype=np.int64),
            tuple(self._labels),
            np.array(self._nodes, dtype=np.int64),
            others,
        )


def _entries(group: Any) -> Iterator[tuple[Any, Any]]:
    """Walk through what is in a group: names, each with what is below it, or either alone."""
    if isinstance(group, Mapping):
        yield from group.items()
        return
    if not _is_group(group):
        raise ValueError(
            "a hierarchy is made of lists of labels and further lists, or of objects from names "
            f"to such lists, not of {group!r:.80}."
        )
    for item in group:
        if isinstance(item, Mapping):
            yield from item.items()
        elif not _is_group(item):
            yield item, None
        elif item:
            yield None, item


def _is_group(item: Any) -> bool:
    return isinstance(item, Mapping | Sequence) and not isinstance(item, str)


def _checked_label(label: Any) -> Label:
    if isinstance(label, str):
        return label
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return int(label)
    raise ValueError(f"a label is a text or a whole number, not {label!r:.80}.")


def _whole_numbers(given: npt.ArrayLike, name: str) -> _Numbers:
    try:
        found = np.asarray(given)
    except ValueError:  # lists of different lengths
        found = np.empty((0, 0))
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be whole numbers in one row.")
    return found.astype(np.int64)


def _lacking(missing: _Numbers, names: Sequence[Any] | None) -> str:
    some = missing[:N_NAMED].tolist()
    named = ", ".join(repr(column if names is None else names[column]) for column in some)
    such_as = f"{len(missing):,} labels, such as {named}" if len(missing) > len(some) else named
    return (
        f"the hierarchy has no place for {such_as}; add what is missing, or let "
        "--hierarchy-others together (others='together') make a cluster of it."
    )
