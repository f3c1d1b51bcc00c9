"""A small problem for experiments.

A test module takes the fixture by name: ``problem = small_experiments.problem``.
"""

from __future__ import annotations

import pytest

from polyseme.datasets import Dataset
from polyseme.experiments.problem import Problem
from tests.small_data import topics


def problem_of(seed=0, **others):
    data = topics(120, n_documents=360, words_per_label=2, seed=seed)
    dataset = Dataset(data.X, data.Y, data.X_test[:60], data.Y_test[:60])
    return Problem.of("small", dataset, n_threads=2, **others)


@pytest.fixture(scope="module")
def problem():
    return problem_of()
