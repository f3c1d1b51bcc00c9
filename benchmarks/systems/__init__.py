"""Every system of the benchmark; a new one is a file with a `System` and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.systems.base import System
from benchmarks.systems.of_methods import METHOD_SYSTEMS

# The work that the peers do, and no more: neither an order of labels nor senses are learned.
BARE = {"ordering": "product", "senses": "none"}

# name -> (module, class, settings, the package it needs; "polyseme" runs where the harness runs)
SYSTEMS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "polyseme": ("xr_linear", "XRLinear", {**BARE, "copies": 1, "rounds": 0}, "polyseme"),
    "polyseme-copies2": ("xr_linear", "XRLinear", {**BARE, "copies": 2, "rounds": 1}, "polyseme"),
    "polyseme-default": ("xr_linear", "XRLinear", {}, "polyseme"),
    "polyseme-best": ("xr_linear", "XRLinear", {"best": True}, "polyseme"),
    "libpecos": ("libpecos_plain", "LibpecosPlain", {}, "libpecos"),
    "libpecos-copies2": ("libpecos_copies", "LibpecosCopies", {}, "libpecos"),
    "omikuji-parabel": ("omikuji_tree", "OmikujiTree", {}, "omikuji"),
    "omikuji-bonsai": (
        "omikuji_tree",
        "OmikujiTree",
        {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3},
        "omikuji",
    ),
    "napkinxc-plt": ("napkinxc_plt", "NapkinxcPLT", {}, "napkinxc"),
}

# Ratios are to this one.
REFERENCE = "libpecos"


def make_system(name: str, settings: dict[str, Any]) -> System:
    """Import one system and nothing else; `settings` go on top of its own."""
    module, class_name, own, _ = {**SYSTEMS, **METHOD_SYSTEMS}[name]
    system_class = getattr(import_module(f"benchmarks.systems.{module}"), class_name)
    system: System = system_class(**{**own, **settings})
    return system
