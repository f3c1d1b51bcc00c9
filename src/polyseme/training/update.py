"""More documents and new labels for a trained model, without training everything again.

Features and tree stay. New documents are matched by the present matcher, which has not seen them;
a new label gets slots in the clusters that most of its documents are matched to. Then only the
clusters with labels of new documents, and the nodes above them, are trained anew, on their old
documents and the new ones. All other weights stay bit for bit, and labels keep their numbers.
Senses are found anew for labels with new documents; those of other labels stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.ordering.name_words import NameWords
from polyseme.partition.co_occurrence import co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.placing import Placing, place_labels
from polyseme.partition.training_rows import choose_training_rows, cluster_targets
from polyseme.training.disentangle import what_the_ranker_sees
from polyseme.training.with_slots import check_can_be_updated

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["Update", "added_since_training", "place_labels", "update_stacked", "updated"]

# Beyond these a full training is due. Rules of thumb: tree, words and calibration grow old.
MOST_NEW_DOCUMENTS = 0.2  # as a share of those that the last full training had
MOST_NEW_LABELS = 0.1
LEAST_REACH = 0.75  # of new labels, as a share of that of known ones
MOST_WITHOUT_ROOM = 0.1  # as a share of the new labels


@dataclass(frozen=True)
class Update:
    """What an update did, and whether a full training is due.

    Attributes
    ----------
    n_documents, n_labels : int
        New ones.
    n_changed_clusters, n_clusters : int
        Clusters that were trained anew, and all.
    known_reach : float or None
        Share of the pairs of new document and known label that the beam reaches; the matcher
        had not seen these documents. None if there are none.
    new_reach : float or None
        The same for new labels, placed by one half of the new documents and counted on the
        other. None if no new label is in both halves.
    n_without_room : int
        New labels for which all clusters that suit them were full.
    n_repeated : int
        New documents that are old ones, with the same features and labels; they count twice now.
    n_without_labels : int
        Texts without labels, which were left out.
    n_judged : int
        Labels with new documents whose senses were looked for anew, in all of their documents.
    unknown_words : float or None
        Share of words of the new texts that the features do not know.
    full_training_due : tuple of str
        Why, a sentence each; empty if it is not.
    seconds : dict of str to float
    """

    n_documents: int
    n_labels: int
    n_changed_clusters: int
    n_clusters: int
    known_reach: float | None = None
    new_reach: float | None = None
    n_without_room: int = 0
    n_repeated: int = 0
    n_without_labels: int = 0
    n_judged: int = 0
    unknown_words: float | None = None
    full_training_due: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


def updated(
    model: Model,
    X_old: Any,
    Y_old: Any,
    X_new: Any,
    Y_new: Any,
    *,
    label_names: Sequence[str | int] = (),
    retrain_matcher: bool = True,
) -> tuple[Model, Update]:
    """Return a model that knows more documents and labels; the given one stays as it is.

    Parameters
    ----------
    model : estimator
        Trained, with any backbone.
    X_old, Y_old
        What it was trained on, in any form that `fit` takes: a cluster can only be trained
        anew with its old documents too.
    X_new : shape (n_new_documents, n_features)
    Y_new : shape (n_new_documents, n_labels + n_new_labels), or lists of labels
        The first columns are the known labels.
    label_names : sequence of str or int
        Names of the new labels, if the known ones have names.
    retrain_matcher : bool
        Whether nodes above changed clusters are trained anew. If not, the beam of every
        document stays as it is, and new labels are reached through the paths that exist.

    Returns
    -------
    model : estimator
        Of the same class.
    update : Update
    """
    check_can_be_updated(model)
    known, layout = model._known_labels(), model.layout_
    old_features = check_features(X_old, layout=layout, model_name="the model")
    new_features = check_features(X_new, layout=layout, model_name="the model")
    old_labels, _ = check_labels(Y_old, old_features.n_rows, label_names=known)
    if old_labels.n_columns != model.n_labels_:
        raise ValueError(
            f"Y_old has {old_labels.n_columns} labels, but the model has {model.n_labels_}."
        )
    if known is None and len(label_names) > 0:
        raise ValueError("The model's labels have no names, so new ones cannot have any.")
    all_names = None if known is None else [*known, *label_names]
    if all_names is not None:
        _refuse_duplicates(known or [], label_names)
    new_labels, names_found = check_labels(Y_new, new_features.n_rows, label_names=all_names)
    if known is None and names_found is not None:
        raise ValueError("The model's labels have no names; give Y_new as a matrix.")
    if new_labels.n_columns < model.n_labels_:
        raise ValueError(
            f"Y_new has {new_labels.n_columns} labels, but the model has {model.n_labels_}; known "
            "labels come first, new ones after them."
        )
    return update_stacked(
        model,
        Documents.stack([old_features, new_features]),
        SparsePattern.stack([old_labels, new_labels], new_labels.n_columns),
        old_features.n_rows,
        label_names=label_names,
        retrain_matcher=retrain_matcher,
    )


def update_stacked(
    model: Model,
    documents: Documents,
    Y: SparsePattern,
    n_old: int,
    *,
    label_names: Sequence[str | int],
    retrain_matcher: bool = True,
    has_unseen: bool = False,
) -> tuple[Model, Update]:
    """Do the work of `updated` on checked matrices with the old documents first.

    Parameters
    ----------
    n_old : int
        How many rows are old.
    has_unseen : bool
        Whether there may be old documents that the model was not trained on: held-out ones.
    """
    check_can_be_updated(model)
    model.check_parameters()
    _check_old(model, Y.rows(0, n_old), has_unseen)
    counts = np.bincount(Y.columns, minlength=Y.n_columns)
    n_known, run, plan = model.n_labels_, model._run(), model._plan(counts, Y.n_rows)
    new, Y_new = documents.rows(n_old, documents.n_rows), Y.rows(n_old, Y.n_rows)
    if (counts[n_known:] == 0).any():
        label = n_known + int(counts[n_known:].argmin())
        raise ValueError(f"the new label in column {label} has no document; leave it out.")

    progress = Progress(enabled=bool(model.verbose))
    with progress:
        with progress.phase("Matching new documents", new.n_rows) as step:
            matched = model.matcher_.match(new, plan.beam_size, run.reporting_to(step))
        with progress.phase("Placing new labels"):
            copies = plan.assignment.copies if plan.rounds > 0 else 1
            placing = Placing(
                model.clusters_,
                model.tree_,
                matched,
                copies,
                plan.assignment.max_cluster_size,
                run,
            )
            unplaced = Y_new.to_scipy()[:, n_known:]
            placed, n_without_room = placing.place(unplaced)
            clusters = LabelClusters.from_matrix(
                sp.vstack([model.clusters_.to_matrix(), placed], format="csc")
            )
            known_reach = placing.known_reach(Y_new.to_scipy()[:, :n_known])
            new_reach = placing.new_reach(unplaced)
        targets = cluster_targets(Y, clusters)
        is_changed = np.zeros(clusters.n_clusters, dtype=np.bool_)
        is_changed[targets.columns[targets.starts[n_old] :]] = True
        is_changed |= model.learns_from_all

        matcher = model.matcher_
        if retrain_matcher:
            with progress.phase("Training changed nodes") as step:
                matching = MatchingTask(
                    targets, model.tree_, start_from=matcher, changed=is_changed
                )
                matcher = model.make_matcher().fit(documents, matching, run.reporting_to(step))
        n_slots = int(clusters.sizes[is_changed].sum())
        with progress.phase("Training changed clusters", n_slots) as step:
            reached = None
            if plan.training_rows != "teacher-forcing" or plan.sense_positives:
                reached = matcher.match(documents, plan.beam_size, run)
            ranking = RankingTask(
                Y,
                clusters,
                choose_training_rows(plan.training_rows, targets, reached),
                reached.pattern() if plan.sense_positives and reached is not None else None,
                plan.label_weights,
                start_from=model.ranker_,
                changed=is_changed,
            )
            seen = what_the_ranker_sees(matcher, documents, run)
            ranker = model.make_ranker().fit(seen, ranking, run.reporting_to(step))
        has_more = counts > np.pad(model.label_counts_, (0, Y.n_columns - n_known))
        senses = model.senses_
        if senses is not None:
            senses = model.find_senses(seen, Y, progress, only=has_more, earlier=senses)

    update = Update(
        n_documents=new.n_rows,
        n_labels=Y.n_columns - n_known,
        n_changed_clusters=int(is_changed.sum()),
        n_clusters=clusters.n_clusters,
        known_reach=known_reach,
        new_reach=new_reach,
        n_without_room=n_without_room,
        n_repeated=_count_repeated(documents, Y, n_old),
        n_judged=0 if senses is None else int(has_more[senses.labels].sum()),
        seconds=dict(progress.seconds),
    )
    grown: Model = clone(model)
    for name, value in vars(model).items():
        if name.endswith("_"):
            setattr(grown, name, value)
    grown.matcher_, grown.ranker_, grown.clusters_ = matcher, ranker, clusters
    grown.n_documents_, grown.n_labels_ = documents.n_rows, Y.n_columns
    grown.label_counts_ = counts
    grown.slot_documents_ = (
        _slot_documents(model, clusters, Y_new, matched, run.n_threads)
        if plan.rounds > 0
        else counts[clusters.labels]
    )
    if model.label_names_ is not None:
        grown.label_names_ = Names.from_list([*model.label_names_, *label_names])
    grown.updates_ = [
        *model.updates_,
        {"n_documents": update.n_documents, "n_labels": update.n_labels},
    ]
    grown.senses_ = senses
    if model.name_words_ is not None:
        grown.name_words_ = NameWords.of(
            grown.label_names_, grown.feature_names_, grown.layout_[0]
        )
    grown._make_walk()
    return grown, replace(update, full_training_due=_reasons(grown, update))


def _refuse_duplicates(known: Sequence[Any], new: Sequence[Any]) -> None:
    seen = set(known)
    for name in new:
        if name in seen:
            raise ValueError(
                f"the new label {name!r} has the name of another label; names must differ."
            )
        seen.add(name)


def _check_old(model: Model, Y_old: SparsePattern, has_unseen: bool) -> None:
    counts = np.bincount(Y_old.columns, minlength=model.n_labels_)[: model.n_labels_]
    wrong = counts < model.label_counts_ if has_unseen else counts != model.label_counts_
    if wrong.any():
        label = int(wrong.argmax())
        name = label if model.label_names_ is None else model.label_names_[label]
        raise ValueError(
            f"the old documents are not those that the model was trained on: label {name!r} has "
            f"{counts[label]} documents and had {model.label_counts_[label]}; give the same data "
            "again, with those of all later updates."
        )


def _count_repeated(documents: Documents, Y: SparsePattern, n_old: int) -> int:
    """Count the new documents that are among the old ones."""
    sparse, dense = documents.sparse, documents.dense

    def content(row: int) -> bytes:
        parts: list[npt.NDArray[Any]] = [Y.row(row)]
        parts += [] if sparse is None else sparse.row(row)
        parts += [] if dense is None else [dense[row]]
        return b"|".join(part.tobytes() for part in parts)

    # Few old rows have the key of a new one, and only these are looked at.
    keys = np.zeros(documents.n_rows)
    if sparse is not None:
        sums = np.concatenate([[0], np.cumsum(sparse.columns, dtype=np.int64)])
        keys += sums[sparse.starts[1:]] - sums[sparse.starts[:-1]]
    if dense is not None:
        keys += dense[:, 0]
    alike = np.flatnonzero(np.isin(keys[:n_old], keys[n_old:])).tolist()
    old = set(map(content, alike))
    return sum(content(row) in old for row in range(n_old, documents.n_rows))


def _slot_documents(
    model: Model,
    clusters: LabelClusters,
    Y_new: SparsePattern,
    matched: SparseRows,
    n_threads: int,
) -> npt.NDArray[np.int64]:
    counted = co_occurrence(Y_new.to_scipy(), matched.to_scipy(), n_threads=n_threads)
    documents = counted.count_at(clusters)
    # Slots of known labels are in the order they had.
    documents[clusters.labels < model.n_labels_] += model.slot_documents_
    return documents


def added_since_training(model: Model) -> dict[str, int] | None:
    """Return ``n_documents`` and ``n_labels`` of all updates together; None if there was none."""
    if not model.updates_:
        return None
    return {
        name: sum(past[name] for past in model.updates_) for name in ("n_documents", "n_labels")
    }


def _reasons(model: Model, update: Update) -> tuple[str, ...]:
    reasons = []
    added = added_since_training(model) or {}
    for noun, total, most in (
        ("documents", model.n_documents_, MOST_NEW_DOCUMENTS),
        ("labels", model.n_labels_, MOST_NEW_LABELS),
    ):
        n_added = added.get(f"n_{noun}", 0)
        share = n_added / max(1, total - n_added)
        if share > most:
            reasons.append(
                f"{n_added:,} {noun} were added to the {total - n_added:,} of the last full "
                f"training, which is more than {most:.0%}."
            )
    usual = 1.0 if update.known_reach is None else update.known_reach
    if update.new_reach is not None and update.new_reach < LEAST_REACH * usual:
        reasons.append(
            f"The beam reaches only {update.new_reach:.0%} of the new labels of documents that "
            f"did not place them (known labels: {usual:.0%}): no present cluster suits them well."
        )
    if update.n_without_room > MOST_WITHOUT_ROOM * update.n_labels:
        reasons.append(
            f"For {update.n_without_room:,} new labels all clusters that suit them are full."
        )
    return tuple(reasons)
