"""A ranker that reads texts: a network whose outputs are the slots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.backbones.attention.learning import learn_outputs
from polyseme.backbones.attention.matcher import LEAST_SCORE, stacked
from polyseme.backbones.attention.outputs import Outputs
from polyseme.backbones.attention.reading import DocumentsWithReader, Reader, Reading
from polyseme.backbones.attention.words import Vocabulary, WordRows, texts_of
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.side_by_side import one_by_one
from polyseme.backbones.protocols import ModelShape
from polyseme.backbones.tasks import RankingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["ReadingRanker"]

STREAM = 0x5107


@dataclass
class ReadingRanker:
    """Scores slots by reading; its network goes on from the matcher's last one, if there is one.

    Each slot has a row of its own, so that a label may look for something else in each of its
    clusters. Slots of all clusters that a document learns in compete at once.

    Parameters
    ----------
    how : Reading
    """

    how: Reading = field(default_factory=Reading)
    reader: Reader | None = None

    def fit(self, documents: Documents, task: RankingTask, run: Run) -> ReadingRanker:
        """Learn to score slots; what starts from a matcher, and a draft, takes half the epochs."""
        needed_library()  # before the work begins
        above = documents.reader if isinstance(documents, DocumentsWithReader) else None
        clusters = task.clusters
        targets = _slots_of_documents(task)
        outputs = Outputs(targets, task.rows, clusters.starts)

        def make() -> Reader:
            if above is not None:
                return above.started(self.how, clusters.n_slots)
            return Reader.fresh(self.how, documents, clusters.n_slots, run.seed)

        def words_of(reader: Reader) -> WordRows:
            return reader.vocabulary.numbered(texts_of(documents), warn=True)

        share = 0.5 if above is not None or task.is_draft else 1.0
        self.reader = learn_outputs(make, words_of, outputs, self.how, share, run, STREAM, above)
        if run.progress is not None:
            run.progress(clusters.n_slots)
        return self

    @property
    def _trained(self) -> Reader:
        if self.reader is None:
            raise ValueError("this ranker has not been trained; call fit first")
        return self.reader

    def score(
        self, documents: Documents, matched: SparseRows, clusters: LabelClusters, run: Run
    ) -> SparseRows:
        """Return the scores of all slots of the matched clusters, times those of the clusters.

        Returns
        -------
        SparseRows, shape (n_documents, n_slots)
        """
        reader, torch = self._trained, needed_library()
        words = reader.vocabulary.numbered(texts_of(documents))
        slots = clusters.slots_in(matched)
        network = reader.network
        device = network.bias.device

        def ask(document: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
            own, of_clusters = slots.row(document)
            if len(own) == 0:
                return own, of_clusters
            numbers = torch.from_numpy(words.padded(np.array([document]))).to(device)
            asked = torch.from_numpy(own.astype(np.int64)[None]).to(device)
            scores = torch.sigmoid(network(numbers, asked))[0].cpu().numpy()
            return own, of_clusters * scores.clip(LEAST_SCORE, 1)

        return stacked(one_by_one(documents.n_rows, ask, run), clusters.n_slots)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the words and the weights of the network."""
        return {**self._trained.vocabulary.to_arrays(), **self._trained.to_arrays()}

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved ranker."""
        needed_library()
        vocabulary = Vocabulary.restored(stored, self.how.n_words)
        self.reader = Reader.restored(self.how, stored, vocabulary, shape.clusters.n_slots)


def _slots_of_documents(task: RankingTask) -> SparsePattern:
    """Return the slots that are right for each document, shape (n_documents, n_slots)."""
    clusters = task.clusters
    ones = np.ones(clusters.n_slots, dtype=np.float32)
    slot_of_label = sp.csr_array(
        (ones, (clusters.labels, np.arange(clusters.n_slots))),
        shape=(clusters.n_labels, clusters.n_slots),
    )
    right = task.labels.to_scipy() @ slot_of_label
    if task.own_documents is not None:
        slot_of_cluster = sp.csr_array(
            (ones, (clusters.cluster_of_slot, np.arange(clusters.n_slots))),
            shape=(clusters.n_clusters, clusters.n_slots),
        )
        right = right.multiply(task.own_documents.to_scipy() @ slot_of_cluster)
    return SparsePattern.from_scipy(sp.csr_array(right))
