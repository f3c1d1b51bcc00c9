"""What clients send, and get about documents, for checks and for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "MAX_LIMIT",
    "BatchRequest",
    "BatchResponse",
    "ExplainRequest",
    "ExplainResponse",
    "Label",
    "ReviewedDocument",
    "SuggestRequest",
    "SuggestResponse",
    "UpdateRequest",
    "UpdateResponse",
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

    count_words: bool = Field(
        False, description="Say, too, how many words of the text the model knows."
    )

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


class ReviewedDocument(BaseModel):
    """A text with the labels that it should have, by name or URI."""

    model_config = ConfigDict(extra="forbid")

    text: str
    labels: list[str] = Field(min_length=1, max_length=1000)


class UpdateRequest(_Request):
    """Reviewed documents that a model shall learn."""

    documents: list[ReviewedDocument] = Field(min_length=1)


class UpdateResponse(BaseModel):
    """What was added to the model, and why it should be trained anew, if it should."""

    model: str
    n_documents: int
    n_labels: int
    full_training_due: list[str]


class Label(BaseModel):
    """A label by number and name; `uri` only where a vocabulary or the data have one beside."""

    label: int
    name: str | int
    uri: str | None = None


class SuggestedSense(BaseModel):
    """The sense in which a document has a label.

    `place` is that in the `senses` of the label, from 0; `name` is what tells it from the others.
    """

    place: int
    name: str


class Suggestion(Label):
    """A label and its score; `sense` only for labels that have several."""

    score: float
    sense: SuggestedSense | None = None


class SuggestResponse(BaseModel):
    """Labels of a document, best first.

    `n_known_words` only if it was asked for: how many places of the text the model has a word for;
    null where it does not know its words.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "demo",
                    "suggestions": [
                        {
                            "label": 71,
                            "name": "tank",
                            "score": 0.94,
                            "sense": {"place": 0, "name": "artillery, cavalry"},
                        },
                        {"label": 7, "name": "artillery", "score": 0.61},
                    ],
                }
            ]
        }
    )

    model: str
    suggestions: list[Suggestion]
    n_known_words: int | None = None


class BatchResponse(BaseModel):
    """Labels of each document, best first."""

    model: str
    results: list[list[Suggestion]]


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
    """A slot that was reached, and what it gave to the bare score of its label.

    `margin` is null where the model has no weights to show.
    """

    slot: int
    cluster: int
    score: float
    margin: MarginPart | None
    path: list[PathStep]


class TellingWord(BaseModel):
    """What a word of the document adds to the lead of its sense; below zero: it speaks against.

    Words that are common in the training texts, such as "the", tell nothing to people.
    """

    feature: int
    name: str | int
    amount: float
    is_common: bool


class TellingLabel(BaseModel):
    """The same for another label that the document is given."""

    label: int
    name: str | int
    amount: float


class SensePart(SuggestedSense):
    """The sense in which the document has a label, and what tells it.

    Amounts are what each word and each other label adds to the lead over the sense that comes
    next, whose place is `against`; those of largest magnitude first.
    """

    against: int
    words: list[TellingWord]
    labels: list[TellingLabel]


class OrderEffectPart(BaseModel):
    """What one fact did for a label.

    A fact is how well the label's best cluster fits (`path`), how clearly its own words speak
    there (`slot`), in how many of its clusters it was reached (`reached`), how many training
    documents have it (`count`), or how much of its name stands in the document (`name`: from 0,
    none known, and 1, nothing of it, to 4, every word). `value` is that of the label, `typical`
    that of the median of the document's candidates. `amount`, in log-odds, is what the label would
    lose if it were as typical in this; below zero it would gain. `sentence` says it all.
    """

    fact: Literal["path", "slot", "reached", "count", "name"]
    value: float
    typical: float
    amount: float
    sentence: str


class OrderPart(BaseModel):
    """Where the learned order put a label, and why.

    `bare_place` and `place` are, from 1, where it stands among all labels that were reached: by
    `bare_score`, and now. The first `n_candidates` were put in order. `effects` has the largest
    first; each is of one fact alone, so they do not quite add up. Other labels have none.
    """

    bare_place: int
    place: int
    n_candidates: int
    effects: list[OrderEffectPart]
    sentence: str


class LabelPart(Label):
    """A label, its reached slots best first, and its clusters that were not reached.

    `score` is that of a suggestion. `bare_score` is what the slots come to; it is no probability,
    and may exceed 1. Both are null where no slot was reached. `order` is only there if the model
    has a learned order and the label was reached, `sense` only for labels that have several.
    """

    score: float | None
    bare_score: float | None
    slots: list[SlotPart]
    not_reached: list[int]
    order: OrderPart | None = None
    sense: SensePart | None = None


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
