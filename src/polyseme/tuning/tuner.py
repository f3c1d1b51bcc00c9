"""`polyseme.tune`: the settings that suit the data, found by trial."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.estimators.parameters import SEED, share, whole_from
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files.model_folder import polyseme_version
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import bytes_from, seconds_from
from polyseme.text.model import TextModel
from polyseme.text.problem import Pairs, read_problem
from polyseme.tuning.candidates import Parameters, draw_candidates, space_of
from polyseme.tuning.halving import Search
from polyseme.tuning.journal import Journal, Limits
from polyseme.tuning.metric import Metric
from polyseme.tuning.result import OF_THE_MACHINE, TuningResult, classifier_of
from polyseme.tuning.showing import Showing
from polyseme.tuning.trials import FEWEST_DOCUMENTS, Laboratory, sample_sizes

__all__ = ["TuningInterrupted", "tune"]

N_CANDIDATES = 64
HELD_OUT = share("above 0 and at most 0.5", lambda value: 0 < value <= 0.5)


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; its message says how to go on.

    Attributes
    ----------
    result : TuningResult or None
        What was found so far; None if nothing was tried on all documents yet.
    """

    def __init__(self, message: str, result: TuningResult | None) -> None:
        super().__init__(message)
        self.result = result


def tune(
    estimator: PartitionedClassifier | TextModel,
    X: Any,
    Y: Any,
    *,
    budget: float | str = 600.0,
    metric: str = "P@5",
    space: Mapping[str, Sequence[Any]] | None = None,
    fixed: Collection[str] = (),
    max_memory: float | str | None = None,
    max_model_size: float | str | None = None,
    held_out: float = 0.1,
    n_candidates: int = N_CANDIDATES,
    a: float = 0.55,
    b: float = 1.5,
    state: str | os.PathLike[str] | None = None,
    random_state: int | None = None,
    verbose: int = 1,
) -> TuningResult:
    """Search settings that suit the data, by successive halving on samples of the documents.

    Which settings are tried depends on nothing but the estimator, the space and the seed; which of
    them get as far as all documents depends on the clock as well.

    Parameters
    ----------
    estimator : XRLinear, TextModel or another estimator of polyseme
        Where the search begins; it stays as it is. Of a text model the classifier is tuned.
    X, Y
        As for its `fit`. Of texts, those that `fit` would hold out are left alone.
    budget : float or str, default=600
        Seconds that the trials may take, or a text such as ``10m`` or ``1h30m``.
    metric : str, default='P@5'
        What counts: P@k, R@k (recall), F1@k (mean over documents), nDCG@k, PSP@k or PSnDCG@k.
    space : dict of str to list, optional
        Values to try of each parameter, in the place of those that the estimator's class knows.
    fixed : collection of str
        Parameters that stay as they are.
    max_memory, max_model_size : float or str, optional
        Bytes, or a text such as ``2GB``, that training on all documents may take in memory, by
        estimate, and the model on disk; other settings are out.
    held_out : float, default=0.1
        Share of the documents that all trials are measured on, 10,000 at most.
    n_candidates : int, default=64
        Most settings to try.
    a, b : float
        Constants of PSP and PSnDCG, see `polyseme.metrics.propensities`.
    state : path, optional
        JSON file that keeps the trials. A search whose file is there goes on from it, with the
        time that is left of `budget`; one with other data or another estimator is refused.
    random_state : int, optional
        Chooses settings, held-out documents and samples; by default the estimator's.
    verbose : int, default=1
        1 shows a table on stderr if that is a terminal, else a line for each trial; 0 nothing.

    Returns
    -------
    TuningResult

    Raises
    ------
    ValueError
        If the budget is too small for the given settings, or nothing stays within the limits.
    TuningInterrupted
        On Ctrl-C; a KeyboardInterrupt that has the result so far.
    """
    seconds, measured_by = seconds_from(budget, "budget"), Metric.named(metric)
    limits = Limits(
        None if max_memory is None else bytes_from(max_memory, "max_memory"),
        None if max_model_size is None else bytes_from(max_model_size, "max_model_size"),
    )
    classifier = classifier_of(estimator)
    if not isinstance(classifier, PartitionedClassifier):
        raise ValueError(f"tune takes an estimator of polyseme, not {estimator!r}.")
    estimator.check_parameters()
    seed = classifier.random_state if random_state is None else random_state
    for name, value, constraint in (
        ("held_out", held_out, HELD_OUT),
        ("n_candidates", n_candidates, whole_from(1)),
        ("random_state", seed, SEED),
    ):
        if not constraint.allows(value):
            raise ValueError(f"{name} must be {constraint.words}, not {value!r}.")
    values = space_of(classifier, space, fixed)
    candidates = draw_candidates(classifier, values, n_candidates, seed)

    laboratory = Laboratory(
        classifier,
        *_documents_of(estimator, X, Y),
        measured_by,
        float(held_out),
        int(seed),
        a,
        b,
    )
    allowed = {name: [*tried, candidates[0][name]] for name, tried in values.items()}
    journal = Journal(None if state is None else Path(state), _about(laboratory, values), allowed)
    showing = Showing(str(measured_by), candidates[0], limits, seconds, bool(verbose))
    search = Search(
        candidates,
        sample_sizes(laboratory.n_training),
        laboratory,
        journal,
        limits,
        seconds,
        time.monotonic,
        showing,
    )

    def result(note: str) -> TuningResult | None:
        return _result(estimator, laboratory, candidates[0], journal, limits, note)

    try:
        with showing:
            note = search.run()
    except KeyboardInterrupt:
        kept = "the exception has what was found" if state is None else f"{state} has all trials"
        how = "" if state is None else ", and the same again goes on from there"
        message = f"tuning was stopped after {len(journal.trials)} trials; {kept}{how}."
        raise TuningInterrupted(message, result("")) from None
    found = result(note)
    if found is None:
        raise ValueError(
            "none of the settings that were tried on all documents stays within the limits; allow "
            "more, or give a larger budget."
        )
    return found


