"""The files of the page, as they are sent."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from tests.web.conftest import assert_problem, client_with

PAGE = resources.files("polyseme.server").joinpath("page")
FILES = sorted(file.name for file in PAGE.iterdir() if file.is_file())
VENDORED = sorted(file.name for file in PAGE.joinpath("vendor").iterdir())
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def test_the_page_is_at_the_root_and_may_only_load_from_its_server(client):
    response = client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == TYPES["html"]
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "//" not in policy


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_its_type_and_names_no_other_host(client, name):
    response = client.get(f"/page/{name}")
    assert response.headers["content-type"] == TYPES[name.rpartition(".")[2]]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert set(re.findall(r"https?://[\w.]+", response.text)) <= {"http://www.w3.org"}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_no_script_writes_markup(client, name):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b"
    assert re.findall(forbidden, client.get(f"/page/{name}").text) == []


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_all_that_the_page_names_is_there(client, path):
    named = re.findall(r'(?:href|src)="(page/[^"]+)"', client.get(path).text)
    assert named
    assert {client.get(f"/{path}").status_code for path in named} == {200}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_every_script_that_a_script_imports_is_there(client, name):
    imported = re.findall(r'from "\./([^"]+)"', client.get(f"/page/{name}").text)
    assert {client.get(f"/page/{path}").status_code for path in imported} <= {200}


@pytest.mark.parametrize("name", [name for name in VENDORED if name.endswith((".js", ".css"))])
def test_code_of_others_is_sent_and_lies_beside_its_licence(client, name):
    response = client.get(f"/page/vendor/{name}")
    assert response.headers["content-type"] == TYPES[name.rpartition(".")[2]]
    assert "sourceMappingURL" not in response.text
    assert f"{name.rpartition('.')[0]}.LICENSE" in VENDORED


def test_a_file_that_is_known_is_not_sent_again(client):
    first = client.get("/page/main.js")
    again = client.get("/page/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    older = client.get("/page/main.js", headers={"If-None-Match": '"of an older one"'})
    assert (older.status_code, older.content) == (200, first.content)


@pytest.mark.parametrize("name", ["other.js", "..%2Fapp.py", "%2e%2e/app.py"])
def test_other_files_are_not_there(client, name):
    assert_problem(client.get(f"/page/{name}"), 404)


def test_the_page_itself_needs_no_token(store):
    with client_with(store, token="secret") as client:
        assert client.get("/").status_code == 200
        assert client.get("/docs").status_code == 200
        assert client.get("/page/main.js").status_code == 200
        assert_problem(client.get("/v1/models"), 401)


@pytest.mark.parametrize("path", ["/page/vendor/swagger-ui.js", "/v1/plane?model=demo"])
def test_what_is_large_is_packed_for_clients_that_unpack_it(client, path):
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.content == plain.content
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 0.5 * int(plain.headers["content-length"])
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
