"""Every way to a label tree, a file each.

`registry` knows them by name. `balanced`, `k_means`, `huffman` and `shuffled` build trees from the
documents and their labels; `given` takes one from outside, which `hierarchy_files` reads and
`laying_out` lays out. What all build is in `polyseme.partition.label_tree`. A new tree is a new
file and a line in the registry.
"""
