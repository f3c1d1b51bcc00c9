"""The parts of `benchmarks.neural_serving` that need no encoder."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from benchmarks.neural_serving import asking, described, in_turns, parse_options, records_of


def test_every_text_is_asked_once_by_each_after_a_few_that_do_not_count():
    asked = {"one": [], "other": []}

    def asks(name):
        def ask(texts):
            asked[name].append(list(texts))
            return [len(text) / 1000 for text in texts]

        return ask

    texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"]
    taken = in_turns({name: asks(name) for name in asked}, texts, 2)
    for name in asked:
        assert asked[name] == [texts[1:4], texts[:4], texts[5:], texts[4:]]
        assert taken[name].texts == [len(text) / 1000 for text in texts]
    assert described(taken["one"].texts) == {"p50_ms": 4.5, "p99_ms": pytest.approx(7.93)}


def test_a_model_is_asked_about_one_text_at_a_time():
    class Model:
        seen: ClassVar[list[list[str]]] = []

        def suggest(self, texts):
            self.seen.append(texts)

    assert len(asking(Model())(["a", "b"])) == 2
    assert Model.seen == [["a"], ["b"]]


def test_records_are_the_first_texts_with_the_names_of_their_labels(tmp_path):
    (tmp_path / "labels.txt").write_text("red\ngreen\n")
    (tmp_path / "X.tst.txt").write_text("one\ntwo\nthree\n")
    save_npz(tmp_path / "Y.tst.npz", csr_array(np.array([[1, 1], [0, 1], [1, 0]])))
    found = [(record.text, record.labels) for record in records_of(tmp_path, "tst", 2)]
    assert found == [("one", ("red", "green")), ("two", ("green",))]
    assert len(records_of(tmp_path, "tst", 9)) == 3


def test_a_step_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse_options(["--data", "somewhere", "--only", "guess"])
    assert "invalid choice: 'guess'" in capsys.readouterr().err
