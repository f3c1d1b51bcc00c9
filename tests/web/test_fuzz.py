"""Whatever is sent, the answer is an answer or a problem, and never a mistake of the server."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples

PATHS = ["/v1/suggest", "/v1/suggest-batch", "/v1/explain"]
quick = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["demo", "plain", "named", "word 1", "tank", "\ud800", "1", "96"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
features = st.lists(st.tuples(st.integers(-2, 100), st.floats(width=32)), max_size=5) | (
    st.dictionaries(st.sampled_from(["word 1", "word 2", "5", "tank"]), st.floats(), max_size=3)
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=50) | values,
        "texts": st.lists(st.text(max_size=20), max_size=4) | values,
        "features": features | st.lists(features, max_size=3) | values,
        "labels": st.lists(st.integers(-2, 200), max_size=4) | values,
        "limit": st.integers(-1, 1100) | values,
        "n_words": st.integers(-1, 30) | values,
        "threshold": st.floats() | values,
        "model": st.sampled_from(["demo", "plain", "named", "other"]) | values,
    },
)


def assert_answered(response):
    assert response.status_code < 500, response.text
    kind = response.headers["content-type"]
    assert kind == (
        "application/json" if response.status_code == 200 else "application/problem+json"
    )
    parsed = json.loads(response.content, parse_constant=_refuse)
    if response.status_code != 200:
        assert parsed["status"] == response.status_code


def _refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("path", PATHS)
@quick
@given(body=bodies)
def test_any_body_of_known_fields_is_answered(client, path, body):
    assert_answered(client.post(path, content=json.dumps(body)))


@pytest.mark.parametrize("path", PATHS)
@quick
@given(body=values)
def test_any_json_is_answered(client, path, body):
    assert_answered(client.post(path, content=json.dumps(body)))


@quick
@given(path=st.sampled_from(PATHS), body=st.binary(max_size=60))
def test_any_bytes_are_answered(client, path, body):
    assert_answered(client.post(path, content=body))


@quick
@given(
    path=st.sampled_from(["labels", "labels/1", "clusters/0", "tree", "quality", "models"]),
    query=st.dictionaries(
        st.sampled_from(["query", "order", "limit", "offset", "links", "model"]),
        st.text(max_size=12).filter(lambda text: text.isprintable())
        | st.integers().map(str)
        | st.sampled_from(["split", "ambiguity", "documents", "plain", "named"]),
    ),
)
def test_any_query_is_answered(client, path, query):
    assert_answered(client.get(f"/v1/{path}", params=query))
