"""What clients get about models, for OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from polyseme.server.schemas import Label

__all__ = [
    "ClusterResponse",
    "HealthResponse",
    "LabelFiguresResponse",
    "LabelResponse",
    "LabelsResponse",
    "ModelsResponse",
    "PlaneResponse",
    "QualityResponse",
    "TreeResponse",
]


class LabelSummary(Label):
    """A label, its training documents, its senses, and in how many clusters it is.

    `ambiguity` is how likely it has several senses, null if it has too few documents to be judged
    or the model has no senses; `n_senses` is one for labels that are not likely ambiguous.
    """

    n_documents: int
    n_senses: int
    ambiguity: float | None
    n_clusters: int


class FoundLabel(LabelSummary):
    """A label that was found; `found_as` is the alternative name that fits, if not its own."""

    found_as: str | None = None


class LabelsResponse(BaseModel):
    """Labels that were found; `n_found` counts also those that are not listed."""

    model: str
    n_found: int
    labels: list[FoundLabel]


class Word(BaseModel):
    """A feature and its weight."""

    feature: int
    name: str | int
    weight: float


class WeighedLabel(Label):
    """A label that goes with another, and how much."""

    weight: float


class _KnownOf(BaseModel):
    labels: list[WeighedLabel]
    words: list[Word]
    examples: list[str]


class SenseDescription(_KnownOf):
    """A sense of a label: what tells it from the others, and its share of the documents.

    `labels` and `words` are those that go with it more than with the label's other senses;
    `examples` are beginnings of training texts, if the model keeps some.
    """

    name: str
    share: float
    n_documents: int


class SlotDescription(BaseModel):
    """Where a label is in the tree, what speaks for it there, and the labels beside it.

    `share` is the part of its documents that were matched to the cluster.
    """

    slot: int
    cluster: int
    share: float
    words: list[Word]
    neighbours: list[Label]


class RelatedConcept(BaseModel):
    """A concept of the vocabulary; `label` is null if it is no label of the model."""

    label: int | None
    name: str
    uri: str


class LabelResponse(LabelSummary, _KnownOf):
    """A label and its senses, the one with most documents first.

    A label with one meaning has no `senses`; `labels`, `words` and `examples` are then its own,
    and else empty. `evidence` says what senses were told apart by: the other `labels` of
    documents, or, where each has one, its `text` or `embedding`; null if the model has no senses.
    What a vocabulary says of the label are its `other_names`, `notations`, and the concepts right
    above and below it.
    """

    model: str
    other_names: list[str]
    notations: list[str]
    broader: list[RelatedConcept]
    narrower: list[RelatedConcept]
    evidence: str | None
    senses: list[SenseDescription]
    slots: list[SlotDescription]


class ClusterResponse(BaseModel):
    """A cluster: its place in the tree, what leads there, and its labels."""

    model: str
    cluster: int
    path: list[int]
    words: list[Word]
    n_labels: int
    labels: list[LabelSummary]


class TreeNode(BaseModel):
    """A node: the labels below it, its strongest words and its largest labels.

    `n_given` says how often its labels are given to training documents that reach it.
    """

    node: int
    n_labels: int
    n_given: int
    words: list[str | int]
    labels: list[Label]


class Link(Label):
    """A label that is in several clusters; `split` is how evenly it is divided between them."""

    split: float
    clusters: list[int]


class TreeResponse(BaseModel):
    """The tree, level by level; the last level are the clusters.

    Children of node `j` of a level are `starts[level][j]` to `starts[level][j + 1]` (excluded) of
    the next; `starts[0]` is that of the root alone, so that its children are `levels[0]`.
    """

    model: str
    starts: list[list[int]]
    levels: list[list[TreeNode]]
    links: list[Link]


class SenseInPlane(BaseModel):
    """Where a sense of a label lies."""

    label: int
    name: str
    x: float
    y: float


class PlaneResponse(BaseModel):
    """Labels as points of the plane, from 0 to 1, in columns; those with most documents first.

    Labels for which the same words speak lie near each other. `clusters` are those in which the
    labels have most documents. All columns are empty where the model has no weights to tell by.
    """

    model: str
    labels: list[int]
    names: list[str | int]
    x: list[float]
    y: list[float]
    clusters: list[int]
    senses: list[SenseInPlane]


class LabelFigures(LabelSummary):
    """A label in the held-out documents: where it is true, where suggested, and where both."""

    n_true: int
    n_suggested: int
    n_right: int


class LabelFiguresResponse(BaseModel):
    """How labels did when the model was evaluated, at its threshold; empty without a report."""

    model: str
    labels: list[LabelFigures]


class Added(BaseModel):
    """What updates added to a model."""

    n_documents: int
    n_labels: int


class AboutSenses(BaseModel):
    """The senses of a model: labels with enough documents to be judged, those that have several.

    `evidence` says what senses were told apart by, as for a label.
    """

    n_judged_labels: int
    n_ambiguous_labels: int
    evidence: str


class SenseQuality(AboutSenses):
    """The same, with what `ambiguity` was learned from and how reliable it proved."""

    calibration: dict[str, Any]


class QualityResponse(BaseModel):
    """How the model did when it was evaluated, and what its training took.

    `added_since_report` is null unless the model was updated after its evaluation; report,
    probabilities and threshold are then from before. `senses` is null if the model has none.
    """

    model: str
    report: dict[str, Any] | None
    added_since_report: Added | None
    threshold: float | None
    seconds: dict[str, float]
    assignments: list[dict[str, Any]]
    senses: SenseQuality | None


class AboutOrdering(BaseModel):
    """The learned order of a document's labels: how many documents it was learned from."""

    n_documents: int


class ModelDescription(BaseModel):
    """A model in service; `senses` is null if it has none.

    `ordering` is null if labels are in the order of their bare scores. `has_probabilities` says
    whether scores of suggestions are probabilities. `saved_at` is when the model was written,
    `takes_updates` whether reviewed documents can be sent to it.
    """

    name: str
    takes: list[str]
    n_labels: int
    n_features: int
    n_clusters: int
    n_slots: int
    n_documents: int
    ordering: AboutOrdering | None
    has_label_names: bool
    has_feature_names: bool
    senses: AboutSenses | None
    has_probabilities: bool
    threshold: float | None
    loaded_at: float
    saved_at: float | None
    takes_updates: bool
    parameters: dict[str, Any]


class ModelsResponse(BaseModel):
    """All models, the first is used where none is named; and the version of the server."""

    version: str
    models: list[ModelDescription]


class ModelHealth(BaseModel):
    """A model, and what is wrong with the one that should replace it."""

    status: str
    loaded_at: float
    error: str | None


class HealthResponse(BaseModel):
    """`degraded`: a model on disk is refused, and the one before it is still in service."""

    status: str
    models: dict[str, ModelHealth]
