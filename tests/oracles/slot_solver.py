"""Linear classifiers one at a time: the primal problem, and dual coordinate descent by hand.

A bias is one more column of X; targets are +1 and -1.
"""

import math

import numpy as np


def with_bias(X, bias):
    return np.hstack([X, np.full((len(X), 1), bias)]) if bias else X


def primal_objective(X, targets, weights, cost, loss):
    margins = targets * (X @ weights)
    if loss == "squared-hinge":
        losses = np.maximum(0, 1 - margins) ** 2
    else:
        losses = np.logaddexp(0, -margins)
    return 0.5 * weights @ weights + cost * losses.sum()


def dual_coordinate_descent(X, targets, cost, loss):
    """Visit the rows in order and make each dual the best one, until nothing moves."""
    weights = np.zeros(X.shape[1])
    duals = np.full(len(X), 0.0 if loss == "squared-hinge" else 1e-8 * cost)
    weights += X.T @ (duals * targets)
    for _ in range(5000):
        farthest = 0.0
        for i, row in enumerate(X):
            margin = targets[i] * (row @ weights)
            if loss == "squared-hinge":
                diagonal = 0.5 / cost
                gradient = margin - 1 + diagonal * duals[i]
                updated = max(0.0, duals[i] - gradient / (row @ row + diagonal))
            else:
                updated = logistic_dual(duals[i], margin, row @ row, cost)
            weights += (updated - duals[i]) * targets[i] * row
            farthest = max(farthest, abs(updated - duals[i]))
            duals[i] = updated
        if farthest < 1e-5 * cost:
            break
    return weights


def logistic_dual(dual, margin, squared_norm, cost):
    """Find where the derivative of the one-variable problem is zero, by halving."""
    low, high = 0.0, cost
    for _ in range(40):
        middle = (low + high) / 2
        derivative = squared_norm * (middle - dual) + margin + math.log(middle / (cost - middle))
        low, high = (low, middle) if derivative > 0 else (middle, high)
    return (low + high) / 2
