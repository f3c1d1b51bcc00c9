"""The endpoints under ``/v1``."""

from __future__ import annotations

import dataclasses
from importlib import metadata
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from polyseme.server import lookup_schemas, schemas
from polyseme.server.problems import PROBLEM_RESPONSES, Problem
from polyseme.server.served_model import Question, ServedModel
from polyseme.server.service import Service, json_response
from polyseme.server.updating import add_updating

__all__ = ["make_routes"]

BIGGEST = 2**53  # whole numbers that JSON can be trusted with
DESCRIBED = (
    "n_labels",
    "n_features",
    "n_clusters",
    "n_slots",
    "n_documents",
    "ordering",
    "has_label_names",
    "has_feature_names",
)
AT_ONCE = 64  # documents of a large batch; others get their turn between

ModelName = Annotated[str | None, Query(description="Name of the model; the first by default.")]
Identifier = Annotated[int, Path(ge=0, le=BIGGEST)]
Limit = Annotated[int, Query(ge=1, le=schemas.MAX_LIMIT)]
Offset = Annotated[int, Query(ge=0, le=BIGGEST)]


def _not_by_split(order: Any) -> Any:
    if order == "split":
        raise ValueError("labels are no longer ordered by split; use 'ambiguity'")
    return order


Order = Annotated[Literal["best", "documents", "ambiguity"], BeforeValidator(_not_by_split)]


def make_routes(service: Service) -> APIRouter:
    """Return all routes. Responses are written as they are; schemas are there for OpenAPI."""
    routes = APIRouter(prefix="/v1", responses=PROBLEM_RESPONSES)
    _add_suggesting(routes, service)
    _add_looking_up(routes, service)
    if service.settings.takes_updates:
        add_updating(routes, service)
    return routes


def _add_suggesting(routes: APIRouter, service: Service) -> None:
    @routes.post("/suggest", response_model=schemas.SuggestResponse, tags=["suggest"])
    async def suggest(request: schemas.SuggestRequest) -> Response:
        """Suggest labels for one document, best first."""
        served = service.model(request.model)
        service.check_threshold(served, request.threshold)
        document = service.document(served, request.text, request.features)
        question = Question(document, request.limit, request.threshold)
        found = await service.suggest(served, question)
        answer: dict[str, Any] = {
            "model": served.name,
            "suggestions": [one.as_json() for one in found],
        }
        if request.count_words:
            answer["n_known_words"] = await service.run(served.count_known_words, document)
        return json_response(answer)

    @routes.post("/suggest-batch", response_model=schemas.BatchResponse, tags=["suggest"])
    async def suggest_batch(request: schemas.BatchRequest) -> Response:
        """Suggest labels for several documents."""
        served = service.model(request.model)
        service.check_threshold(served, request.threshold)
        given: list[tuple[str | None, Any]] = [(text, None) for text in request.texts or []]
        given += [(None, row) for row in request.features or []]
        if len(given) > service.settings.max_batch:
            most = service.settings.max_batch
            raise Problem(413, f"A batch has at most {most:,} documents; send several batches.")

        def prepare() -> list[Question]:
            questions = []
            for place, (text, row) in enumerate(given):
                try:
                    document = service.document(served, text, row)
                except Problem as problem:
                    raise Problem(problem.status, f"Document {place}: {problem.detail}") from None
                questions.append(Question(document, request.limit, request.threshold))
            return questions

        questions = await service.run(prepare)
        results = []
        for first in range(0, len(questions), AT_ONCE):
            part = questions[first : first + AT_ONCE]
            for found in await service.run(served.answer_all, part):
                results.append([one.as_json() for one in found])
        return json_response({"model": served.name, "results": results})

    @routes.post("/explain", response_model=schemas.ExplainResponse, tags=["suggest"])
    async def explain(request: schemas.ExplainRequest) -> Response:
        """Say why labels are suggested, or not.

        For a document: the sense in which it has each label that has several, and what tells
        that; what a learned order made of it; then the nodes of the tree that were kept, the
        clusters reached, the slots that gave each label its bare score, and what each word added
        to every decision on the way.
        """
        served = service.model(request.model)
        document = service.document(served, request.text, request.features)
        n_labels = served.classifier.n_labels_
        for label in request.labels or []:
            if not 0 <= label < n_labels:
                raise Problem(404, f"There is no label {label}; the last is {n_labels - 1}.")

        def explained() -> dict[str, Any]:
            found = served.explain(document, request.labels, request.limit, request.n_words)
            content = dataclasses.asdict(found)
            for label in content["labels"]:
                label["score"] = served.shown_score(label["score"])
                for word in (label["sense"] or {}).get("words", ()):
                    word["is_common"] = served.tagger.common_words.is_common(word["feature"])
                for part in ("order", "sense"):
                    if label[part] is None:
                        del label[part]
            shown = _contributing(content["labels"])
            spans = [span for span in served.spans(document) if span[0] in shown]
            return {"model": served.name, **content, "spans": spans}

        return json_response(await service.run(explained))


