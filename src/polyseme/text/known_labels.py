"""The labels of a text model: found by name or URI, called by their names, with examples."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from polyseme.inputs.names import Names
from polyseme.senses.common_words import N_CONSIDERED, CommonWords
from polyseme.senses.describe import AmbiguousLabel, Sense, ambiguous_labels, senses_of
from polyseme.senses.layer import SHOWN_FROM
from polyseme.senses.slots import label_name, label_number
from polyseme.text.examples import Examples
from polyseme.text.features import TextFeatures
from polyseme.text.vocabularies.kept import KeptVocabulary

if TYPE_CHECKING:
    from polyseme.estimators.xr_linear import XRLinear

__all__ = ["KnownLabels"]

N_WORDS = 10


class KnownLabels:
    """What a trained text model knows of its labels; see `TextModel` for the attributes."""

    if TYPE_CHECKING:  # a text model has them, and says so itself where it is not trained
        classifier_: XRLinear
        features_: TextFeatures
        label_uris_: Names | None
        vocabulary_: KeptVocabulary | None
        examples_: Examples | None

    def examples_of(self, label: int, place: int | None = None) -> list[str]:
        """Return beginnings of training texts of a label, or of one of its senses, if kept.

        Parameters
        ----------
        label : int
        place : int, optional
            Which of the senses that the label is shown with, from 0; by default all texts of the
            label.
        """
        return [] if self.examples_ is None else self.examples_.of(label, place)

    def senses(self, label: str | int, *, at_least: float = SHOWN_FROM) -> list[Sense]:
        """Describe each sense of a label with examples, the one with most documents first.

        Words that are common in the training texts are left out where others tell enough.

        Parameters
        ----------
        label : str or int
            As for `label_number`.
        at_least : float
            Labels that are less likely ambiguous have one meaning, and so one sense.
        """
        number = self.label_number(label)
        found = senses_of(self.classifier_, number, at_least=at_least, n_words=N_CONSIDERED)
        common = CommonWords(self.features_, self.classifier_.n_features_in_)
        places = range(len(found)) if len(found) > 1 else [None]
        return [  # its rows are those of the classifier, in another order than the texts
            dataclasses.replace(
                common.told(sense, N_WORDS), documents=[], examples=self.examples_of(number, place)
            )
            for sense, place in zip(found, places, strict=True)
        ]

    def ambiguous_labels(
        self, n: int = 10, *, at_least: float = SHOWN_FROM
    ) -> list[AmbiguousLabel]:
        """Return the labels that are most likely ambiguous, with the names of their senses.

        Parameters
        ----------
        n : int
            How many at most.
        at_least : float
            The least probability.
        """
        return ambiguous_labels(self.classifier_, n, at_least=at_least)

    def name_of(self, label: int) -> str:
        """Return the name of a label that is given by number."""
        return str(label_name(self.classifier_, label))

    def uri_of(self, label: int) -> str | None:
        """Return what the training data call a label, if that is not its name."""
        return None if self.label_uris_ is None else str(self.label_uris_[label])

    @property
    def shown_uris(self) -> Names | None:
        """The URIs of labels as their vocabulary has them, or else what the data call them.

        Concepts that are no labels may follow.
        """
        return self.label_uris_ if self.vocabulary_ is None else self.vocabulary_.uris

    def label_numbers(self) -> dict[str, int]:
        """Return the number of each label under its name, and under its URI if it has one."""
        names = map(str, self.classifier_.label_names_ or ())
        uris = map(str, self.label_uris_ or ())
        return {**{name: i for i, name in enumerate(names)}, **{u: i for i, u in enumerate(uris)}}

    def label_number(self, label: str | int) -> int:
        """Return the number of a label that is given by name, URI or number.

        Names are found as people type them, alternative ones too; see `polyseme.senses`.
        """
        for uris in (self.label_uris_, self.shown_uris):
            if uris is not None and label in uris:
                number = uris.index(label)
                if number < self.classifier_.n_labels_:
                    return number
        search = None if self.vocabulary_ is None else self.vocabulary_.search
        return label_number(self.classifier_, label, search=search)
