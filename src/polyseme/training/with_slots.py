"""What updates, senses and explanations need of a model."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

__all__ = ["check_can_be_updated", "check_has_slots"]


def check_has_slots(model: Any) -> None:
    """Refuse a model that is not trained yet, and one that never has slots of its own."""
    if hasattr(model, "clusters_"):
        return
    if hasattr(model, "classifier_"):
        raise ValueError(
            f"{type(model).__name__} is asked itself, such as by model.senses(label) or "
            "model.explain(text); functions for estimators take its classifier_."
        )
    if not hasattr(model, "make_ranker"):
        raise ValueError(
            f"{type(model).__name__} has no slots of its own, so it has no senses and can be "
            "neither explained nor updated; use XRLinear for these."
        )
    check_is_fitted(model, "clusters_")


def check_can_be_updated(model: Any) -> None:
    """Refuse a model that says why it cannot be updated, and one without slots."""
    why_not: str = getattr(model, "why_no_update", "")
    if why_not:
        raise ValueError(why_not)
    check_has_slots(model)
