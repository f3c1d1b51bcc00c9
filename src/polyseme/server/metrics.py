"""What a server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

__all__ = ["ServerMetrics"]

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class ServerMetrics:
    """The counters of one server; a registry of its own, so that tests can have many."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = Counter(
            "polyseme_requests", "Requests answered.", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "polyseme_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.under_way = Gauge(
            "polyseme_requests_under_way", "Requests being answered.", registry=self._registry
        )
        self.batch_size = Histogram(
            "polyseme_batch_size",
            "Requests to suggest that were answered together.",
            buckets=_SIZES,
            registry=self._registry,
        )
        self.loads = Counter(
            "polyseme_model_loads",
            "Models read from disk.",
            ["model", "outcome"],
            registry=self._registry,
        )

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)
