"""C, where it is left open: chosen by what documents say, the same for any number of threads."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import polyseme
from polyseme import XRLinear
from polyseme.backbones.linear import choosing_cost
from polyseme.backbones.linear.choosing_cost import COSTS, USUAL_COST, choose_cost
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.cli import main
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

N_DOCUMENTS, N_LABELS = 6100, 40
PLAIN = {"copies": 1, "rounds": 0, "max_leaf_size": 10, "ordering": "product", "senses": "none"}


def labelled_documents(noise, seed=0, n_words=4):
    """Each label has words of its own; with noise, documents have those of other labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(N_LABELS, size=N_DOCUMENTS)
    said = np.where(
        rng.random(N_DOCUMENTS) < noise, rng.integers(N_LABELS, size=N_DOCUMENTS), label
    )
    X = np.zeros((N_DOCUMENTS, N_LABELS * n_words + 300), dtype=np.float32)
    for i, topic in enumerate(said):
        X[i, topic * n_words + rng.permutation(n_words)[:2]] = 1
        X[i, N_LABELS * n_words + rng.permutation(300)[:20]] = 1
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.zeros((N_DOCUMENTS, N_LABELS), dtype=np.int8)
    Y[np.arange(N_DOCUMENTS), label] = 1
    return sp.csr_array(X), sp.csr_array(Y)


def chosen(X, Y, n_threads=1):
    clusters = LabelClusters(N_LABELS, np.arange(5) * 10, np.arange(N_LABELS, dtype=np.int32))
    held_out = np.arange(N_DOCUMENTS, step=2)
    return choose_cost(
        Documents(SparseRows.from_scipy(X)),
        SparsePattern.from_scipy(Y),
        clusters,
        held_out,
        LinearTraining(),
        Run(0, n_threads),
    )


def test_documents_that_mislead_ask_for_a_looser_fit_than_clear_ones():
    assert chosen(*labelled_documents(noise=0.6)) < chosen(*labelled_documents(noise=0.0))


def test_the_choice_does_not_depend_on_the_number_of_threads(monkeypatch):
    surprises = []
    measured = choosing_cost._surprise
    monkeypatch.setattr(
        choosing_cost,
        "_surprise",
        lambda *given: surprises.append(measured(*given)) or surprises[-1],
    )
    X, Y = labelled_documents(noise=0.3)
    assert chosen(X, Y, 1) == chosen(X, Y, 3)
    assert surprises[: len(COSTS)] == surprises[len(COSTS) :]


def test_the_surprise_is_that_of_each_right_label_among_the_wrong_ones_of_its_cluster():
    clusters = LabelClusters(5, np.array([0, 3, 5]), np.arange(5, dtype=np.int32))
    margins = np.array([[2.0, 1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.9]], dtype=np.float32)
    reached = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]])
    truth = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 1, 0]])
    rows, columns = np.nonzero(reached)
    stored = SparseRows(np.array([0, 3, 5]), columns.astype(np.int32), margins[rows, columns], 5)

    def by_hand(scale):
        m = scale * margins.astype(np.float64)
        return np.mean(
            [
                np.log1p(np.exp(m[0, 1] - m[0, 0])),
                np.log1p(np.exp(m[0, 1] - m[0, 2])),
                np.log1p(np.exp(m[1, 4] - m[1, 3])),
            ]
        )

    found = choosing_cost._surprise(stored, clusters, sp.csr_array(truth))
    scales = np.linspace(*choosing_cost.SCALES, 20_000)
    assert found == pytest.approx(min(by_hand(scale) for scale in scales), rel=1e-4)


@pytest.mark.parametrize("n", [150, 6000])
def test_with_few_documents_it_is_the_usual_one(n):
    X, Y = labelled_documents(noise=0.6)
    model = XRLinear(**PLAIN, verbose=0).fit(X[:n], Y[:n])
    assert model.C_ == USUAL_COST


def test_a_model_with_a_chosen_c_is_the_one_that_is_given_it():
    X, Y = labelled_documents(noise=0.6)
    model = XRLinear(**PLAIN, verbose=0).fit(X, Y)
    given = XRLinear(**PLAIN, C=model.C_, verbose=0).fit(X, Y)
    assert model.C is None
    assert model.C_ in COSTS
    assert given.C_ == model.C_
    np.testing.assert_array_equal(model.predict_top_k(X, 5)[1], given.predict_top_k(X, 5)[1])


def test_it_is_stored_with_the_model_and_updates_go_by_it(tmp_path):
    X, Y = labelled_documents(noise=0.6)
    model = XRLinear(**PLAIN, verbose=0).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.C_ == model.C_
    assert loaded.make_ranker().how.cost == model.C_


def test_info_says_what_was_chosen(tmp_path):
    X, Y = labelled_documents(noise=0.6)
    model = XRLinear(**PLAIN, verbose=0).fit(X, Y)
    model.save(tmp_path / "model")
    shown = CliRunner().invoke(main, ["info", str(tmp_path / "model")]).stdout
    assert f"{model.C_:g}, chosen by the data" in shown
    as_json = CliRunner().invoke(main, ["info", str(tmp_path / "model"), "--json"]).stdout
    assert json.loads(as_json)["chosen"] == {"C": model.C_}


@pytest.mark.parametrize("number", ["0.5", 0.0, -1.0, True, None])
def test_a_stored_choice_that_makes_no_sense_is_refused(tmp_path, number):
    X, Y = labelled_documents(noise=0.0)
    model = XRLinear(**PLAIN, verbose=0).fit(X[:150], Y[:150])
    contents = model.contents()
    contents.description["chosen"] = {"C": number}
    json.dumps(contents.description)
    model.contents = lambda: contents
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="damaged"):
        polyseme.load(tmp_path / "model")


def test_a_fit_that_is_interrupted_leaves_the_earlier_choice(monkeypatch):
    X, Y = labelled_documents(noise=0.6)
    model = XRLinear(**PLAIN, verbose=0).fit(X, Y)
    before = dict(vars(model))
    monkeypatch.setattr(
        "polyseme.estimators.learning.disentangle",
        lambda *given: (_ for _ in ()).throw(KeyboardInterrupt),
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(*labelled_documents(noise=0.0))
    assert vars(model) == before
