"""A page of the site, made of what the server says of itself: its OpenAPI description.

In a page, `<!-- openapi -->` becomes a section for every address and a table for every object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

__all__ = ["as_markdown", "description", "setup"]

MARK = "<!-- openapi -->"


def description() -> dict[str, Any]:
    """Return what `/openapi.json` would, without a model, of a server that takes updates."""
    from polyseme.server.app import create_app
    from polyseme.server.settings import ServerSettings

    return create_app(cast("Any", None), ServerSettings(takes_updates=True)).openapi()


def as_markdown(openapi: dict[str, Any]) -> str:
    """Return the addresses and the objects of an OpenAPI description as Markdown."""
    schemas = openapi["components"]["schemas"]
    addresses = [
        _address(method, path, operation, schemas)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    ]
    objects = [_object(name, schemas[name]) for name in sorted(schemas)]
    return "\n\n".join(["## Addresses", *addresses, "## Objects", *objects])


def _address(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    summary, description = operation["summary"], operation.get("description", "")
    parts = [f"### {method.upper()} {path}", f"{summary}.", description]
    if parameters := operation.get("parameters"):
        parts.append(
            _table(
                ("in the address", "", "default", "what it is"),
                [
                    (
                        f"`{parameter['name']}`",
                        _type(parameter["schema"]),
                        _default(parameter["schema"], parameter["required"]),
                        parameter.get("description") or parameter["schema"].get("description", ""),
                    )
                    for parameter in parameters
                ],
            )
        )
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"Takes {_type(body)}.")
        parts += [_json(example) for example in _resolved(body, schemas).get("examples", ())]
    answer = operation["responses"]["200"].get("content", {}).get("application/json", {})
    if answer.get("schema"):
        parts.append(f"Answers with {_type(answer['schema'])}.")
        parts += [_json(one) for one in _resolved(answer["schema"], schemas).get("examples", ())]
    refusals = [status for status in operation["responses"] if status != "200"]
    if refusals:
        parts.append(f"Refusals: {', '.join(refusals)}; see [errors](../serving.md#errors).")
    return "\n\n".join(part for part in parts if part)


def _object(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (
            f"`{field}`",
            _type(of_field),
            _default(of_field, field in required),
            of_field.get("description", ""),
        )
        for field, of_field in schema.get("properties", {}).items()
    ]
    fields = _table(("field", "", "default", "what it is"), rows)
    return "\n\n".join([f"### {name}", schema.get("description", ""), fields])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "prefixItems" in schema:
        return f"pair of {' and '.join(_type(one) for one in schema['prefixItems'])}"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    return cast("str", schema.get("type", "anything"))


def _default(schema: dict[str, Any], is_required: bool) -> str:
    if is_required:
        return "required"
    return f"`{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return cast("dict[str, Any]", schemas.get(name, schema))


def _json(example: Any) -> str:
    return f"```json\n{json.dumps(example, indent=1, ensure_ascii=False)}\n```"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    filled = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    head, rows = (tuple(head[i] for i in filled), [tuple(row[i] for i in filled) for row in rows])
    lines = [head, ("---",) * len(head), *rows]
    cells = [[re.sub(r"\s+", " ", cell).replace("|", r"\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _fill(app: Any, page: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, as_markdown(description()))


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx fill pages while it reads them."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
