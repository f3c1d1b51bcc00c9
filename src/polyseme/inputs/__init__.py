"""What users give, in one inner form.

`features` and `labels` check X and Y and bring them into `sparse_rows`: 64-bit starts, 32-bit
columns, float32 values. `names` keeps names of labels and features as arrays.
"""
