"""What ``polyseme senses`` says where there are none, or none that are likely enough."""

from __future__ import annotations

import json

from tests.end_to_end.command_line import SMALL, refuse, succeed


def test_a_model_without_senses_says_what_to_do(data, tmp_path):
    path = tmp_path / "model"
    out = succeed("train", data, "-o", path, *SMALL, "--senses=none", "--json")
    assert json.loads(out)["senses"] is None
    for asked in ((), ("label 3",)):
        sentence = refuse("senses", path, *asked)
        assert "has no senses" in sentence
        assert "train it again to find them." in sentence
    assert "not looked for" in succeed("info", path)


def test_a_method_that_looks_for_no_senses_by_default_says_how_it_would(data, tmp_path):
    succeed("train", data, "-o", tmp_path / "model", "--method=parabel")
    sentence = refuse("senses", tmp_path / "model")
    assert "parabel looks for none by default; train it again with --senses induce." in sentence


def test_a_label_below_the_wanted_probability_counts_as_having_one_meaning(ambiguous):
    shown = succeed("senses", ambiguous, "label 3", "--at-least", 0.95)
    assert "label 3 counts as having one meaning below 95%: the probability" in shown
