"""The part of an estimator that learns to encode texts: fine-tunes an encoder, and asks it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.optimizer import warm_up
from polyseme.backbones.transformer.embedding_store import TEXTS_AT_ONCE, EmbeddingStore
from polyseme.backbones.transformer.encoders import Encoder, load_encoder
from polyseme.backbones.transformer.features import EncodedFeatures, require_texts
from polyseme.backbones.transformer.finetuning import (
    MOST_FOR_A_START,
    MOST_LOOKED_AT,
    N_LOOKS,
    FineTuning,
    LevelReport,
    count_steps,
    finetune,
    levels_to_learn,
)
from polyseme.backbones.transformer.sampled_encoder import N_ENCODED, SampledEncoder
from polyseme.backbones.transformer.transformer import TransformerEncoder
from polyseme.estimators.ensemble import Ensembling
from polyseme.estimators.learning import Learning
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.training_rows import cluster_targets
from polyseme.partition.trees import balanced

__all__ = ["EncodingTexts"]

HELD_OUT_SHARE = 0.1  # of documents, where the order of labels does not say which
FINE_TUNING_BRANCHING = 16
STREAM = 0x57E0
STEPS_OF_A_SAMPLE, N_WARM = 2, 8
BYTES_PER_TOKEN, BYTES_PER_LIST = 4, 120

Self = TypeVar("Self", bound="EncodingTexts")


class EncodingTexts(Ensembling):
    """Documents get the embedding of their text before anything else is learned from them.

    Attributes
    ----------
    features_ : EncodedFeatures
    finetuning_ : list of dict
        What came of each level of fine-tuning.
    """

    encoder: str
    finetuning: str
    embedding_weight: float
    pooling: str
    max_tokens: int
    n_steps: int | None
    batch_size: int
    learning_rate: float
    head_rate: float
    finetuning_loss: str
    positive_weight: float
    finetuning_leaf_size: int
    adapter_rank: int
    saves_memory: bool
    precision: str
    device: str

    features_: EncodedFeatures
    finetuning_: list[dict[str, Any]]
    _encoder_of_samples: Encoder | None = None

    def _prepare(
        self,
        documents: Documents,
        labels: SparsePattern,
        held_out: Sequence[npt.NDArray[np.int64]],
        order_from: Learning | None,
        run: Run,
        progress: Progress,
    ) -> Documents:
        """Fine-tune the encoder if that is wanted, and encode all documents."""
        work = None if self.work_folder is None else Path(self.work_folder).expanduser()
        self.finetuning_, self.members_ = [], []
        if isinstance(order_from, EncodingTexts):  # what it learned counts as chosen
            encoder = order_from.features_.encoder
            self.finetuning_ = order_from.finetuning_
        else:
            encoder = self._load_encoder()
            if self.finetuning != "none" and isinstance(encoder, TransformerEncoder):
                require_texts(documents)
                self._finetune(encoder, documents, labels, held_out, run, progress, work)
        store = EmbeddingStore(encoder, None if work is None else work / "embeddings")
        self.features_ = self._make_features(encoder, documents.layout, store)
        with progress.phase(phases.ENCODING, documents.n_rows) as step:
            seen = self.features_.of(documents, run.reporting_to(step), keep=True)
        if self._encoder_of_samples is not None:  # else predictions would only be looked up
            self.features_.store = None
        return seen

    def _make_features(
        self,
        encoder: Encoder,
        layout: tuple[int, int] | None = None,
        store: EmbeddingStore | None = None,
    ) -> EncodedFeatures:
        return EncodedFeatures(encoder, self.embedding_weight, layout, store)

    def _load_encoder(self) -> Encoder:
        if self._encoder_of_samples is not None:
            return self._encoder_of_samples
        return load_encoder(
            self.encoder, pooling=self.pooling, max_tokens=self.max_tokens, device=self.device
        )

    def _finetune(
        self,
        encoder: TransformerEncoder,
        documents: Documents,
        labels: SparsePattern,
        held_out: Sequence[npt.NDArray[np.int64]],
        run: Run,
        progress: Progress,
        work: Path | None,
    ) -> None:
        if documents.n_features:
            alike = Documents(documents.sparse, documents.dense)
        else:  # nothing but texts: what the encoder makes of them as it is
            assert documents.texts is not None
            alike = Documents(dense=encoder.embed(documents.texts, run))
        how = self._how_to_finetune()
        tree, clusters = balanced.build(
            alike, labels, FINE_TUNING_BRANCHING, self.finetuning_leaf_size, run
        )
        if len(held_out) == 1:  # the order of labels is learned on these: none may know them
            unseen = held_out[0]
        else:
            chance = np.random.default_rng([STREAM, run.seed])
            n_unseen = int(HELD_OUT_SHARE * documents.n_rows)
            unseen = np.sort(chance.permutation(documents.n_rows)[:n_unseen])
        levels = levels_to_learn(tree, how)
        n_steps = count_steps(how, documents.n_rows - len(unseen), len(levels)) * len(levels)
        with progress.phase(phases.FINE_TUNING, n_steps) as step:
            reports = finetune(
                encoder,
                documents,
                cluster_targets(labels, clusters),
                tree,
                unseen,
                how,
                run.reporting_to(step),
                folder=work,
            )
        self.finetuning_ = [_described(report) for report in reports]

    def _how_to_finetune(self) -> FineTuning:
        return FineTuning(
            in_one_go=self.finetuning == "one-go",
            n_steps=self.n_steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            head_rate=self.head_rate,
            loss=self.finetuning_loss,
            positive_weight=self.positive_weight,
            beam_size=self.beam_size,
            adapter_rank=self.adapter_rank,
            saves_memory=self.saves_memory,
            precision=self.precision,
        )

    def for_samples(self: Self) -> Self:
        """Return the same with a few steps of fine-tuning, which keeps nothing.

        Its encoder is there and warm, so that neither its memory nor its first moments count as
        something that grows with the documents; and it encodes a few of them only.
        """
        copy = super().for_samples()
        encoder = self._load_encoder()
        encoder.embed(["warm"] * N_WARM, self._run())
        if isinstance(encoder, TransformerEncoder):
            warm_up()
            encoder = SampledEncoder(encoder)
        copy._encoder_of_samples = encoder
        return copy.set_params(n_steps=STEPS_OF_A_SAMPLE, work_folder=None)

    def own_work(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return how many documents go through the encoder; in training each counts thrice."""
        is_sampled = isinstance(self._encoder_of_samples, SampledEncoder)
        most = N_ENCODED if is_sampled else n_documents
        blocks = math.ceil(n_documents / TEXTS_AT_ONCE) if is_sampled else 1
        work = {phases.ENCODING: float(min(n_documents, blocks * most))}
        if self.finetuning == "none":
            return work
        how = self._how_to_finetune()
        leaves = LabelTree.shape_for(n_labels, FINE_TUNING_BRANCHING, self.finetuning_leaf_size)
        n_levels = len(levels_to_learn(leaves, how))
        n_held_out = min(n_documents * HELD_OUT_SHARE, MOST_LOOKED_AT)
        n_steps = count_steps(how, round(n_documents * (1 - HELD_OUT_SHARE)), n_levels)
        of_a_level = (
            3 * n_steps * self.batch_size
            + min(n_documents, MOST_FOR_A_START, most)
            + (1 + min(n_steps, N_LOOKS)) * min(n_held_out, most)
        )
        return {phases.FINE_TUNING: n_levels * of_a_level, **work}

    def own_bytes(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return what tokens and embeddings take beside what the encoder itself does."""
        of_tokens = n_documents * (BYTES_PER_TOKEN * self.max_tokens + BYTES_PER_LIST)
        of_embeddings = 0
        if self._encoder_of_samples is not None:
            of_embeddings = 4 * self._encoder_of_samples.n_dimensions
        # A block of what is found, the file it is kept in, and all of it at the weight it has.
        return {
            phases.FINE_TUNING: of_tokens + of_embeddings * min(n_documents, MOST_FOR_A_START),
            phases.ENCODING: 3.0 * n_documents * of_embeddings,
        }


def _described(report: LevelReport) -> dict[str, Any]:
    return {
        "level": report.level,
        "n_clusters": report.n_nodes,
        "n_steps": report.outcome.n_steps,
        "loss": report.outcome.loss,
        "recall_before": report.recall_before,
        "recall": report.outcome.recall,
    }
