"""What training on texts would take: features are computed, the training is estimated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from polyseme.cost.estimate import Range, TrainingEstimate, estimate_training
from polyseme.machine.phases import SENSES
from polyseme.machine.progress import Progress
from polyseme.partition.trees.given import LabelHierarchy, check_hierarchy
from polyseme.text.corpora.records import Record
from polyseme.text.problem import read_problem
from polyseme.text.vocabularies.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["estimate_text_training"]

SAMPLES = "Training on samples"


def estimate_text_training(
    model: TextModel,
    records: Iterable[Record],
    *,
    label_names: Mapping[str, str] | None = None,
    hierarchy: LabelHierarchy | None = None,
) -> TrainingEstimate:
    """Estimate what ``model.fit_records(records)`` would take on this machine.

    All texts are read and turned into features, because nothing less says how many words there
    are; what that took counts as known. Choosing examples and saving are left out: they are short.

    Parameters
    ----------
    model : TextModel
        Its parameters count; it stays as it is.
    records : iterable of Record
        As for `TextModel.fit_records`.
    label_names, hierarchy
        As for `TextModel.fit_records`; names matter to the hierarchy only.
    """
    model.check_parameters()
    outside = check_hierarchy(hierarchy)
    features, classifier = model.untrained_parts()
    progress = Progress(enabled=bool(model.verbose))
    with progress:
        problem = read_problem(
            records,
            features,
            count_held_out=model.count_held_out,
            seed=classifier.random_state,
            progress=progress,
            keep_texts=classifier.reads_texts,
        )
        with progress.phase(SAMPLES):
            if outside is not None:
                known = Vocabulary.of(label_names or {})
                names = [known.get(label, label) for label in problem.labels]
                uris = [known.uri_of(label) or label for label in problem.labels]
                outside = outside.for_columns(problem.labels, names, uris)
            found = estimate_training(
                classifier,
                problem.rows(0, problem.X.n_rows),
                problem.Y,
                label_names=problem.labels,
                hierarchy=outside,
            )
    seconds = {
        name: Range.exactly(taken) for name, taken in progress.seconds.items() if name != SAMPLES
    }
    if problem.n_held_out:
        share = problem.n_training / problem.X.n_rows
        # Senses are looked for once, in the training that stays.
        needed = [s for phase, s in found.seconds.items() if phase != SENSES or not model.refit]
        first = sum(needed, Range.exactly(0)) * share
        seconds["Training without held-out documents"] = first
    if model.refit or not problem.n_held_out:
        seconds.update(found.seconds)
    vocabulary = features.vocabulary_
    n_bytes = 4.0 * features.n_features_  # the weights of words, and the words themselves
    n_bytes += 0 if vocabulary is None else sum(len(str(word)) + 8 for word in vocabulary)
    return replace(
        found,
        seconds=seconds,
        total_seconds=sum(seconds.values(), Range.exactly(0)),
        model_bytes=found.model_bytes + Range.exactly(n_bytes),
    )
