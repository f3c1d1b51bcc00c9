"""One linear classifier with few weights: squared hinge loss and the sum of magnitudes.

A bias is one more column of X; targets are +1 and -1; `counts` says what each row counts.
"""

import numpy as np


def objective(X, targets, weights, cost, counts=1.0):
    missing = np.maximum(0, 1 - targets * (X @ weights))
    return np.abs(weights).sum() + cost * (counts * missing**2).sum()


def loss_gradient(X, targets, weights, cost, counts=1.0):
    missing = np.maximum(0, 1 - targets * (X @ weights))
    return -2 * cost * X.T @ (counts * targets * missing)


def largest_violation(X, targets, weights, cost, counts=1.0):
    """Return how far the conditions of an optimum are from true, at the worst weight."""
    gradient = loss_gradient(X, targets, weights, cost, counts)
    at_zero = np.maximum(0, np.abs(gradient) - 1)
    return np.where(weights == 0, at_zero, np.abs(gradient + np.sign(weights))).max(initial=0)


def proximal_gradient(X, targets, cost, counts=1.0):
    """Go downhill by the loss, then towards zero; with momentum that starts anew."""
    curvature = 2 * cost * np.linalg.eigvalsh((X.T * counts) @ X).max(initial=0) + 1e-12
    weights = ahead = np.zeros(X.shape[1])
    momentum = 1.0
    for step in range(20_000):
        downhill = ahead - loss_gradient(X, targets, ahead, cost, counts) / curvature
        moved = np.sign(downhill) * np.maximum(0, np.abs(downhill) - 1 / curvature)
        if (ahead - moved) @ (moved - weights) > 0:
            momentum = 1.0
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / grown * (moved - weights)
        weights, momentum = moved, grown
        if step % 50 == 0 and largest_violation(X, targets, weights, cost, counts) < 1e-5:
            break
    return weights