def _add_looking_up(routes: APIRouter, service: Service) -> None:
    @routes.get("/labels", response_model=lookup_schemas.LabelsResponse, tags=["look up"])
    async def labels(
        query: Annotated[str, Query(max_length=200, examples=["tank"])] = "",
        order: Order = "best",
        limit: Limit = 20,
        offset: Offset = 0,
        model: ModelName = None,
    ) -> Response:
        """Find labels by a part of their name; without one, list all.

        `order` is how well the name fits (without a query: most documents), most documents, or
        most likely ambiguous; the last lists, without a query, only labels that have several
        senses.
        """
        served = service.model(model)
        search = served.catalogue.labels
        n_found, found = await service.run(search, query, order, limit, offset)
        return json_response({"model": served.name, "n_found": n_found, "labels": found})

    @routes.get("/labels/{label}", response_model=lookup_schemas.LabelResponse, tags=["look up"])
    async def label(label: Identifier, model: ModelName = None) -> Response:
        """Return a label with its senses, if it has several: what goes with each, and its share.

        The labels and words of a label with one meaning stand beside an empty list of senses.
        `slots` are where the label is in the tree; they are chosen for reach, and are no senses.
        """
        served = service.model(model)
        found = await service.run(served.catalogue.label, label)
        if found is None:
            last = served.classifier.n_labels_ - 1
            raise Problem(404, f"There is no label {label}; the last is {last}.")
        return json_response({"model": served.name, **found})

    @routes.get(
        "/clusters/{cluster}", response_model=lookup_schemas.ClusterResponse, tags=["look up"]
    )
    async def cluster(
        cluster: Identifier, limit: Limit = schemas.MAX_LIMIT, model: ModelName = None
    ) -> Response:
        """Return a cluster: its path from the root, the words that lead there, its labels."""
        served = service.model(model)
        found = await service.run(served.catalogue.cluster, cluster, limit)
        if found is None:
            last = served.classifier.clusters_.n_clusters - 1
            raise Problem(404, f"There is no cluster {cluster}; the last is {last}.")
        return json_response({"model": served.name, **found})

    @routes.get("/tree", response_model=lookup_schemas.TreeResponse, tags=["look up"])
    async def tree(
        links: Annotated[int, Query(ge=0, le=10_000)] = 500, model: ModelName = None
    ) -> Response:
        """Return the whole tree with captions, and labels that link clusters."""
        served = service.model(model)
        found = await service.run(served.catalogue.tree, links)
        return json_response({"model": served.name, **found})

    @routes.get("/plane", response_model=lookup_schemas.PlaneResponse, tags=["look up"])
    async def plane(request: Request, model: ModelName = None) -> Response:
        """Return labels as points of the plane, alike ones near each other.

        Finding them takes some seconds; the server does so after its start, and keeps them.
        """
        served = service.model(model)
        packed = await service.planes.of(served)
        return packed.respond(request)

    @routes.get("/quality", response_model=lookup_schemas.QualityResponse, tags=["models"])
    async def quality(model: ModelName = None) -> Response:
        """Return how a model did in its evaluation, if it kept a report."""
        served = service.model(model)
        tagger = served.tagger
        return json_response(
            {
                "model": served.name,
                "report": _without_labels(tagger.report) or None,
                "added_since_report": tagger.added_since_report,
                "threshold": tagger.threshold,
                "seconds": tagger.phase_seconds,
                "assignments": served.classifier.assignments_,
                "senses": served.catalogue.sense_quality(),
            }
        )

    @routes.get(
        "/quality/labels", response_model=lookup_schemas.LabelFiguresResponse, tags=["models"]
    )
    async def label_quality(model: ModelName = None) -> Response:
        """Return how each label did in the evaluation that the model keeps."""
        served = service.model(model)
        found = await service.run(served.catalogue.label_figures)
        return json_response({"model": served.name, "labels": found})

    @routes.get("/models", response_model=lookup_schemas.ModelsResponse, tags=["models"])
    async def models() -> Response:
        """List the models; the first is used where none is named."""
        served = [service.model(name) for name in service.store.names]
        about = [_description(one, service.settings.takes_updates) for one in served]
        return json_response({"version": metadata.version("polyseme"), "models": about})


def _contributing(labels: list[dict[str, Any]]) -> set[int]:
    """Return all features that are listed somewhere in an explanation."""
    slots = [slot for label in labels for slot in label["slots"]]
    margins = [part["margin"] for slot in slots for part in (slot, *slot["path"])]
    lists = [margin["contributions"] for margin in margins if margin is not None]
    lists += [label["sense"]["words"] for label in labels if "sense" in label]
    return {word["feature"] for words in lists for word in words}


def _without_labels(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without what has an endpoint of its own."""
    return {name: part for name, part in report.items() if name != "by_label"}


def _description(served: ServedModel, takes_updates: bool) -> dict[str, Any]:
    tagger = served.tagger
    about = tagger.sizes()
    return {
        "name": served.name,
        "takes": ["text"] * tagger.takes_texts + ["features"] * (not served.needs_texts),
        **{name: about[name] for name in DESCRIBED},
        "senses": served.catalogue.about_senses(),
        "has_probabilities": tagger.has_probabilities,
        "threshold": tagger.threshold,
        "loaded_at": served.loaded_at,
        "saved_at": served.saved_at,
        "takes_updates": takes_updates and served.keeps_training_data,
        "parameters": {
            name: value
            for name, value in about["parameters"].items()
            if name not in ("n_jobs", "verbose")
        },
    }
