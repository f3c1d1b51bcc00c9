"""`benchmarks.neural`, with encoders of chance on a corpus that is made here."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.neural import main, names_of, part_of
from polyseme import datasets
from polyseme.demo import make_corpus
from polyseme.text.features import TextFeatures
from tests.tiny_encoders import need_libraries, table_folder, transformer_folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder of matrices and texts, with encoders that know its words."""
    folder = tmp_path_factory.mktemp("data")
    corpus = make_corpus(160, seed=0)
    names = sorted({label for labels in corpus.labels for label in labels})
    Y = sp.csr_array(
        np.array([[name in labels for name in names] for labels in corpus.labels], dtype=np.int8)
    )
    X = TextFeatures().fit(corpus.texts).transform(corpus.texts)
    X = X.to_scipy() if hasattr(X, "to_scipy") else X
    for part, rows in (("trn", slice(0, 120)), ("tst", slice(120, 160))):
        sp.save_npz(folder / f"X.{part}.npz", sp.csr_array(X)[rows].astype(np.float32))
        sp.save_npz(folder / f"Y.{part}.npz", Y[rows])
        texts = [" ".join(text.split()) for text in corpus.texts[rows]]
        (folder / f"X.{part}.txt").write_text("\n".join(texts) + "\n")
    (folder / "labels.txt").write_text("\n".join(names) + "\n")
    return folder, corpus.texts


def test_a_part_of_the_documents_is_drawn_by_chance_with_its_texts_and_labels(data):
    whole = datasets.load(data[0])
    part = part_of(whole, 30)
    assert part.Y_train.shape[0] == len(part.train_texts) == 30
    places = [whole.train_texts.index(text) for text in part.train_texts]
    assert places == sorted(places) != list(range(30))
    assert (part.Y_train != whole.Y_train[places]).nnz == 0
    assert part_of(whole, 1000) is whole


def test_labels_of_the_same_name_are_told_apart_by_their_column(data):
    whole = datasets.load(data[0])
    whole.label_names[2] = whole.label_names[0]
    name = whole.label_names[0]
    assert names_of(whole)[0] == f"{name} (0)"
    assert names_of(whole)[2] == f"{name} (2)"
    assert names_of(whole)[1] == whole.label_names[1]


@pytest.mark.slow
def test_rows_are_measured_once_and_an_ensemble_says_what_each_member_reached(data, tmp_path):
    need_libraries()
    folder, texts = data
    encoder = transformer_folder(tmp_path / "encoder", texts)
    words = [
        "--data",
        folder,
        "--encoder",
        encoder,
        "--table",
        table_folder(tmp_path / "t", texts),
    ]
    words += [
        "--threads",
        1,
        "--output",
        tmp_path / "rows.json",
        "--work",
        tmp_path / "work",
        "--copies",
        2,
    ]
    words += ["--rows", "tf-idf", "fine-tuned", "ensemble", "--settings", '{"n_steps": 2}']
    main([str(word) for word in words])
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["asked"]["row"] for row in rows] == ["tf-idf", "fine-tuned", "ensemble"]
    members = rows[2]["members"]
    assert [one["member"] for one in members] == [0, 1, 2, None]
    assert members[-1]["P@1"] == pytest.approx(rows[2]["P@1"], abs=0.01)
    assert members[0]["P@1"] == pytest.approx(rows[1]["P@1"], abs=0.01)

    main([str(word) for word in words])
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
