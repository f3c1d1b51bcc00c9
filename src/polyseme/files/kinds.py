"""The kinds of models by name: those of polyseme, and those that other packages bring.

Another package brings a kind by an entry point of the group ``polyseme.backbones``, whose name is
that of the kind and whose object is the class of the estimator. See docs/write-a-backbone.md.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, TypeVar

from polyseme.files.stored_model import Contents, StoredModel

__all__ = ["GROUP", "METHODS", "Kind", "kind_named", "method_named", "methods"]

GROUP = "polyseme.backbones"

# What can be trained on features, by the name that the command line knows.
METHODS = {
    "xr-linear": "polyseme.estimators.xr_linear:XRLinear",
    "parabel": "polyseme.estimators.parabel:Parabel",
    "bonsai": "polyseme.estimators.bonsai:Bonsai",
    "one-vs-rest": "polyseme.estimators.one_vs_rest:OneVsRest",
    "plt": "polyseme.estimators.plt:PLT",
    "nearest-labels": "polyseme.estimators.nearest_labels:NearestLabels",
    "nearest-neighbours": "polyseme.estimators.nearest_neighbours:NearestNeighbours",
    "attention-xml": "polyseme.estimators.attention_xml:AttentionXML",
    "xml-cnn": "polyseme.estimators.xml_cnn:XMLCNN",
    "x-transformer": "polyseme.estimators.x_transformer:XTransformer",
}
# What is made around one of these.
_OTHERS = {"text": "polyseme.text.model:TextModel"}

Self = TypeVar("Self")


class Kind(Protocol):
    """A class of models that can be stored."""

    kind: str

    def contents(self) -> Contents:
        """Return what makes up the trained model."""
        ...

    @classmethod
    def restored(cls: type[Self], stored: StoredModel, *, n_jobs: int | None = None) -> Self:
        """Return the model that was stored, after checking all of it."""
        ...


def methods() -> list[str]:
    """Return the names of all kinds that can be trained on features, our own first."""
    return [*METHODS, *sorted(set(_found()) - set(METHODS) - set(_OTHERS))]


def method_named(name: str) -> type[Any]:
    """Return the estimator of that name.

    Raises
    ------
    ValueError
        If there is none; the message says which there are.
    """
    if name not in methods():
        raise ValueError(
            f"there is no method {name!r}; there are: {', '.join(methods())}. More come with "
            f"packages that have an entry point of the group {GROUP}."
        )
    return _imported(name, METHODS)


def kind_named(name: object, stored: StoredModel) -> type[Kind]:
    """Return the class of a stored model."""
    known = {**METHODS, **_OTHERS}
    if not isinstance(name, str) or (name not in known and name not in _found()):
        raise ValueError(
            f"the model {stored.path} is of the kind {str(name)[:80]!r}, which is not known here; "
            "upgrade polyseme, or install the package that brings this kind"
        )
    return _imported(name, known)


def _imported(name: str, known: dict[str, str]) -> type[Any]:
    if name not in known:
        try:
            loaded: type[Any] = _found()[name].load()
        except (Exception, SystemExit) as error:  # whatever goes wrong in another package
            raise ValueError(
                f"the kind {name!r} cannot be loaded from its package: {error}"
            ) from error
        if not isinstance(loaded, type) or getattr(loaded, "kind", None) != name:
            raise ValueError(
                f"the entry point {name!r} must lead to a class whose kind is {name!r}, not to "
                f"{loaded!r}"
            )
        return loaded
    module, _, attribute = known[name].partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
