"""X-Transformer: an encoder of texts beside TF-IDF, and linear classifiers on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from polyseme.backbones.neural.device import PRECISIONS
from polyseme.backbones.neural.losses import LOSSES
from polyseme.backbones.transformer.encoders import POOLINGS, restore_encoder
from polyseme.backbones.transformer.matcher import EncodedTreeMatcher
from polyseme.estimators.encoding_texts import EncodingTexts
from polyseme.estimators.ensemble import AVERAGES, with_first_members_arrays
from polyseme.estimators.other_defaults import with_parameters_of
from polyseme.estimators.parameters import (
    NONE,
    TRUE_OR_FALSE,
    Constraint,
    instance_of,
    number_above,
    number_from,
    one_of,
    whole_from,
)
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["XTransformer"]

LABEL_FEATURES = ("both", "embedding", "tf-idf", "label-text")


def _are_members(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(
            isinstance(one, list | tuple)
            and len(one) == 2
            and isinstance(one[0], str)
            and one[1] in LABEL_FEATURES
            for one in value
        )
    )


Self = TypeVar("Self", bound="XTransformer")


@with_parameters_of(XRLinear)
class XTransformer(EncodingTexts):
    """Labels for texts by an encoder and TF-IDF together; labels may have several senses.

    An encoder, a transformer or a static table of token vectors, turns a text into a vector. A
    transformer can first be fine-tuned to find clusters of labels, level by level. The embedding
    at unit length is put beside the TF-IDF features, and on both `XRLinear` is trained, senses and
    all. Needs texts: use it within a `TextModel`, or give `fit` `Documents` that have them. See
    docs/neural.md.

    Parameters
    ----------
    encoder : str, default='sentence-transformers/all-MiniLM-L6-v2'
        A folder with an encoder, or a name that the hub of Hugging Face knows. Weights must be
        safetensors. A folder with one table of token vectors and a tokenizer is a static encoder.
    finetuning : str, default='levels'
        'levels' trains the encoder on finer and finer clusters of labels, 'one-go' on the finest
        at once, 'none' takes it as it is. Static tables are always taken as they are.
    embedding_weight : float, default=1.0
        Length of an embedding, against 1 of the TF-IDF features.
    label_features : str, default='both'
        What labels are alike by in the tree: 'both', the 'embedding' or the 'tf-idf' of their
        documents, or 'label-text', the embedding of their names.
    pooling : str, default='mean'
        From tokens to a text: 'mean' or 'first'.
    max_tokens : int, default=128
        Most tokens of a text that a transformer sees.
    n_steps : int, optional
        Steps of fine-tuning on each level; by default three passes over the documents, shared
        among the levels.
    batch_size : int, default=32
        Documents of a step.
    learning_rate : float, default=5e-5
        Of the encoder.
    head_rate : float, default=5.0
        How many times as quickly the vectors of clusters learn, which begin where the linear
        solver ends.
    finetuning_loss : str, default='squared-hinge'
        'squared-hinge' or 'logistic'.
    positive_weight : float, default=1.0
        What a true cluster counts in that loss, against 1 of any other.
    finetuning_leaf_size : int, default=16
        Most labels in a cluster of the tree that the encoder learns.
    adapter_rank : int, default=0
        If not 0, low-rank adapters of that rank learn in the place of the encoder's weights
        (needs `peft`).
    saves_memory : bool, default=False
        Compute states of the encoder twice rather than keep them (gradient checkpointing).
    precision : str, default='auto'
        'bfloat16', 'float32', or 'auto': bfloat16 on GPUs that have it.
    device : str, default='auto'
        Where the encoder computes: 'cpu', 'cuda', ..., or 'auto': a GPU if there is one.
    work_folder : str, optional
        Where embeddings and checkpoints are kept: what was computed for the same texts and
        weights is not computed again, and a training that was stopped goes on. By default they
        are kept as long as the training lasts.

    ensemble : list of (str, str), optional
        Members of an ensemble, each an encoder and its `label_features`: trained one after the
        other, and averaged. With a `work_folder`, members that are finished are kept.
    average : str, default='mean'
        How scores of members become one: 'mean', 'geometric' (of the product) or 'ranks'.

    All other parameters are those of `XRLinear`.

    Attributes
    ----------
    features_ : EncodedFeatures
        Makes the features; its `encoder` is the trained one.
    finetuning_ : list of dict
        What came of each level of fine-tuning: nodes, steps, loss, recall before and after.

    Examples
    --------
    >>> from polyseme import TextModel, XTransformer
    >>> model = TextModel(classifier=XTransformer("encoders/minilm", finetuning="none"))
    """

    kind: ClassVar[str] = "x-transformer"
    reads_texts: ClassVar[bool] = True
    takes_long: ClassVar[bool] = True
    n_sampled: ClassVar[int] = 2000  # of which few are encoded: see `SampledEncoder`
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **XRLinear._constraints,
        "encoder": instance_of(str),
        "finetuning": one_of("levels", "one-go", "none"),
        "embedding_weight": number_above(0),
        "label_features": one_of(*LABEL_FEATURES),
        "pooling": one_of(*POOLINGS),
        "max_tokens": whole_from(3),
        "n_steps": NONE | whole_from(1),
        "batch_size": whole_from(1),
        "learning_rate": number_above(0),
        "head_rate": number_above(0),
        "finetuning_loss": one_of(*LOSSES),
        "positive_weight": number_from(1),
        "finetuning_leaf_size": whole_from(1),
        "adapter_rank": whole_from(0),
        "saves_memory": TRUE_OR_FALSE,
        "precision": one_of(*PRECISIONS),
        "device": instance_of(str),
        "work_folder": NONE | instance_of(str),
        "ensemble": NONE
        | Constraint(
            f"a list of (encoder, label features), these one of {', '.join(LABEL_FEATURES)}",
            _are_members,
        ),
        "average": one_of(*AVERAGES),
    }
    changed_at_will: ClassVar[Sequence[str]] = (
        *XRLinear.changed_at_will,
        "average",
        "device",
        "work_folder",
    )
    of_the_machine: ClassVar[Sequence[str]] = (*XRLinear.of_the_machine, "device", "work_folder")

    _label_texts: list[str] | None = None

    def __init__(
        self,
        encoder: str = "sentence-transformers/all-MiniLM-L6-v2",
        finetuning: str = "levels",
        embedding_weight: float = 1.0,
        label_features: str = "both",
        pooling: str = "mean",
        max_tokens: int = 128,
        n_steps: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 5e-5,
        head_rate: float = 5.0,
        finetuning_loss: str = "squared-hinge",
        positive_weight: float = 1.0,
        finetuning_leaf_size: int = 16,
        adapter_rank: int = 0,
        saves_memory: bool = False,
        precision: str = "auto",
        device: str = "auto",
        work_folder: str | None = None,
        ensemble: list[tuple[str, str]] | None = None,
        average: str = "mean",
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder = encoder
        self.finetuning = finetuning
        self.embedding_weight = embedding_weight
        self.label_features = label_features
        self.pooling = pooling
        self.max_tokens = max_tokens
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.head_rate = head_rate
        self.finetuning_loss = finetuning_loss
        self.positive_weight = positive_weight
        self.finetuning_leaf_size = finetuning_leaf_size
        self.adapter_rank = adapter_rank
        self.saves_memory = saves_memory
        self.precision = precision
        self.device = device
        self.work_folder = work_folder
        self.ensemble = ensemble
        self.average = average

    def make_matcher(self) -> EncodedTreeMatcher:  # type: ignore[override]
        """Return a fresh matcher on encoded documents."""
        return EncodedTreeMatcher(self.features_, super().make_matcher())

    def fit(self: Self, X: Any, Y: Any, *, label_names: Any = None, **others: Any) -> Self:
        """Learn to tag documents; parameters are those of `XRLinear.fit`, X is `Documents`."""
        self.check_parameters()
        if self.ensemble is not None:
            before = others.pop("order_from", None)
            return self._fit_members(X, Y, before, label_names=label_names, **others)
        if self.label_features == "label-text":
            n_documents = check_features(X).n_rows
            _, names = check_labels(Y, n_documents, label_names=label_names)
            if names is None:
                raise ValueError(
                    "label_features='label-text' needs the names of labels; give label_names."
                )
            self._label_texts = [str(name) for name in names]
        try:
            return super().fit(X, Y, label_names=label_names, **others)
        finally:
            self.__dict__.pop("_label_texts", None)

    def _first_clusters(
        self, documents: Documents, labels: SparsePattern, run: Run
    ) -> tuple[LabelTree, LabelClusters]:
        """Return a tree of labels that are alike by what `label_features` says."""
        if self.label_features == "label-text" and self._label_texts is not None:
            vectors = self.features_.encoder.embed(self._label_texts, run.reporting_to(None))
            itself = np.arange(labels.n_columns + 1)
            each_its_own = SparsePattern(
                itself.astype(np.int64), itself[:-1].astype(np.int32), labels.n_columns
            )
            return super()._first_clusters(Documents(dense=vectors), each_its_own, run)
        if self.label_features == "embedding":
            documents = Documents(dense=documents.dense)
        elif self.label_features == "tf-idf" and documents.sparse is not None:
            documents = Documents(documents.sparse)
        return super()._first_clusters(documents, labels, run)

    def _make_walk(self) -> None:
        """Put the trained parts together; the walk encodes documents by itself."""
        self._walk = self.matcher_.fused_with(self.ranker_, self.clusters_, self._counted())

    def contents(self) -> Contents:
        """Return what makes up the trained model, its encoder included."""
        found = super().contents()
        described = {**found.description, "finetuning": self.finetuning_}
        if self.members_:  # the first of them has the encoder, and all arrays
            return self._with_members(Contents(described, {}, found.names))
        own = Contents(described, found.arrays, found.names)
        return own.with_part("encoder", self.features_.encoder.contents())

    def _parameters_of_member(self, member: Sequence[str]) -> dict[str, Any]:
        encoder, label_features = member
        return {"encoder": encoder, "label_features": label_features}

    @classmethod
    def restored(cls: type[Self], stored: StoredModel, *, n_jobs: int | None = None) -> Self:
        """Return the model that was stored, after checking all of it."""
        stored = with_first_members_arrays(stored)
        model = super().restored(stored, n_jobs=n_jobs)
        model.features_.weight = model.embedding_weight
        model._restore_members(stored, n_jobs)
        return model

    def _restore_own(self, stored: StoredModel) -> None:
        """Take over the encoder."""
        parts = stored.value("parts", dict)
        own = stored if "encoder" in parts else stored.model("member-0")
        self.features_ = self._make_features(restore_encoder(own.model("encoder")))
        self.members_ = []
        self.finetuning_ = stored.value("finetuning", list)
