"""Parabel: a forest of balanced binary trees."""

from __future__ import annotations

from typing import ClassVar

from polyseme.estimators.one_copy import OneCopyIsPlain
from polyseme.estimators.other_defaults import with_defaults
from polyseme.estimators.xr_linear import XRLinear

__all__ = ["Parabel"]


@with_defaults(
    copies=1,
    n_trees=3,
    tree="parabel",
    branching=2,
    C=1.0,
    tol=0.1,
    ordering="product",
    senses="none",
)
class Parabel(OneCopyIsPlain, XRLinear):
    """Parabel (Prabhu et al., 2018): three balanced binary trees of linear classifiers.

    The parameters are those of `XRLinear`, with other defaults: ``n_trees=3``,
    ``tree='parabel'``, ``branching=2``, ``C=1``, ``tol=0.1``, ``ordering='product'``,
    ``senses='none'`` and ``copies=1``. With one copy labels stay where the trees put them, as in
    the paper. Scores are ``activation='l3-hinge'``, which finds more right labels than the paper's
    ``'l2-hinge'``. With ``copies=2`` labels are re-assigned once and may have two clusters in each
    tree; with ``senses='induce'`` their senses are found.

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import Parabel
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = Parabel(verbose=0).fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    kind: ClassVar[str] = "parabel"
