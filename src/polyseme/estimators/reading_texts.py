"""What AttentionXML and XML-CNN share: all but the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from polyseme.backbones.attention.matcher import ReadingMatcher
from polyseme.backbones.attention.ranker import ReadingRanker
from polyseme.backbones.attention.reading import Reading
from polyseme.backbones.attention.work import bytes_of_phases, work_of_phases
from polyseme.backbones.neural.optimizer import warm_up
from polyseme.estimators.one_copy import OneCopyIsPlain
from polyseme.estimators.parameters import (
    NONE,
    Constraint,
    instance_of,
    number_above,
    share,
    whole_from,
)
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.features import check_features
from polyseme.partition.label_tree import LabelTree

__all__ = ["ReadingClassifier"]

STEPS_OF_A_SAMPLE = 8

Self = TypeVar("Self", bound="ReadingClassifier")


class ReadingClassifier(OneCopyIsPlain, PartitionedClassifier):
    """Labels for texts by networks that read their words, one for each level and one for slots."""

    reads_texts: ClassVar[bool] = True
    takes_long: ClassVar[bool] = True
    network: ClassVar[str]  # one of `polyseme.backbones.attention.reading.NETWORKS`
    of_the_machine: ClassVar[Sequence[str]] = (
        *PartitionedClassifier.of_the_machine,
        "device",
        "work_folder",
    )
    changed_at_will: ClassVar[Sequence[str]] = (
        *PartitionedClassifier.changed_at_will,
        "device",
        "work_folder",
    )

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{
            name: PartitionedClassifier._constraints[name]
            for name in (
                "copies",
                "beam_size",
                "rounds",
                "assignment",
                "max_cluster_size",
                "match_folds",
                "branching",
                "max_leaf_size",
                "tree",
                "tree_features",
                "training_rows",
                "senses",
                "ordering",
                "merge",
                "n_jobs",
                "random_state",
                "verbose",
            )
        },
        "n_words": whole_from(1),
        "vocabulary_size": whole_from(1),
        "word_vectors": instance_of(str),
        "n_dimensions": whole_from(1),
        "n_hidden": whole_from(1),
        "dropout": share("from 0 to less than 1", lambda value: 0 <= value < 1),
        "n_epochs": whole_from(1),
        "batch_size": whole_from(1),
        "learning_rate": number_above(0),
        "device": instance_of(str),
        "work_folder": NONE | instance_of(str),
    }
    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        "copies": (1, 2, 3),
        "max_leaf_size": (8, 16, 32, 64),
        "n_hidden": (64, 96, 128, 256),
        "learning_rate": (0.002, 0.005, 0.01),
        "n_epochs": (5, 10, 20),
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = ({"copies": 2}, {"n_epochs": 10})

    matcher_: ReadingMatcher
    ranker_: ReadingRanker

    def __init_subclass__(cls, **options: Any) -> None:
        """Say in the name of each kind why it cannot be updated."""
        super().__init_subclass__(**options)
        cls.why_no_update = (
            f"{cls.__name__} cannot be updated: all labels share its network; fit it again on the "
            "old and the new documents."
        )

    why_no_update: ClassVar[str]
    _is_sample: bool = False

    def __init__(
        self,
        copies: int = 1,
        beam_size: int = 10,
        rounds: int = 1,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 0,
        branching: int = 512,
        max_leaf_size: int = 32,
        tree: str = "balanced",
        tree_features: str = "documents",
        training_rows: str = "both",
        n_words: int = 200,
        vocabulary_size: int = 50_000,
        word_vectors: str = "co-occurrence",
        n_dimensions: int = 100,
        n_hidden: int = 96,
        dropout: float = 0.2,
        n_epochs: int = 5,
        batch_size: int = 16,
        learning_rate: float = 0.005,
        device: str = "auto",
        work_folder: str | None = None,
        senses: str = "induce",
        ordering: str = "product",
        merge: str = "sum",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            copies=copies,
            beam_size=beam_size,
            rounds=rounds,
            assignment=assignment,
            max_cluster_size=max_cluster_size,
            match_folds=match_folds,
            branching=branching,
            max_leaf_size=max_leaf_size,
            tree=tree,
            tree_features=tree_features,
            training_rows=training_rows,
            senses=senses,
            ordering=ordering,
            merge=merge,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_words = n_words
        self.vocabulary_size = vocabulary_size
        self.word_vectors = word_vectors
        self.n_dimensions = n_dimensions
        self.n_hidden = n_hidden
        self.dropout = dropout
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.work_folder = work_folder

    def fit(self: Self, X: Any, Y: Any, **others: Any) -> Self:
        """Learn to tag documents.

        Parameters
        ----------
        X : Documents
            With texts, which are read, and features, by which labels are grouped. A
            `polyseme.TextModel` around this estimator makes both of texts.
        Y, **others
            As for `polyseme.XRLinear.fit`.
        """
        self.check_parameters()
        documents = check_features(X)
        if documents.texts is None or documents.n_features == 0:
            name, missing = type(self).__name__, "texts" if documents.texts is None else "features"
            raise ValueError(
                f"{name} reads texts and groups labels by features, but X has no {missing}; fit a "
                f"TextModel(classifier={name}()) on texts, or give Documents(features, "
                "texts=texts)."
            )
        return super().fit(documents, Y, **others)

    def make_matcher(self) -> ReadingMatcher:
        """Return a fresh matcher."""
        return ReadingMatcher(self._how(), self.beam_size)

    def make_ranker(self) -> ReadingRanker:
        """Return a fresh ranker."""
        return ReadingRanker(self._how())

    def for_samples(self: Self) -> Self:
        """Return the same with one pass over the documents, which keeps nothing."""
        warm_up()
        copy = super().for_samples()
        copy._is_sample = True
        return copy.set_params(n_epochs=1, work_folder=None)

    def own_work(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return the work of phases in which networks read."""
        tree = LabelTree.shape_for(n_labels, self.branching, self.max_leaf_size)
        return work_of_phases(self._how(), n_documents, n_labels, tree, self.copies)

    def own_bytes(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return what networks and the words of documents take."""
        tree = LabelTree.shape_for(n_labels, self.branching, self.max_leaf_size)
        return bytes_of_phases(self._how(), n_documents, n_labels * self.copies, tree)

    def _how(self) -> Reading:
        return Reading(
            least_steps=STEPS_OF_A_SAMPLE if self._is_sample else Reading.least_steps,
            network=self.network,
            n_words=self.n_words,
            vocabulary_size=self.vocabulary_size,
            word_vectors=self.word_vectors,
            n_dimensions=self.n_dimensions,
            n_hidden=self.n_hidden,
            dropout=self.dropout,
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            device=self.device,
            work_folder=self.work_folder,
        )
