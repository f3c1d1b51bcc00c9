"""Linear classifiers: one for every node of the tree, one for every slot.

`matcher` walks documents down the tree, `ranker` scores the slots of a cluster, `weights` is how
both are trained and stored.
"""
