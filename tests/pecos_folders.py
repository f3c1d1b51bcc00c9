"""Small models in the files of PECOS, written by hand, and what PECOS answers with them."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

POST_PROCESSORS = {
    "l3-hinge": lambda margins: np.exp(-(np.maximum(0, 1 - margins) ** 3)),
    "sigmoid": lambda margins: 1 / (1 + np.exp(-margins)),
    "noop": lambda margins: margins,
}


class PecosModel:
    """Levels of random weights in a random tree, whose nodes come in no order."""

    def __init__(
        self, seed=0, sizes=(4, 11, 40), n_features=17, bias=1.0, post_processor="l3-hinge", beam=3
    ):
        random = np.random.default_rng(seed)
        self.n_features, self.bias = n_features, bias
        self.post_processor, self.beam = post_processor, beam
        self.parents, self.weights = [], []
        for n_above, n_nodes in zip((1, *sizes[:-1]), sizes, strict=True):
            # Every node above has one below at least.
            parents = random.permutation(
                np.concatenate(
                    [np.arange(n_above), random.integers(n_above, size=n_nodes - n_above)]
                )
            )
            weights = 0.2 * random.normal(size=(n_features + (bias > 0), n_nodes))
            weights = weights.astype(np.float32)
            is_dropped = random.random(weights.shape) < 0.4
            is_dropped[n_features:] = False  # equal scores would be put in any order
            weights[is_dropped] = 0
            self.parents.append(parents)
            self.weights.append(weights)

    def write(self, folder: Path) -> Path:
        """Write it as ``XLinearModel.save`` of libpecos 1.2 does."""
        write_json(folder / "param.json", {"__meta__": {"class_fullname": "XLinearModel"}})
        about = {
            "model": "HierarchicalMLModel",
            "depth": len(self.weights),
            "nr_features": self.n_features,
            "nr_codes": self.weights[-2].shape[1] if len(self.weights) > 1 else 1,
            "nr_labels": self.weights[-1].shape[1],
        }
        write_json(folder / "ranker" / "param.json", about)
        for number, (weights, parents) in enumerate(zip(self.weights, self.parents, strict=True)):
            level = folder / "ranker" / f"{number}.model"
            n_above = self.weights[number - 1].shape[1] if number else 1
            write_json(
                level / "param.json",
                {
                    "model": "MLModel",
                    "nr_labels": weights.shape[1],
                    "nr_features": self.n_features,
                    "nr_codes": n_above,
                    "bias": self.bias,
                    "pred_kwargs": {
                        "only_topk": self.beam if number < len(self.weights) - 1 else 20,
                        "post_processor": self.post_processor,
                    },
                },
            )
            tree = np.zeros((weights.shape[1], n_above), dtype=np.float32)
            tree[np.arange(len(parents)), parents] = 1
            sp.save_npz(level / "W.npz", sp.csc_matrix(weights), compressed=False)
            sp.save_npz(level / "C.npz", sp.csc_matrix(tree), compressed=False)
        return folder

    def scores(self, X, beam=None):
        """Return what PECOS gives for every label that is reached, NaN for others."""
        beam = beam or self.beam
        if self.bias > 0:
            X = np.hstack([X, np.full((len(X), 1), self.bias)])
        above = np.ones((len(X), 1))
        for number, (weights, parents) in enumerate(zip(self.weights, self.parents, strict=True)):
            own = POST_PROCESSORS[self.post_processor](X @ weights.astype(np.float64))
            there = above[:, parents]
            scores = own + 0 * there if self.post_processor == "noop" else own * there
            if number < len(self.weights) - 1:
                for row in scores:
                    ranked = np.argsort(np.where(np.isnan(row), -np.inf, row))[::-1]
                    row[ranked[beam:]] = np.nan
            above = scores
        return above


def write_json(file: Path, content) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def change_json(file: Path, **changes) -> None:
    """Change some of what a file says; None takes it away."""
    content = {**json.loads(file.read_text()), **changes}
    write_json(file, {name: value for name, value in content.items() if value is not None})
