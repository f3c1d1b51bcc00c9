"""Products of sparse rows, one number after the other."""

import numpy as np


def multiply_rows(documents, matrix):
    """Return the product of dense documents with a matrix, in float64."""
    products = np.zeros((len(documents), matrix.shape[1]))
    for i, row in enumerate(np.asarray(documents, dtype=np.float64)):
        for feature in np.flatnonzero(row):
            products[i] += row[feature] * matrix[feature].astype(np.float64)
    return products


def multiply_pairs(a, b, rows_a, rows_b):
    """Return the product of row ``rows_a[i]`` of one matrix with row ``rows_b[i]`` of another."""
    return [
        sum(float(x) * float(y) for x, y in zip(a[i], b[j], strict=True))
        for i, j in zip(rows_a, rows_b, strict=True)
    ]
