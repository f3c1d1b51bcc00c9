"""Algorithm 1 of the paper around any backbone.

`disentangle` is the algorithm. `cross_matching` matches documents by matchers that did not see
them, `update` adds documents and labels to a trained model.
"""
