"""Bonsai: a forest of wide, shallow trees whose clusters are as large as they fall."""

from __future__ import annotations

from typing import ClassVar

from polyseme.estimators.one_copy import OneCopyIsPlain
from polyseme.estimators.other_defaults import with_defaults
from polyseme.estimators.xr_linear import XRLinear

__all__ = ["Bonsai"]


@with_defaults(
    copies=1, n_trees=3, tree="bonsai", branching=100, C=1.0, ordering="product", senses="none"
)
class Bonsai(OneCopyIsPlain, XRLinear):
    """Bonsai (Khandagale et al., 2020): three trees with a hundred children per node.

    The parameters are those of `XRLinear`, with other defaults: ``n_trees=3``,
    ``tree='bonsai'``, ``branching=100``, ``C=1``, ``ordering='product'``, ``senses='none'`` and
    ``copies=1``. Trees have two levels, three for millions of labels, and some clusters are larger
    than `max_leaf_size`. With one copy labels stay where the trees put them, as in the paper. With
    ``copies=2`` they are re-assigned once and may have two clusters in each tree; with
    ``senses='induce'`` their senses are found.

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import Bonsai
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = Bonsai(verbose=0).fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    kind: ClassVar[str] = "bonsai"
