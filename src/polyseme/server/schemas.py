"""What clients send and get, for checks and for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "BatchRequest",
    "BatchResponse",
    "ClusterResponse",
    "ExplainRequest",
    "ExplainResponse",
    "HealthResponse",
    "LabelResponse",
    "LabelsResponse",
    "ModelsResponse",
    "QualityResponse",
    "SuggestRequest",
    "SuggestResponse",
    "TreeResponse",
]

MAX_LIMIT = 1000
TEXT = "The crew of the tank crossed the river under fire."

Number = Annotated[float, Field(allow_inf_nan=False)]
Features = dict[str, Number] | list[tuple[int, Number]]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="Name of the model; the first one by default.")


class _Suggesting(_Request):
    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="Most labels of a document.")
    threshold: Number | None = Field(
        None, description="Least score of a label; by default the model's own, if it has one."
    )


class _OneDocument(_Request):
    text: str | None = Field(None, description="For models that take texts.")
    features: Features | None = Field(
        None, description="By name (or number): {name: value}; or pairs [[number, value], ...]."
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Any:
        if (self.text is None) == (self.features is None):
            raise ValueError("give either text or features")
        return self


class SuggestRequest(_OneDocument, _Suggesting):
    """One document."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": TEXT, "limit": 5},
                {"features": {"tank": 0.8, "river": 0.6}, "threshold": 0.2},
                {"features": [[17, 0.8], [42, 0.6]]},
            ]
        }
    )


class BatchRequest(_Suggesting):
    """Several documents, all as texts or all as features."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"texts": [TEXT, "A fish tank for beginners."]}]}
    )

    texts: list[str] | None = None
    features: list[Features] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Any:
        if (self.texts is None) == (self.features is None):
            raise ValueError("give either texts or features")
        return self


class ExplainRequest(_OneDocument):
    """One document, and the labels to explain."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": TEXT, "limit": 3}]})

    labels: list[int] | None = Field(
        None, max_length=100, description="Numbers of labels; by default the best ones."
    )
    limit: int = Field(5, ge=1, le=100, description="How many of the best.")
    n_words: int = Field(20, ge=0, le=MAX_LIMIT, description="Most words of each classifier.")


class Label(BaseModel):
    """A label by number and name; `uri` only where the training data have one beside the name."""

    label: int
    name: str | int
    uri: str | None = None


class Suggestion(Label):
    """A label and its score."""

    score: float


class SuggestResponse(BaseModel):
    """Labels of a document, best first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "demo", "suggestions": [{"label": 7, "name": "tank", "score": 0.94}]}
            ]
        }
    )

    model: str
    suggestions: list[Suggestion]


class BatchResponse(BaseModel):
    """Labels of each document, best first."""

    model: str
    results: list[list[Suggestion]]


class LabelSummary(Label):
    """A label, its training documents, in how many clusters it is, and how evenly divided."""

    n_documents: int
    n_senses: int
    split: float


class LabelsResponse(BaseModel):
    """Labels that were found; `n_found` counts also those that are not listed."""

    model: str
    n_found: int
    labels: list[LabelSummary]


class Word(BaseModel):
    """A feature and its weight."""

    feature: int
    name: str | int
    weight: float


class SenseDescription(BaseModel):
    """A slot of a label; `examples` are beginnings of training texts, if the model keeps some."""

    slot: int
    cluster: int
    share: float
    words: list[Word]
    neighbours: list[Label]
    examples: list[str]


class LabelResponse(LabelSummary):
    """A label and its senses, the one that covers most of it first.

    Without `slots_differ` the words of its slots are nearly the same: a label in several clusters
    that has one sense.
    """

    model: str
    slots_differ: bool
    senses: list[SenseDescription]


class ClusterResponse(BaseModel):
    """A cluster: its place in the tree, what leads there, and its labels."""

    model: str
    cluster: int
    path: list[int]
    words: list[Word]
    n_labels: int
    labels: list[LabelSummary]


class TreeNode(BaseModel):
    """A node: the labels below it, its strongest words and its largest labels."""

    node: int
    n_labels: int
    words: list[str | int]
    labels: list[Label]


class Link(Label):
    """A label that is in several clusters."""

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


class WordContribution(BaseModel):
    """What a word of the document added: value times weight."""

    feature: int
    name: str | int
    value: float
    weight: float
    amount: float


class MarginPart(BaseModel):
    """`bias` plus all amounts plus `rest` is `total`."""

    total: float
    bias: float
    contributions: list[WordContribution]
    rest: float


class PathStep(BaseModel):
    """A node on the way to a cluster; `score` and `margin` are null where nothing tells them."""

    level: int
    node: int
    score: float | None
    margin: MarginPart | None


class SlotPart(BaseModel):
    """A slot that was reached, and what it gave to the score of its label.

    `margin` is null where the model has no weights to show.
    """

    slot: int
    cluster: int
    score: float
    margin: MarginPart | None
    path: list[PathStep]


class LabelPart(Label):
    """A label, its reached slots best first, and its clusters that were not reached.

    `score` is that of a suggestion, `bare_score` what the slots come to before it is turned into
    a probability; both are null where no slot was reached.
    """

    score: float | None
    bare_score: float | None
    slots: list[SlotPart]
    not_reached: list[int]


class Reached(BaseModel):
    """A node that the beam kept; `score` is null where the model does not tell it."""

    node: int
    score: float | None


class ExplainResponse(BaseModel):
    """The nodes kept on each level, the last being clusters, and the labels explained.

    `spans` says where in the text the words are that contributed: feature, start and end,
    counted in Unicode characters.
    """

    model: str
    levels: list[list[Reached]]
    labels: list[LabelPart]
    spans: list[tuple[int, int, int]]


class Added(BaseModel):
    """What updates added to a model."""

    n_documents: int
    n_labels: int


class QualityResponse(BaseModel):
    """How the model did when it was evaluated, and what its training took.

    `added_since_report` is null unless the model was updated after its evaluation; report,
    probabilities and threshold are then from before.
    """

    model: str
    report: dict[str, Any] | None
    added_since_report: Added | None
    threshold: float | None
    seconds: dict[str, float]
    assignments: list[dict[str, Any]]


class ModelDescription(BaseModel):
    """A model in service."""

    name: str
    takes: list[str]
    n_labels: int
    n_features: int
    n_clusters: int
    n_slots: int
    n_documents: int
    has_label_names: bool
    has_feature_names: bool
    has_probabilities: bool
    threshold: float | None
    loaded_at: float
    parameters: dict[str, Any]


class ModelsResponse(BaseModel):
    """All models; the first is used where none is named."""

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
