"""Firefox, driven by WebDriver BiDi: Playwright drives only a Firefox of its own making."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
from contextlib import contextmanager

NAMES = ("firefox-esr", "firefox")
START_SECONDS = 60.0
ANSWER_SECONDS = 60.0
QUIET = (
    'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
    'user_pref("app.update.disabledForTesting", true);\n'
    'user_pref("browser.shell.checkDefaultBrowser", false);\n'
    'user_pref("extensions.systemAddon.update.enabled", false);\n'
)


def find_firefox() -> str | None:
    """Return the path of a Firefox, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def firefox_page(path, profile):
    """Start Firefox without a screen, and yield a page of it."""
    (profile / "user.js").write_text(QUIET)
    command = [path, "--headless", "--no-remote", "--profile", profile, "about:blank"]
    with subprocess.Popen(
        [*map(str, command), "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            with (
                socket.create_connection(
                    ("127.0.0.1", _port_of(process)), timeout=ANSWER_SECONDS
                ) as connection,
                connection.makefile("rb") as answers,
            ):
                yield FirefoxPage(_WebSocket(connection, answers))
        finally:
            process.terminate()


def _port_of(process):
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        line = process.stderr.readline()
        if not line:
            break
        if found := re.search(r"WebDriver BiDi listening on ws://[^:]+:(\d+)", line):
            return int(found.group(1))
    raise RuntimeError("Firefox did not start.")


class FirefoxPage:
    """One page; `complaints` are errors and warnings of its console."""

    def __init__(self, connected):
        self._socket = connected
        self._numbers = itertools.count()
        self.complaints = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _ask(self, method, **parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.receive())
            if answer.get("method") == "log.entryAdded":
                if answer["params"]["level"] in ("error", "warn"):
                    self.complaints.append(answer["params"]["text"])
            elif answer.get("id") == number:
                if answer["type"] == "error":
                    raise RuntimeError(answer["message"])
                return answer["result"]

    def goto(self, url):
        self._ask("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def evaluate(self, expression):
        """Return the value of an expression of JavaScript, by way of JSON."""
        answer = self._ask(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then(JSON.stringify)",
            target={"context": self._context},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        found = answer["result"].get("value")
        return None if found is None else json.loads(found)

    def until(self, expression):
        """Wait until an expression is true, and return its value."""
        ends = time.monotonic() + ANSWER_SECONDS
        while not (found := self.evaluate(expression)):
            assert time.monotonic() < ends, f"never true: {expression}"
            time.sleep(0.05)
        return found


class _WebSocket:
    """As much of RFC 6455 as two programs on one machine need."""

    def __init__(self, connection, answers):
        self._connection, self._file = connection, answers
        port, key = connection.getpeername()[1], base64.b64encode(os.urandom(16)).decode()
        self._connection.sendall(
            f"GET /session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        status = self._file.readline()
        assert b" 101 " in status, status
        while self._file.readline().strip():
            pass

    def send(self, text):
        content, mask = text.encode(), os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(content))
        size = len(content)
        if size < 126:
            length = bytes([0x80 | size])
        elif size < 65536:
            length = b"\xfe" + struct.pack(">H", size)
        else:
            length = b"\xff" + struct.pack(">Q", size)
        self._connection.sendall(b"\x81" + length + mask + masked)

    def receive(self):
        content, is_last = b"", False
        while not is_last:
            first, length = self._file.read(2)
            is_last = bool(first & 0x80)
            if length == 126:
                (length,) = struct.unpack(">H", self._file.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._file.read(8))
            content += self._file.read(length)
        return content.decode()
