"""Extreme multi-label classification in which a label may have several senses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyseme import (
        adapters,
        assignment,
        cards,
        datasets,
        explain,
        hub,
        metrics,
        reports,
        senses,
        tagger,
        update,
    )
    from polyseme.cost.estimate import estimate_training
    from polyseme.estimators.attention_xml import AttentionXML
    from polyseme.estimators.bonsai import Bonsai
    from polyseme.estimators.one_vs_rest import OneVsRest
    from polyseme.estimators.parabel import Parabel
    from polyseme.estimators.plt import PLT
    from polyseme.estimators.quantizing import quantize
    from polyseme.estimators.x_transformer import XTransformer
    from polyseme.estimators.xml_cnn import XMLCNN
    from polyseme.estimators.xr_linear import XRLinear
    from polyseme.files.loading import load
    from polyseme.partition.label_clusters import LabelClusters
    from polyseme.partition.trees.given import LabelHierarchy
    from polyseme.text.model import TextModel
    from polyseme.tuning.tuner import tune

__version__ = "0.2.0.dev0"

__all__ = [
    "PLT",
    "XMLCNN",
    "AttentionXML",
    "Bonsai",
    "LabelClusters",
    "LabelHierarchy",
    "NearestLabels",
    "NearestNeighbours",
    "OneVsRest",
    "Parabel",
    "TextModel",
    "XRLinear",
    "XTransformer",
    "adapters",
    "assignment",
    "cards",
    "datasets",
    "estimate_training",
    "explain",
    "hub",
    "load",
    "metrics",
    "quantize",
    "reports",
    "senses",
    "tagger",
    "tune",
    "update",
]

# Where the names live that are not modules. All are imported when first used: scikit-learn and
# SciPy take most of a second.
_HOMES = {
    "AttentionXML": "estimators.attention_xml",
    "Bonsai": "estimators.bonsai",
    "LabelClusters": "partition.label_clusters",
    "LabelHierarchy": "partition.trees.given",
    "NearestLabels": "estimators.nearest_labels",
    "NearestNeighbours": "estimators.nearest_neighbours",
    "OneVsRest": "estimators.one_vs_rest",
    "Parabel": "estimators.parabel",
    "PLT": "estimators.plt",
    "TextModel": "text.model",
    "XMLCNN": "estimators.xml_cnn",
    "XRLinear": "estimators.xr_linear",
    "XTransformer": "estimators.x_transformer",
    "estimate_training": "cost.estimate",
    "load": "files.loading",
    "quantize": "estimators.quantizing",
    "tune": "tuning.tuner",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'polyseme' has no attribute {name!r}")
    module = import_module(f"polyseme.{_HOMES.get(name, name)}")
    found = getattr(module, name) if name in _HOMES else module
    globals()[name] = found  # the next look finds it at once
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
