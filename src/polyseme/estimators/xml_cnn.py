"""XML-CNN: convolutions over word vectors, the small baseline among networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from polyseme.backbones.attention.reading import Reading
from polyseme.estimators.other_defaults import with_parameters_of
from polyseme.estimators.parameters import Constraint, whole_from
from polyseme.estimators.reading_texts import ReadingClassifier

__all__ = ["XMLCNN"]


@with_parameters_of(ReadingClassifier)
class XMLCNN(ReadingClassifier):
    """Labels for texts by convolutions over their words.

    Convolutions of several widths look for phrases, the strongest answers in each eighth of the
    text are kept (dynamic max pooling), and a bottleneck makes a short vector of them (Liu et al.,
    2017). One network finds clusters of labels, and another, which goes on from it, ranks the
    labels in these. With ``max_leaf_size`` of as many labels as there are it is the paper's
    method: one network for all labels. Needs texts beside features: use it within a `TextModel`.
    Needs the extra ``transformer``; see docs/attention.md.

    Parameters
    ----------
    n_filters : int, default=64
        Of each width of a convolution.
    n_hidden : int, default=256
        Length of the vector behind the bottleneck.
    dropout : float, default=0.3
        Share of the dimensions that a document leaves out in training.
    learning_rate : float, default=0.003
        Of the optimiser, at its height.

    All other parameters are those of `AttentionXML`.

    Examples
    --------
    >>> from polyseme import XMLCNN, TextModel
    >>> model = TextModel(classifier=XMLCNN(copies=2, n_epochs=10))
    """

    kind: ClassVar[str] = "xml-cnn"
    network: ClassVar[str] = "convolution"
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ReadingClassifier._constraints,
        "n_filters": whole_from(1),
    }

    def __init__(
        self,
        n_filters: int = 64,
        n_hidden: int = 256,
        dropout: float = 0.3,
        learning_rate: float = 0.003,
        **others: Any,
    ) -> None:
        super().__init__(n_hidden=n_hidden, dropout=dropout, learning_rate=learning_rate, **others)
        self.n_filters = n_filters

    def _how(self) -> Reading:
        return replace(super()._how(), n_filters=self.n_filters)
