"""The backend itself: train, learn, suggest."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import annif.util
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from annif import logger
from annif.backend.backend import AnnifLearningBackend
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)
from annif.suggestion import SuggestionBatch

from polyseme.annif.documents import (
    analyzer_of_file,
    names_of_subjects,
    records_of,
    write_records,
)
from polyseme.annif.settings import read_setting, untrained_model
from polyseme.tagger import Tagger, open_tagger, tagger_for
from polyseme.text import TextModel, open_corpus
from polyseme.training.update import Update

__all__ = ["PolysemeBackend"]

N_AMBIGUOUS = 5  # subjects that the log names after training
OWN_WORDS = "polyseme"  # in the place of an analyzer, where a project has none


@dataclass(frozen=True)
class _Ready:
    """A model, and the present number in the vocabulary of each of its labels, or -1."""

    tagger: Tagger
    subject_ids: npt.NDArray[np.int64]


class PolysemeBackend(AnnifLearningBackend):  # type: ignore[misc]
    """Extreme multi-label classification in which a subject may have several senses."""

    name = "polyseme"
    MODEL_FOLDER = "polyseme-model"
    TRAIN_FILE = "polyseme-train.jsonl"  # Annif neither counts nor uploads what is so named

    _ready: _Ready | None = None

    def __init__(self, backend_id: str, config_params: Any, project: Any) -> None:
        super().__init__(backend_id, config_params, project)
        self._learning = Lock()

    def initialize(self, parallel: bool = False) -> None:
        """Load the model, if it is not loaded; processes side by side get a thread each."""
        if self._ready is None:
            self._ready = self._made_ready(self._load(n_jobs=1 if parallel else None))

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        model = self._untrained(params, jobs)
        if corpus == "cached":
            self._check_cached()
        else:
            self._keep_documents(corpus)
        self.info("training")
        names = names_of_subjects(self.project.subjects, self.project.vocab_lang)
        with self._one_sentence():
            model.fit_records(open_corpus(self._train_file), label_names=names)
            model.reading_ = {"analyzer": self._analyzer_spec}
            model.save(self._model_folder)
        self.info(_what_was_trained(model))
        self._ready = self._made_ready(model)
        if self._ready.tagger.n_ambiguous:
            self.info(_what_is_ambiguous(self._ready.tagger))

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        with self._learning:
            # Whoever is suggesting keeps the present model, so the new one is another object.
            model = self._load(n_jobs=None)
            if model.training_data_ is None:
                raise NotSupportedException(
                    "the model was trained without allow_learn=true and does not hold the "
                    "documents that learning needs; train the project again",
                    project_id=self.project.project_id,
                )
            records = list(self._records(corpus))
            if not records:
                raise NotSupportedException(
                    "Cannot learn from documents without subjects of the vocabulary"
                )
            taken = map(str, model.classifier_.label_names_ or ())
            names = names_of_subjects(self.project.subjects, self.project.vocab_lang, taken)
            with self._one_sentence(ConfigurationException):
                keep_matcher = read_setting(params, "keep_matcher", "bool", False)
            with self._one_sentence():
                update = model.update_records(
                    records,
                    old=self._texts_to_read_again(model),
                    label_names=names,
                    retrain_matcher=not keep_matcher,
                )
                model.save(self._model_folder)
                if self._train_file.exists():
                    write_records(records, self._train_file, self._analyzer_spec, "a")
            self._ready = self._made_ready(model)
        self._tell(update)

    def _texts_to_read_again(self, model: TextModel) -> Any:
        """Return the documents of the training if its method reads texts: models keep none."""
        if not model.classifier_.reads_texts or not self._train_file.exists():
            return None
        return open_corpus(self._train_file)

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        assert self._ready is not None
        with self._one_sentence(ConfigurationException):
            limit = read_setting(params, "limit", "int", 100)
            if limit < 1:
                raise ValueError(f"limit must be a whole number of at least 1, not {limit}.")
        tagger, subject_ids = self._ready.tagger, self._ready.subject_ids
        X = tagger.rows([self._prepared(document.text) for document in documents])
        labels, scores = tagger.rank(X, limit)
        probabilities = tagger.shown(scores)
        if logger.isEnabledFor(logging.DEBUG):
            self._tell_senses(tagger, X, limit)
        ids = subject_ids[labels]
        has_words = np.diff(X.all_sparse().starts) > 0
        kept = (labels >= 0) & (ids >= 0) & (probabilities > 0) & has_words[:, np.newaxis]
        rows, _ = np.nonzero(kept)
        shape = (len(documents), len(self.project.subjects))
        values = probabilities[kept].astype(np.float32)
        return SuggestionBatch(sp.csr_array((values, (rows, ids[kept])), shape=shape))

    def _untrained(self, params: dict[str, Any], jobs: int) -> TextModel:
        with self._one_sentence(ConfigurationException):
            return untrained_model(
                params,
                analyzer="token" if self.project.analyzer_spec else "word",
                keep_data=annif.util.boolean(params.get("allow_learn", False)),
                n_jobs=jobs or None,
            )

    def _keep_documents(self, corpus: Any) -> None:
        """Take texts apart once, and keep them for the two passes and for ``--cached``."""
        if next(self._records(corpus), None) is None:
            raise NotSupportedException(
                "Cannot train polyseme project with no documents that have subjects"
            )
        self.info("reading documents")
        annif.util.atomic_save(
            corpus,
            self.datadir,
            self.TRAIN_FILE,
            method=lambda corpus, path: write_records(
                self._records(corpus), path, self._analyzer_spec, "w"
            ),
        )

    def _check_cached(self) -> None:
        if not self._train_file.exists():
            raise NotSupportedException(
                "Cannot train polyseme project from cached data: no documents were kept by an "
                "earlier training; give them"
            )
        with self._one_sentence():
            self._check_analyzer(analyzer_of_file(self._train_file), "The kept documents were")
        self.info("reusing documents of an earlier training")

    def _load(self, n_jobs: int | None) -> TextModel:
        if not (self._model_folder / "model.json").exists():
            raise NotInitializedException(
                f"model {self._model_folder} not found", backend_id=self.backend_id
            )
        self.debug(f"loading model from {self._model_folder}")
        with self._one_sentence():
            tagger = open_tagger(self._model_folder, n_jobs=n_jobs)
            if tagger.label_uris is None:
                raise ValueError(f"{self._model_folder} was not trained by Annif.")
        model: TextModel = tagger.model
        self._check_analyzer(model.reading_.get("analyzer"), "The model was")
        model.verbose = model.classifier_.verbose = 0
        return model

    def _check_analyzer(self, used: str | None, what: str) -> None:
        if used != self._analyzer_spec:
            raise ConfigurationException(
                f"{what} made with the analyzer {used}, but the project has "
                f"{self._analyzer_spec}; train it again with documents, or change it back",
                project_id=self.project.project_id,
            )

    def _made_ready(self, model: TextModel) -> _Ready:
        # By URI, since numbers change when a vocabulary is loaded anew.
        by_uri = self.project.subjects.by_uri
        found = [by_uri(str(uri), warnings=False) for uri in model.label_uris_ or ()]
        return _Ready(
            tagger_for(model), np.array([-1 if one is None else one for one in found], np.int64)
        )

    def _records(self, corpus: Any) -> Iterator[Any]:
        return records_of(corpus.documents, self.project.subjects, self._prepared)

    def _prepared(self, text: str) -> str:
        """Return the tokens of the project's analyzer between spaces, or the text itself."""
        if self.project.analyzer_spec:
            text = " ".join(self.project.analyzer.tokenize_words(text))
        return text.encode("utf-8", "replace").decode("utf-8")

    def _tell_senses(self, tagger: Tagger, X: Any, limit: int) -> None:
        """Log the senses of suggested subjects that have several; Annif cannot show them."""
        for i, found in enumerate(tagger.suggest(X, limit, 0.0)):
            senses = [f"{one.name} ({one.sense.name})" for one in found if one.sense is not None]
            if senses:
                self.debug(f"senses in document {i} of the batch: {'; '.join(senses)}")

    def _tell(self, update: Update) -> None:
        self.info(
            f"learned {update.n_documents} documents with {update.n_labels} new subjects; "
            f"{update.n_changed_clusters} of {update.n_clusters} clusters were trained anew"
        )
        if update.full_training_due:
            reasons = " ".join(update.full_training_due)
            command = f"annif train --cached {self.project.project_id}"
            self.warning(f"a full training is due ({command}): {reasons}")

    @contextmanager
    def _one_sentence(self, kind: type[Exception] = OperationFailedException) -> Iterator[None]:
        """Turn what polyseme refuses into what Annif reports."""
        try:
            yield
        except (ValueError, OSError) as error:
            raise kind(str(error), backend_id=self.backend_id) from error  # type: ignore[call-arg]

    @property
    def _analyzer_spec(self) -> str:
        return str(self.project.analyzer_spec or OWN_WORDS)

    @property
    def _model_folder(self) -> Path:
        return Path(self.datadir, self.MODEL_FOLDER)

    @property
    def _train_file(self) -> Path:
        return Path(self.datadir, self.TRAIN_FILE)


def _what_was_trained(model: TextModel) -> str:
    classifier = model.classifier_
    trained = f"learned {classifier.n_labels_} subjects from {classifier.n_documents_} documents"
    if not model.report_:
        return f"{trained}; too few documents to hold some out, so scores are not probabilities"
    report = model.report_
    figures, cut = report["accuracy"], report["threshold"]
    return (
        f"{trained}; on {report['n_documents']} held-out ones P@1 is {figures['P@1']:.1f}%, "
        f"and best F1 is at threshold {cut['threshold']:.2f}"
    )


def _what_is_ambiguous(tagger: Tagger) -> str:
    listed = [
        f"{one.name} ({' / '.join(one.senses)})" for one in tagger.ambiguous_labels(N_AMBIGUOUS)
    ]
    n_judged = tagger.sizes()["senses"]["n_judged"]
    return (
        f"likely ambiguous are {tagger.n_ambiguous} of {n_judged} subjects that were judged; "
        f"most so, with their senses: {'; '.join(listed)}"
    )
