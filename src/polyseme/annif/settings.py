"""From the settings of a project of Annif to a text model that is yet to be trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from polyseme.estimators.parameters import RENAMED
from polyseme.files.kinds import method_named
from polyseme.text import TextFeatures, TextModel

__all__ = ["read_setting", "untrained_model"]

OF_TEXTS = ("held_out", "refit", "precision")  # settings of a `TextModel`
_TRUTHS = {
    **dict.fromkeys(("1", "yes", "true", "on"), True),
    **dict.fromkeys(("0", "no", "false", "off"), False),
}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word"}


def untrained_model(
    settings: Mapping[str, Any], *, analyzer: str, keep_data: bool, n_jobs: int | None
) -> TextModel:
    """Return a model with the choices of a project, or refuse one of them with a ValueError.

    Parameters
    ----------
    settings : mapping
        The project's settings, mostly texts; those that are not ours are left alone.
    analyzer : {'word', 'token'}
        See `TextFeatures`.
    n_jobs : int or None
        What Annif was told on its command line; it wins over the settings.
    """
    for old in set(RENAMED) & set(settings) - {"threshold"}:  # which Annif has as well
        raise ValueError(f"there is no setting {old}; it is called {RENAMED[old]}.")
    ngram = read_setting(settings, "ngram", "int", 2)
    if not 1 <= ngram <= 20:
        raise ValueError(f"ngram must be a whole number from 1 to 20, not {ngram}.")
    min_df = read_setting(settings, "min_df", "int", None)
    if min_df is not None and min_df < 1:
        raise ValueError(f"min_df must be a whole number of at least 1, not {min_df}.")
    features = TextFeatures(
        analyzer=analyzer,
        ngrams=(1, ngram),
        min_documents=min_df,
        **_chosen(settings, TextFeatures, ("max_features", "sublinear", "hashing", "n_buckets")),
    )
    name = read_setting(settings, "method", "str", "xr-linear")
    method = method_named(name)
    if method.reads_texts and analyzer == "token":
        raise ValueError(
            f"method {name} reads texts as they are; take analyzer out of the project."
        )
    own = set(inspect.signature(method).parameters) - set(OF_TEXTS)
    ours = _chosen(settings, method, own)
    classifier = method(**ours if n_jobs is None else {**ours, "n_jobs": n_jobs})
    model = TextModel(
        features,
        classifier,
        examples=0,  # Annif does not show them
        keep_data=keep_data,
        **_chosen(settings, TextModel, OF_TEXTS),
    )
    model.check_parameters()
    return model


def read_setting(settings: Mapping[str, Any], name: str, kind: str, default: Any) -> Any:
    """Return a setting as a value of its kind: 'int', 'float', 'bool' or 'str'."""
    value = settings.get(name, default)
    if value is default:
        return default
    given = str(value).strip()
    if kind not in _KINDS:
        raise ValueError(f"{name} cannot be set in a project.")
    try:
        if kind == "bool":
            return _TRUTHS[given.lower()]
        readers: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
        return readers[kind](given)
    except (ValueError, KeyError):
        raise ValueError(f"{name} must be {_KINDS[kind]}, not {given!r}.") from None


def _chosen(settings: Mapping[str, Any], owner: type, names: Any) -> dict[str, Any]:
    """Return those settings that are parameters of a class, as the types it names."""
    parameters = inspect.signature(owner).parameters
    kinds = {name: str(parameters[name].annotation).split(" | ")[0] for name in names}
    return {
        name: read_setting(settings, name, kind, None)
        for name, kind in sorted(kinds.items())
        if name in settings
    }
