"""Extreme multi-label classification in which a label may have several senses."""

from polyseme import assignment, datasets, metrics, senses
from polyseme.label_clusters import LabelClusters
from polyseme.presets import XRLinear, load

__version__ = "0.1.0"

__all__ = [
    "LabelClusters",
    "XRLinear",
    "assignment",
    "datasets",
    "load",
    "metrics",
    "senses",
]
