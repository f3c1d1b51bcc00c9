"""A matcher that reads texts: a network for each wide level of the tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.attention.learning import learn_outputs
from polyseme.backbones.attention.outputs import Outputs
from polyseme.backbones.attention.reading import DocumentsWithReader, Reader, Reading
from polyseme.backbones.attention.words import Vocabulary, WordRows, texts_of
from polyseme.backbones.attention.work import levels_with_networks
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.side_by_side import one_by_one
from polyseme.backbones.protocols import ModelShape
from polyseme.backbones.tasks import MatchingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.training_rows import choose_training_rows

__all__ = ["LEAST_SCORE", "ReadingMatcher", "stacked"]

LEAST_SCORE = 1e-7  # scores multiply, and what was visited must not vanish
STREAM = 0xA77E

Kept = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


@dataclass
class ReadingMatcher:
    """Finds clusters by reading: level by level, each network started from the one above.

    The first network scores all nodes of the widest level that it can (`Reading.most_at_once`);
    those below score the children of the nodes that were kept, which are also what they learn
    from, with those of true nodes.

    Parameters
    ----------
    how : Reading
    beam_size : int
        Nodes whose children a lower network learns from.
    """

    how: Reading = field(default_factory=Reading)
    beam_size: int = 10
    readers: list[Reader] = field(default_factory=list)
    tree: LabelTree | None = None

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> ReadingMatcher:
        """Learn to find clusters; a draft, and what starts from another, takes half the epochs."""
        needed_library()  # before the work begins
        self.tree, self.readers = task.tree, []
        levels = levels_with_networks(task.tree, self.how)
        earlier: ReadingMatcher | None = None if task.changed is not None else task.start_from
        rows: WordRows | None = None
        n_done = sum(task.tree.n_nodes(level) for level in range(1, min(levels, default=1)))
        for place, level in enumerate(levels):
            targets = task.tree.ancestors(task.targets, level)
            outputs = Outputs(targets)
            if place > 0:
                assert rows is not None
                outputs = self._below_what_is_kept(task, level, targets, rows, run)
            before = None if earlier is None else earlier.readers[place]

            def make(before: Reader | None = before, level: int = level) -> Reader:
                if before is not None:
                    return before.started(self.how)
                if self.readers:
                    return self.readers[-1].started(self.how, task.tree.n_nodes(level))
                return Reader.fresh(self.how, documents, task.tree.n_nodes(level), run.seed)

            def words_of(reader: Reader) -> WordRows:
                nonlocal rows
                if rows is None:
                    rows = reader.vocabulary.numbered(texts_of(documents), warn=True)
                return rows

            is_short = task.is_draft or before is not None or place > 0
            share = 0.5 if is_short else 1.0
            told = run.counting_from(n_done)
            above = self.readers[-1] if place > 0 and before is None else None
            self.readers.append(
                learn_outputs(
                    make, words_of, outputs, self.how, share, told, STREAM + level, above
                )
            )
            n_done += outputs.n_outputs
        if run.progress is not None:
            run.progress(task.tree.n_nodes_below_root)
        return self

    def _below_what_is_kept(
        self, task: MatchingTask, level: int, targets: SparsePattern, words: WordRows, run: Run
    ) -> Outputs:
        kept = self._kept(words, self.beam_size, run.reporting_to(None))
        above = task.tree.ancestors(task.targets, level - 1)
        parents = choose_training_rows("both", above, kept)
        return Outputs(targets, parents, task.tree.levels[level - 1])

    @property
    def _trained_tree(self) -> LabelTree:
        if self.tree is None:
            raise ValueError("this matcher has not been trained; call fit first")
        return self.tree

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the best clusters; scores are above 0 and at most 1, products along the way.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        tree = self._trained_tree
        if not self.readers:  # all labels are one cluster
            if run.progress is not None:
                run.progress(documents.n_rows)
            return SparseRows.best_of(np.ones((documents.n_rows, 1), dtype=np.float32), 1)
        assert tree.n_levels > 0
        words = self.readers[0].vocabulary.numbered(texts_of(documents))
        return self._kept(words, beam_size, run)

    def _kept(self, words: WordRows, beam_size: int, run: Run) -> SparseRows:
        """Return the best nodes of the last level that has a network."""
        tree = self._trained_tree
        levels = levels_with_networks(tree, self.how)[: len(self.readers)]
        torch = needed_library()

        def ask(document: int) -> Kept:
            numbers = torch.from_numpy(words.padded(np.array([document])))
            nodes, scores = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.float32)
            for place, (level, reader) in enumerate(zip(levels, self.readers, strict=True)):
                network = reader.network
                on_device = numbers.to(network.bias.device)
                if place == 0:
                    nodes, above = np.arange(tree.n_nodes(level)), scores
                    logits = network(on_device)
                else:
                    starts = tree.levels[level - 1]
                    sizes = starts[nodes + 1] - starts[nodes]
                    above = np.repeat(scores, sizes)
                    nodes = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in nodes])
                    logits = network(on_device, torch.from_numpy(nodes[None]).to(on_device.device))
                own = torch.sigmoid(logits)[0].cpu().numpy()
                scores = (above * own).clip(LEAST_SCORE, 1)
                best = np.sort(np.argsort(-scores, kind="stable")[:beam_size])
                nodes, scores = nodes[best], scores[best]
            return nodes.astype(np.int32), scores.astype(np.float32)

        return stacked(one_by_one(len(words.lengths), ask, run), tree.n_nodes(levels[-1]))

    def encode(self, documents: Documents, run: Run) -> Documents:
        """Return the documents with the network that the ranker may go on from."""
        reader = self.readers[-1] if self.readers else None
        return DocumentsWithReader(documents.sparse, documents.dense, documents.texts, reader)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the words, and the weights of each network."""
        _ = self._trained_tree
        if not self.readers:
            return {}
        arrays = self.readers[0].vocabulary.to_arrays()
        for place, reader in enumerate(self.readers):
            own = reader.to_arrays()
            arrays.update({f"{place}.{name}": array for name, array in own.items()})
        return arrays

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved matcher."""
        needed_library()
        self.tree, self.readers = shape.tree, []
        if shape.tree.n_levels == 0:
            return
        vocabulary = Vocabulary.restored(stored, self.how.n_words)
        self.readers = [
            Reader.restored(
                self.how, stored.part(str(place)), vocabulary, shape.tree.n_nodes(level)
            )
            for place, level in enumerate(levels_with_networks(shape.tree, self.how))
        ]


def stacked(rows: list[Kept], n_columns: int) -> SparseRows:
    """Return the columns and values of each document as rows."""
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
    empty = np.zeros(0)
    columns = np.concatenate([*(columns for columns, _ in rows), empty]).astype(np.int32)
    values = np.concatenate([*(values for _, values in rows), empty]).astype(np.float32)
    return SparseRows(starts, columns, values, n_columns)
