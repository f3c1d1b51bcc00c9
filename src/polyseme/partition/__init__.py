"""From labels to a tree, its leaves (the clusters), and the slots in them.

`label_tree` is the tree, `trees` has all ways to one. `label_clusters` is the slot table.
`co_occurrence` counts which clusters the documents of a label are matched to, `assignment` chooses
slots by that. `placing` finds clusters for new labels, `training_rows` the documents a cluster
learns from. `merging` goes back from scores of slots to scores of labels.
"""