def _documents_of(
    estimator: PartitionedClassifier | TextModel, X: Any, Y: Any
) -> tuple[Documents, SparsePattern]:
    """Return features and labels of the documents that may be learned from."""
    if isinstance(estimator, TextModel):
        features, classifier = estimator.untrained_parts()
        progress = Progress(enabled=bool(estimator.verbose))
        with progress:
            problem = read_problem(
                Pairs(X, Y),
                features,
                count_held_out=estimator.count_held_out,
                seed=classifier.random_state,
                progress=progress,
                keep_texts=classifier.reads_texts,
            )
        n = problem.n_training
        documents, labels = problem.rows(0, n), problem.Y.rows(0, n)
    else:
        documents = check_features(X)
        labels, _ = check_labels(Y, documents.n_rows)
    refuse_mostly_absent_labels(labels)
    if documents.n_rows < FEWEST_DOCUMENTS:
        raise ValueError(
            f"there are {documents.n_rows} documents to tune on; at least {FEWEST_DOCUMENTS} are "
            "needed, so that some can be held out."
        )
    return documents, labels


def _about(laboratory: Laboratory, space: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return what trials depend on, by the word that people know it by."""
    estimator = laboratory.estimator
    own = estimator.get_params(deep=False)
    return {
        "version of polyseme": polyseme_version(),
        "seed": laboratory.seed,
        "data set": laboratory.fingerprint(),
        "estimator": {
            "kind": estimator.kind,
            **{name: value for name, value in own.items() if name not in OF_THE_MACHINE},
        },
        "space of values": dict(space),
        "metric": [str(laboratory.metric), laboratory.a, laboratory.b],
        "share of held-out documents": laboratory.held_out,
    }


def _result(
    estimator: Any,
    laboratory: Laboratory,
    baseline: Parameters,
    journal: Journal,
    limits: Limits,
    note: str,
) -> TuningResult | None:
    """Return what was found; nothing if no settings were tried on all documents."""
    tried = [
        (trial.score, trial.parameters == baseline, trial)
        for trial in journal.trials
        if trial.n_documents == laboratory.n_training and trial.score is not None
    ]
    allowed = [one for one in tried if not limits.objection(one[2])]
    if not allowed:
        return None
    best_score, _, best = max(allowed, key=lambda one: one[:2])
    return TuningResult(
        estimator=estimator,
        metric=str(laboratory.metric),
        best_parameters=best.parameters,
        best_score=best_score,
        baseline_parameters=baseline,
        baseline_score=next((score for score, is_baseline, _ in tried if is_baseline), None),
        trials=tuple(journal.trials),
        n_documents=laboratory.n_training,
        n_held_out=laboratory.n_held_out,
        seconds=journal.seconds,
        random_state=laboratory.seed,
        note=note,
        limits=limits,
    )
