"""Trained models whose encoder ONNX Runtime computes, in int8 or in floats."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

from polyseme.backbones.transformer.matcher import EncodedTreeMatcher
from polyseme.backbones.transformer.onnx_export import in_onnx
from polyseme.backbones.transformer.transformer import TransformerEncoder
from polyseme.estimators.x_transformer import XTransformer

__all__ = ["quantize"]

Model = TypeVar("Model")


def quantize(model: Model, precision: str = "int8") -> Model:
    """Return the same trained model with its encoder in ONNX, to be served on a CPU.

    Only the encoder is another; tree, slots, probabilities and senses stay, and so does `model`.
    Saved and loaded, it needs onnxruntime and no torch. What it loses is to be measured:
    ``polyseme quantize`` does so on documents with known labels.

    Parameters
    ----------
    model : XTransformer, or a TextModel around one
        Trained. Of an ensemble, members with a static table keep it.
    precision : {'int8', 'float32'}
        What the encoder computes products with.

    Raises
    ------
    ValueError
        If there is no transformer in it, or the extra ``onnx`` is not installed.

    Examples
    --------
    >>> import polyseme
    >>> model = polyseme.load("models/articles")
    >>> polyseme.quantize(model).save("models/articles-int8")
    """
    classifier: Any = getattr(model, "classifier_", model)
    if not isinstance(classifier, XTransformer):
        raise ValueError(
            f"{type(classifier).__name__} has no encoder to quantize; an XTransformer has one."
        )
    check_is_fitted(classifier, "clusters_")
    changed = _changed(classifier, precision)
    if classifier is model:
        return cast(Model, changed)
    around: Any = copy.copy(model)
    around.classifier_ = changed
    return cast(Model, around)


def _changed(model: XTransformer, precision: str) -> XTransformer:
    found: Any = copy.copy(model)
    members = getattr(model, "members_", [])
    if members:
        encoders = [member.features_.encoder for member in members]
        are_transformers = [isinstance(one, TransformerEncoder) for one in encoders]
        found.members_ = [
            _changed(member, precision) if is_one or not any(are_transformers) else member
            for member, is_one in zip(members, are_transformers, strict=True)
        ]
        first = found.members_[0]
        found.features_, found.matcher_ = first.features_, first.matcher_
    else:
        before = model.features_
        found.features_ = replace(before, encoder=in_onnx(before.encoder, precision), store=None)
        found.matcher_ = EncodedTreeMatcher(found.features_, found.matcher_.linear)
    found._make_walk()
    changed: XTransformer = found
    return changed
