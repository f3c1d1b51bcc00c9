"""A hub of models on this machine: as much of its protocol as sending and fetching need."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

COMMIT = "a" * 40


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repositories: ClassVar[dict[str, dict[str, bytes]]]

    def log_message(self, *arguments: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.repositories.setdefault(name, {})
            return self._answer({"url": f"{self._here()}/{name}", "id": name, "name": name})
        if self.path == "/api/validate-yaml":
            has_front_matter = json.loads(body)["content"].startswith("---\n")
            return self._answer({"errors": [], "warnings": []}, 200 if has_front_matter else 400)
        found = re.fullmatch(r"/api/models/(.+)/(preupload|commit)/\w+(\?.*)?", self.path)
        if found is None or found.group(1) not in self.repositories:
            return self._answer({"error": "not found"}, 404)
        name, what, _ = found.groups()
        if what == "preupload":
            paths = [file["path"] for file in json.loads(body)["files"]]
            modes = [
                {"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths
            ]
            return self._answer({"files": modes})
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.repositories[name][value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del self.repositories[name][value["path"]]
        commit = f"{self._here()}/{name}/commit/{COMMIT}"
        return self._answer({"commitUrl": commit, "commitOid": COMMIT})

    def do_GET(self) -> None:
        file = re.fullmatch(r"/(.+)/resolve/\w+/([^/]+)", self.path)
        if file is not None and file.group(2) in self.repositories.get(file.group(1), {}):
            return self._send(self.repositories[file.group(1)][file.group(2)])
        found = re.match(r"/api/models/([\w-]+/[\w-]+)(/tree/|/revision/|$)", self.path)
        if found is None or found.group(1) not in self.repositories:
            return self._answer({"error": "Repository not found"}, 404)
        files = self.repositories[found.group(1)]
        if found.group(2) == "/tree/":
            listed = [
                {"type": "file", "path": path, "size": len(content), "oid": _hash(content)}
                for path, content in files.items()
            ]
            return self._answer(listed)
        siblings = [{"rfilename": path} for path in files]
        about = {"id": found.group(1), "sha": COMMIT, "siblings": siblings, "private": False}
        return self._answer({**about, "tags": [], "downloads": 0, "likes": 0})

    do_HEAD = do_GET  # noqa: N815 - the name that the server looks for

    def _here(self) -> str:
        return f"http://{self.headers['Host']}"

    def _answer(self, answer: Any, status: int = 200) -> None:
        self._send(json.dumps(answer).encode(), status)

    def _send(self, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{_hash(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _hash(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving_hub() -> Iterator[tuple[str, dict[str, dict[str, bytes]]]]:
    """Serve an empty hub; yield its address and, by name, the files of each repository."""
    repositories: dict[str, dict[str, bytes]] = {}
    handler = type("Handler", (_Handler,), {"repositories": repositories})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", repositories
        finally:
            server.shutdown()
            thread.join()
