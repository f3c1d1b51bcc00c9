"""Many requests of all kinds, good and bad: every answer as expected, no growth of memory."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from benchmarks.memory import MIB, resident
from benchmarks.serving.servers import Running

N_SAMPLES = 200
# Between the middles of the first and the last quarter lie three quarters of the requests. Of
# 200,000, that is 150,000: if each of them left only 64 bytes behind, the smallest dictionary of
# Python, memory would have grown by 9 MiB. What freed memory the allocator keeps varies by less.
MAX_GROWTH_MIB = 8.0


@dataclass(frozen=True)
class Asked:
    """A request as it goes over the wire, and the status that must come back."""

    kind: str
    wire: bytes
    status: int


def make_requests(
    texts: list[str], n_features: int, n_labels: int, n_clusters: int, seed: int = 0
) -> list[Asked]:
    """Return requests of all kinds, in shuffled order, to be sent again and again.

    Parameters
    ----------
    texts : list of str
        Documents to ask about.
    n_features, n_labels, n_clusters : int
        Of the model, which takes texts and features.
    """
    chance = random.Random(seed)

    def features() -> list[list[float]]:
        columns = sorted(chance.sample(range(n_features), min(n_features, 100)))
        return [[column, round(chance.uniform(0.01, 0.3), 4)] for column in columns]

    found: list[Asked] = []
    for i, text in enumerate(texts):
        word = chance.choice(text.split() or ["a"])[:20]
        found += [
            _post("suggest by text", "suggest", {"text": text}),
            _post("suggest by text", "suggest", {"text": text[:200], "limit": 3, "threshold": 0}),
            _post("suggest by features", "suggest", {"features": features()}),
            _post("suggest by features", "suggest", {"features": features(), "limit": 50}),
            _get("search", f"/v1/labels?query={quote(word)}"),
        ]
        # What takes longer or happens less often comes once in a while.
        if i % 20 == 0:
            found += [
                _post("batch", "suggest-batch", {"texts": texts[i : i + 10]}),
                _post("explain", "explain", {"text": text, "limit": 2}),
                _get("label", f"/v1/labels/{chance.randrange(n_labels)}"),
                _get("cluster", f"/v1/clusters/{i % n_clusters}"),
                _get("watch", chance.choice(["/healthz", "/metrics", "/v1/models"])),
                *_bad_requests(text, n_labels),
            ]
    chance.shuffle(found)
    return found


def _bad_requests(text: str, n_labels: int) -> list[Asked]:
    return [
        _request("bad", "POST", "/v1/suggest", b'{"text": ', 400),
        _post("bad", "suggest", {"text": text, "features": []}, 422),
        _post("bad", "suggest", {"features": [[-1, 1.0]]}, 422),
        _post("bad", "suggest", {"text": text, "model": "no such model"}, 404),
        _post("bad", "suggest-batch", {"texts": ["a"] * 1001}, 413),
        _get("bad", f"/v1/labels/{n_labels}", 404),
        _get("bad", "/v1/suggest", 405),
        _get("bad", f"/no/such/page/{len(text)}", 404),
    ]


def _post(kind: str, endpoint: str, body: dict[str, Any], status: int = 200) -> Asked:
    return _request(kind, "POST", f"/v1/{endpoint}", json.dumps(body).encode(), status)


def _get(kind: str, path: str, status: int = 200) -> Asked:
    return _request(kind, "GET", path, b"", status)


def _request(kind: str, method: str, path: str, body: bytes, status: int) -> Asked:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return Asked(kind, head.encode() + body, status)


def soak(server: Running, texts: list[str], n_requests: int, n_clients: int) -> dict[str, Any]:
    """Send `n_requests` over `n_clients` connections; return what went wrong, and the memory."""
    with urlopen(f"{server.url}/v1/models") as answer:
        model = json.load(answer)["models"][0]
    sizes = [model[key] for key in ("n_features", "n_labels", "n_clusters")]
    asked = make_requests(texts, *sizes)
    progress = Progress(server.pid, n_requests)
    seconds = asyncio.run(_send_all(server.url, asked, n_clients, progress))
    return {
        "n_requests": progress.n_answered,
        "n_clients": n_clients,
        "seconds": seconds,
        "kinds": dict(progress.kinds),
        "unexpected": dict(progress.unexpected),
        **describe_memory(progress.memory_mib),
        "memory_mib": progress.memory_mib,
    }


class Progress:
    """What the clients of one soak count together."""

    def __init__(self, pid: int, n_requests: int) -> None:
        self.numbers = iter(range(n_requests))
        self.n_answered = 0
        self.kinds: Counter[str] = Counter()
        self.unexpected: Counter[str] = Counter()
        self.memory_mib: list[float] = []
        self._pid, self._every = pid, max(1, n_requests // N_SAMPLES)

    def note(self, asked: Asked, status: int | str) -> None:
        """Count an answer, or what came instead."""
        self.n_answered += 1
        self.kinds[asked.kind] += 1
        if status != asked.status:
            self.unexpected[f"{asked.kind}: {status} instead of {asked.status}"] += 1
        if self.n_answered % self._every == 0:
            self.memory_mib.append(round(resident(self._pid) / MIB, 2))


def describe_memory(samples: list[float]) -> dict[str, float]:
    """Return the medians of the first and the last quarter, and by how much memory grew."""
    quarter = max(1, len(samples) // 4)
    first, last = median(samples[:quarter]), median(samples[-quarter:])
    return {"first_quarter_mib": first, "last_quarter_mib": last, "growth_mib": last - first}


async def _send_all(url: str, asked: list[Asked], n_clients: int, progress: Progress) -> float:
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(_client(url, asked, progress) for _ in range(n_clients)))
    return asyncio.get_running_loop().time() - began


async def _client(url: str, asked: list[Asked], progress: Progress) -> None:
    """Send one request after another over one connection, as long as there are some left."""
    address = urlsplit(url)
    streams = None
    for number in progress.numbers:
        request = asked[number % len(asked)]
        status: int | str
        try:
            if streams is None:
                streams = await asyncio.open_connection(address.hostname, address.port)
            streams[1].write(request.wire)
            status = await _read_status(streams[0])
        except (OSError, asyncio.IncompleteReadError) as error:
            status = type(error).__name__
            if streams is not None:
                streams[1].close()
            streams = None
        progress.note(request, status)
    if streams is not None:
        streams[1].close()


async def _read_status(reader: asyncio.StreamReader) -> int:
    """Read an answer to its end, and return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length))
    return int(head.split(b" ", 2)[1])


def problems_of(result: dict[str, Any]) -> Iterator[str]:
    """Say what is wrong with a soak; nothing if all is well."""
    yield from (f"{count} times {what}" for what, count in result["unexpected"].items())
    if result["growth_mib"] > MAX_GROWTH_MIB:
        yield (
            f"memory grew by {result['growth_mib']:.1f} MiB between the first and the last "
            f"quarter; {MAX_GROWTH_MIB:g} are allowed"
        )
