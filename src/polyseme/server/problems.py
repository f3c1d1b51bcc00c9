"""Errors as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

__all__ = [
    "PROBLEM_RESPONSES",
    "Problem",
    "add_problem_handlers",
    "described",
    "problem_response",
]

PROBLEM_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """Ends a request with an error that the client can read."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def problem_response(
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, str]] | None = None,
) -> Response:
    """Return an error as a response."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors:
        body["errors"] = errors
    return Response(json.dumps(body), status, headers=headers, media_type=PROBLEM_TYPE)


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error of the app this way."""
    # Mypy: Starlette's type for handlers takes only those of Exception itself.
    app.add_exception_handler(Problem, _of_problem)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _of_http_exception)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _of_validation)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _of_bug)


def _of_problem(request: Request, problem: Problem) -> Response:
    return problem_response(problem.status, problem.detail, problem.headers)


def _of_http_exception(request: Request, error: HTTPException) -> Response:
    detail = {
        404: f"There is nothing at {request.url.path}.",
        405: f"{request.method} is not possible at {request.url.path}.",
    }.get(error.status_code, str(error.detail))
    return problem_response(error.status_code, detail, error.headers)


def _of_validation(request: Request, error: RequestValidationError) -> Response:
    found = error.errors()
    if any(part["type"] == "json_invalid" for part in found):
        return problem_response(400, "The body of the request is not JSON.")
    # Values are not repeated: they may be long, and need not be valid Unicode.
    errors = [
        {"pointer": _pointer(part["loc"]), "detail": str(part["msg"])} for part in found[:20]
    ]
    return problem_response(422, f"{errors[0]['pointer']}: {errors[0]['detail']}.", errors=errors)


def _pointer(location: tuple[int | str, ...]) -> str:
    parts = [str(part)[:80] for part in location[1:]]  # the first says body, query or path
    return "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


def _of_bug(request: Request, error: Exception) -> Response:
    return problem_response(500, "The server made a mistake; its log says more.")


_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, in a sentence."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}
_MEANINGS = {
    400: "The body is not JSON.",
    401: "The bearer token is missing or wrong.",
    404: "No such model, label or cluster.",
    413: "The request, a text or a batch is too large.",
    422: "A value is not as it should be.",
    503: "Too many requests are under way; try again.",
}


def described(meanings: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of errors, by status."""
    return {
        status: {
            "description": meaning,
            "content": {
                PROBLEM_TYPE: {
                    "schema": _SCHEMA,
                    "example": {
                        "type": "about:blank",
                        "title": HTTPStatus(status).phrase,
                        "status": status,
                        "detail": meaning,
                    },
                }
            },
        }
        for status, meaning in meanings.items()
    }


PROBLEM_RESPONSES = described(_MEANINGS)
