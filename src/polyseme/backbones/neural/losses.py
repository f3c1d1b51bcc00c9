"""What a network is told about its scores of candidate clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyseme.backbones.neural.library import needed_library

__all__ = ["LOSSES", "binary_cross_entropy", "weighted_squared_hinge"]


def weighted_squared_hinge(
    scores: Any, targets: Any, is_candidate: Any = None, positive_weight: float = 1.0
) -> Any:
    """Return the mean over documents of the sum over candidates of ``max(0, 1 - y s)²``.

    Parameters
    ----------
    scores : Tensor, shape (n_documents, n_candidates)
    targets : Tensor of 0 and 1, shape (n_documents, n_candidates)
    is_candidate : Tensor of bool, shape (n_documents, n_candidates), optional
        False where a row is padded.
    positive_weight : float
        What a true cluster counts, against 1 of any other.
    """
    signs = 2 * targets - 1
    losses = (1 - signs * scores.float()).clamp(min=0).square()
    return _mean(losses, targets, is_candidate, positive_weight)


def binary_cross_entropy(
    scores: Any, targets: Any, is_candidate: Any = None, positive_weight: float = 1.0
) -> Any:
    """Return the mean over documents of the sum over candidates of the cross entropy.

    Parameters are those of `weighted_squared_hinge`.
    """
    functional = needed_library("torch.nn.functional")
    losses = functional.binary_cross_entropy_with_logits(
        scores.float(), targets.float(), reduction="none"
    )
    return _mean(losses, targets, is_candidate, positive_weight)


def _mean(losses: Any, targets: Any, is_candidate: Any, positive_weight: float) -> Any:
    if positive_weight != 1:
        losses = losses * (1 + (positive_weight - 1) * targets)
    if is_candidate is not None:
        losses = losses * is_candidate
    return losses.sum(dim=1).mean()


LOSSES: dict[str, Callable[..., Any]] = {
    "squared-hinge": weighted_squared_hinge,
    "logistic": binary_cross_entropy,
}
