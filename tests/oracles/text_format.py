"""The text format read line by line into dense matrices."""

import numpy as np


def read_text(text: str) -> tuple[np.ndarray, np.ndarray]:
    header, *lines = text.removesuffix("\n").split("\n")
    n_documents, n_features, n_labels = map(int, header.split())
    X = np.zeros((n_documents, n_features), dtype=np.float32)
    Y = np.zeros((n_documents, n_labels), dtype=np.float32)
    for row, line in enumerate(lines[:n_documents]):
        labels, _, features = line.rstrip("\r").partition(" ")
        for label in filter(None, labels.split(",")):
            Y[row, int(label)] = 1
        for pair in features.split():
            feature, value = pair.split(":")
            X[row, int(feature)] += np.float32(value)
    return X, Y


def write_text(X: np.ndarray, Y: np.ndarray) -> str:
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for x, y in zip(X, Y, strict=True):
        labels = ",".join(str(label) for label in np.flatnonzero(y))
        features = "".join(f" {feature}:{x[feature]!s}" for feature in np.flatnonzero(x))
        lines.append(labels + features)
    return "\n".join(lines) + "\n"
