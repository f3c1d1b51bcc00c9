"""What a threshold does to precision and recall, overall and label by label."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.text.by_threshold import by_label, by_threshold
from polyseme.text.calibration import Calibration
from polyseme.text.evaluation import Judged


@pytest.fixture
def judged():
    rng = np.random.default_rng(0)
    labels = np.stack([rng.permutation(12)[:5] for _ in range(40)]).astype(np.int32)
    labels[3, 2:] = -1
    labels[7] = -1
    scores = -np.sort(-rng.random((40, 5)), axis=1).astype(np.float32)
    truth = sp.csr_array((rng.random((40, 12)) < 0.2).astype(np.float32))
    return Judged.judge(labels, scores, truth)


def test_every_threshold_agrees_with_the_measure_of_a_single_one(judged):
    curve, calibration = by_threshold(judged, Calibration.none()), Calibration.none()
    for place in (0, 13, 50, 99):
        cut = dataclasses.asdict(judged.cut(calibration, curve["threshold"][place]))
        for name, value in cut.items():
            assert curve[name][place] == pytest.approx(value, abs=1e-5)


def test_documents_without_labels_are_counted(judged):
    curve = by_threshold(judged, Calibration.none())
    kept = (judged.labels >= 0) & (judged.scores >= 0.5)
    assert curve["without_label"][50] == pytest.approx(1 - kept.any(axis=1).mean())
    assert curve["without_label"][0] == pytest.approx(1 / 40)


def test_labels_are_counted_one_by_one(judged):
    found = by_label(judged, Calibration.none(), 0.4)
    truth = judged.Y.toarray() > 0
    for label, n_true, n_suggested, n_right in zip(*found.values(), strict=True):
        given = ((judged.labels == label) & (judged.scores >= 0.4)).any(axis=1)
        assert n_true == truth[:, label].sum()
        assert n_suggested == given.sum()
        assert n_right == (given & truth[:, label]).sum()


def test_of_very_many_labels_the_rarest_are_left_out(judged, monkeypatch):
    monkeypatch.setattr("polyseme.text.by_threshold.MOST_LABELS", 3)
    found = by_label(judged, Calibration.none(), 0.0)
    assert len(found["label"]) == 3
    assert found["label"] == sorted(found["label"])
