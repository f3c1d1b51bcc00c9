"""The page of the site on the server's addresses, made of what a server says of itself."""

from __future__ import annotations

from tools.http_reference import as_markdown, description


def test_every_address_and_object_is_on_the_page():
    openapi = description()
    page = as_markdown(openapi)
    for path, operations in openapi["paths"].items():
        for method in operations:
            assert f"### {method.upper()} {path}\n" in page
    assert "### POST /v1/update\n" in page  # only of servers that take updates
    assert all(f"### {name}\n" in page for name in openapi["components"]["schemas"])


def test_a_table_has_no_empty_columns():
    fields = {"n": {"type": "integer"}, "name": {"type": "string", "default": "a"}}
    schemas = {
        "Bare": {"required": ["n"], "properties": {"n": fields["n"]}},
        "Said": {"properties": {"name": {**fields["name"], "description": "what it is called"}}},
    }
    page = as_markdown({"paths": {}, "components": {"schemas": schemas}})
    assert "| field |  | default |\n| --- | --- | --- |\n| `n` | integer | required |" in page
    assert '| `name` | string | `"a"` | what it is called |' in page
