"""What users give, in one inner form.

`features` and `labels` check X and Y and bring them into `sparse_rows`: 64-bit starts, 32-bit
columns, float32 values. `documents` has features as such rows, as a dense block, or both, and
texts. `names` keeps names of labels and features as arrays.
"""
