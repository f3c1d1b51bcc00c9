"""A web server on this machine that serves one file, well or badly."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """What is served, and how badly; tests change it and read what was asked for."""

    content: bytes = b""
    url: str = ""
    drop_after: list[int] = field(default_factory=list)  # bytes of each of the next answers
    n_resets: int = 0  # how many of the next answers end in a reset instead of politely
    pause_after: int | None = None  # bytes, then nothing more until the end
    claimed_length: int | None = None
    no_length: bool = False
    ignore_range: bool = False
    wrong_range: bool = False
    status: list[int] = field(default_factory=list)  # of the next answers
    content_type: str = "application/octet-stream"
    version: str | None = '"1"'
    asked_ranges: list[str | None] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)


@contextmanager
def archive_server(content: bytes) -> Iterator[Served]:
    served = Served(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, served)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}/data.archive"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answer(request: BaseHTTPRequestHandler, served: Served) -> None:
    asked = request.headers.get("Range")
    served.asked_ranges.append(asked)
    if served.status:
        request.send_response(served.status.pop(0))
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    body, begin, total = served.content, 0, len(served.content)
    same = request.headers.get("If-Range") in (None, served.version)
    if asked is not None and not served.ignore_range and same:
        begin = int(asked.removeprefix("bytes=").removesuffix("-"))
        if begin >= total:
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{total}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(206)
        shown = begin + 1 if served.wrong_range else begin
        request.send_header("Content-Range", f"bytes {shown}-{total - 1}/{total}")
    else:
        request.send_response(200)
    body = body[begin:]
    request.send_header("Content-Type", served.content_type)
    if served.version is not None:
        request.send_header("ETag", served.version)
    if not served.no_length:
        length = len(body) if served.claimed_length is None else served.claimed_length - begin
        request.send_header("Content-Length", str(length))
    request.end_headers()
    if served.drop_after:
        body = body[: served.drop_after.pop(0)]
    if served.pause_after is not None:
        request.wfile.write(body[: served.pause_after])
        served.stopped.wait()
        return
    with suppress(OSError):  # the other side may have heard enough
        request.wfile.write(body)
        if served.n_resets > 0:
            served.n_resets -= 1
            time.sleep(0.05)  # a reset overtakes what is still on its way
            at_once = struct.pack("ii", 1, 0)
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            request.connection.close()
