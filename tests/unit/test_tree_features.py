"""What labels are alike by: each view of the documents against a dense twin."""

import numpy as np
import pytest

from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.partition.trees.label_features import TREE_FEATURES, seen_by_tree
from tests.small_problems import pattern, sparse

RNG = np.random.default_rng(0)
DENSE = RNG.standard_normal((30, 8)).astype(np.float32)
X = RNG.random((30, 20)) * (RNG.random((30, 20)) < 0.4)
Y = RNG.random((30, 9)) < 0.3
X[3], DENSE[3], Y[5] = 0, 0, False

FORMS = {
    "sparse": Documents(sparse(X)),
    "dense": Documents(dense=DENSE),
    "both": Documents(sparse(X), DENSE),
}


def whole(documents):
    return documents.all_sparse().to_scipy().toarray()


def unit_rows(matrix):
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


@pytest.fixture(params=sorted(FORMS))
def documents(request):
    return FORMS[request.param]


def test_documents_are_left_as_they_are(documents):
    assert seen_by_tree("documents", 2, documents, pattern(Y), Run()) is documents


def test_half_of_the_features_are_left_and_others_for_each_seed(documents):
    kept = []
    for seed in range(40):
        found = whole(seen_by_tree("sampled", 0, documents, pattern(Y), Run(seed)))
        is_kept = (found != 0).any(axis=0)
        np.testing.assert_array_equal(found, np.where(is_kept, whole(documents), 0))
        kept.append(is_kept)
    assert len(np.unique(kept, axis=0)) > 30
    assert 0.4 < np.mean(kept) < 0.6


def test_a_document_is_its_labels_at_unit_length(documents):
    found = seen_by_tree("co-occurrence", 0, documents, pattern(Y), Run())
    np.testing.assert_allclose(whole(found), unit_rows(Y.astype(float)), rtol=1e-6)


def test_labels_beside_the_features_count_as_much(documents):
    found = seen_by_tree("both", 0, documents, pattern(Y), Run())
    assert found.n_dense == documents.n_dense
    columns = whole(found)
    n_sparse = documents.n_sparse
    labels = columns[:, n_sparse : n_sparse + Y.shape[1]]
    features = np.delete(columns, np.s_[n_sparse : n_sparse + Y.shape[1]], axis=1)
    np.testing.assert_array_equal(features, whole(documents))
    lengths = np.linalg.norm(features, axis=1)
    lengths[3] = 1  # a document without features has its labels
    expected = unit_rows(Y.astype(float)) * lengths[:, None]
    np.testing.assert_allclose(labels, expected, rtol=1e-5)


def test_varied_trees_take_turns(documents):
    for number, name in enumerate(["documents", "both", "sampled"] * 2):
        found = seen_by_tree("varied", number, documents, pattern(Y), Run(number))
        expected = seen_by_tree(name, 0, documents, pattern(Y), Run(number))
        np.testing.assert_array_equal(whole(found), whole(expected))


def test_no_document_is_written_into():
    before = {name: whole(documents) for name, documents in FORMS.items()}
    for name in TREE_FEATURES:
        for documents in FORMS.values():
            seen_by_tree(name, 1, documents, pattern(Y), Run())
    for name, documents in FORMS.items():
        np.testing.assert_array_equal(whole(documents), before[name])
