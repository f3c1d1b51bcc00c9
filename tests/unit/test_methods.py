"""Methods of others: the same parts with other choices."""

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear
from polyseme.estimators.other_defaults import with_defaults
from polyseme.files.kinds import method_named
from tests.small_data import two_senses

DATA = two_senses(n_topics=8, n_documents=500)
# What small data need: several clusters.
SMALL = {"verbose": 0, "n_jobs": 2, "random_state": 3}
IN_CLUSTERS = {"max_leaf_size": 4, "beam_size": 4}


def small(name, **parameters):
    return method_named(name)(**{**SMALL, **IN_CLUSTERS, **parameters})


@pytest.mark.parametrize("name", ["parabel", "bonsai", "plt"])
def test_with_one_copy_labels_stay_where_the_trees_put_them(name):
    found = small(name, copies=1, rounds=3).fit(DATA.X, DATA.Y)
    assert (found.clusters_.copies == found.n_trees).all()
    assert found.assignments_ == []


@pytest.mark.parametrize("name", ["parabel", "bonsai", "plt"])
def test_with_two_copies_labels_get_a_second_cluster_in_each_tree(name):
    found = small(name, copies=2).fit(DATA.X, DATA.Y)
    assert len(found.assignments_) == 1
    assert found.clusters_.copies.max() == 2 * found.n_trees


def test_parabel_is_plain_xr_linear_with_its_settings():
    own = {"copies": 1, "rounds": 0, "n_trees": 3, "branching": 2, "tol": 0.1}
    own |= {"ordering": "product", "senses": "none"}
    other = XRLinear(**SMALL, **IN_CLUSTERS, **own).fit(DATA.X, DATA.Y)
    for one, expected in zip(
        small("parabel").fit(DATA.X, DATA.Y).predict_top_k(DATA.X_test, 5),
        other.predict_top_k(DATA.X_test, 5),
        strict=True,
    ):
        np.testing.assert_array_equal(one, expected)


def test_bonsai_is_wide_and_shallow_with_leaves_as_large_as_they_fall():
    found = small("bonsai", n_trees=1, branching=8, max_leaf_size=1).fit(DATA.X, DATA.Y)
    assert found.tree_.n_levels == 2
    assert found.clusters_.sizes.max() > 1
    assert polyseme.Bonsai().branching == 100


def test_other_defaults_of_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="Tree has no parameter 'leaves'"):
        with_defaults(leaves=3)(type("Tree", (XRLinear,), {}))


def test_other_defaults_leave_room_for_values_by_place():
    assert polyseme.Parabel(2).copies == 2
    assert polyseme.Parabel(2).n_trees == 3
