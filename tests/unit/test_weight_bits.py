import numpy as np

from polyseme import XRLinear, load
from tests.small_data import topics


def trained(weight_bits, **parameters):
    data = topics()
    return data, XRLinear(weight_bits=weight_bits, max_leaf_size=4, **parameters).fit(
        data.X, data.Y
    )


def test_bytes_give_nearly_the_scores_of_exact_weights():
    data, exact = trained(32)
    _, bytewise = trained(8)
    difference = exact.decision_function(data.X) - bytewise.decision_function(data.X)
    assert abs(difference).max() < 0.05
    assert (
        exact.predict_top_k(data.X, 1)[0] == bytewise.predict_top_k(data.X, 1)[0]
    ).mean() > 0.95


def test_exact_weights_survive_saving(tmp_path):
    data, exact = trained(32)
    exact.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert len(again.ranker_.weights.scales) == 0
    np.testing.assert_array_equal(
        exact.decision_function(data.X).toarray(), again.decision_function(data.X).toarray()
    )
