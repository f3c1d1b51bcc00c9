import gzip
import os
import threading
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from polyseme import XRLinear
from polyseme.cost.estimate import estimate_training
from polyseme.datasets import Dataset, load, load_folder, read_xmc_text, write_xmc_text, xmc_text
from polyseme.inputs.labels import are_mostly_absent
from tests.examples import examples
from tests.oracles.text_format import read_text, write_text

needs_permissions = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user"
)


def small_data(n_rows=5, n_features=7, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    Y = rng.random((n_rows, n_labels)) < 0.4
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def same(a, b) -> bool:
    return a.shape == b.shape and (abs(a - b)).nnz == 0


# Text: reading


@st.composite
def texts(draw):
    n_features, n_labels = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    number = st.one_of(
        st.integers(-3, 3).map(str),
        st.floats(
            width=32,
            allow_nan=False,
            allow_infinity=False,
            max_value=2.0**99,
            min_value=-(2.0**99),
        )
        .map(np.float32)
        .map(str),
        st.decimals(-100, 100, places=12, allow_nan=False).map(str),
    )
    pair = st.tuples(st.integers(0, n_features - 1), number).map(lambda p: f" {p[0]}:{p[1]}")
    label = st.integers(0, n_labels - 1).map(str)
    line = st.tuples(
        st.lists(label, max_size=4).map(",".join),
        st.lists(pair, max_size=8).map("".join),
        st.sampled_from(["", " ", "\r", "  \r"]),
    ).map("".join)
    lines = draw(st.lists(line, max_size=6))
    ending = draw(st.sampled_from(["\n", "\n\n\n"])) if lines else "\n"
    return "\n".join([f"{len(lines)} {n_features} {n_labels}", *lines]) + ending


@examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts(), n_threads=st.sampled_from([1, 3]), zipped=st.booleans())
def test_the_native_reader_agrees_with_the_line_by_line_one(tmp_path, text, n_threads, zipped):
    file = tmp_path / "data"
    file.write_bytes(gzip.compress(text.encode(), 1) if zipped else text.encode())
    X, Y = read_xmc_text(file, n_threads=n_threads)
    expected_X, expected_Y = read_text(text)
    np.testing.assert_array_equal(X.to_scipy().toarray(), expected_X)
    np.testing.assert_array_equal(Y.to_scipy().toarray(), expected_Y)
    assert (X.values != 0).all()


def test_gzip_is_seen_from_the_content_not_from_the_name(tmp_path):
    (tmp_path / "plain.gz").write_text("1 2 2\n1 0:0.5\n")
    (tmp_path / "zipped.txt").write_bytes(gzip.compress(b"1 2 2\n1 0:0.5\n"))
    for name in ("plain.gz", "zipped.txt"):
        assert read_xmc_text(tmp_path / name)[0].values.tolist() == [0.5]


def test_a_gzip_file_may_come_in_many_blocks_and_several_archives(tmp_path, monkeypatch):
    monkeypatch.setattr(xmc_text, "ZIPPED_BLOCK", 50)
    monkeypatch.setattr(xmc_text, "UNZIPPED_BLOCK", 30)
    text = "200 9 9\n" + "".join(f"{i % 9} {i % 7}:{i}.5\n" for i in range(200))
    halves = text[:777].encode(), text[777:].encode()
    file = tmp_path / "data.gz"
    file.write_bytes(b"".join(map(gzip.compress, halves)) + bytes(99))
    X, Y = read_xmc_text(file)
    expected_X, expected_Y = read_text(text)
    np.testing.assert_array_equal(X.to_scipy().toarray(), expected_X)
    np.testing.assert_array_equal(Y.to_scipy().toarray(), expected_Y)

    file.write_bytes(gzip.compress(text.replace("150.5", "oops").encode()))
    with pytest.raises(ValueError, match=r"data.gz, line 152: .*'oops'"):
        read_xmc_text(file)


def test_a_line_of_features_alone_needs_no_leading_space(tmp_path):
    (tmp_path / "data.txt").write_text("2 3 2\n0:1 2:3\n 1:1")
    X, Y = read_xmc_text(tmp_path / "data.txt")
    np.testing.assert_array_equal(X.to_scipy().toarray(), [[1, 0, 3], [0, 1, 0]])
    assert Y.n_stored == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the header .* found nothing"),
        ("1,2 0:0.5\n", "line 1: expected the header .* found '1,2 0:0.5'"),
        ("2 3\n", "line 1: expected the header"),
        ("1 99999999999 2\n1 1:1\n", "line 1: at most 2147483647 features"),
        ("3 5 5\n1 1:1\n", "line 2: the header promises 3 documents, but the file ends after 1"),
        ("1 5 5\n1 1:1\n2 2:2\n", "line 3: the header promises 1 documents, but 2 lines follow"),
        ("2 5 5\n1 1:1\n1 5:1\n", "line 3: the feature number in '5:1' is out of range.* 5 feat"),
        ("2 5 5\n1 1:1\n5 2:1\n", "line 3: the label number in '5' is out of range.* 5 labels"),
        ("1 5 5\n1 1\n", "line 2: expected feature:value, found '1'"),
        ("1 5 5\n1 1:zwei\n", "line 2: expected a number after the colon, found 'zwei'"),
        ("1 5 5\n1 1:2;\n", "line 2: expected feature:value, found '1:2;'"),
        ("1 5 5\n1;2 1:2\n", "line 2: expected label numbers .* found '1;2'"),
        ("1 5 5\n1 1:nan\n", "line 2: the value 'nan' is not a finite"),
        ("1 5 5\n1 1:1e99\n", "line 2: the value '1e99' is not a finite"),
        ("1 5 5\n\u00fcber 1:1\n", r"line 2: expected label numbers .* found '\?\?ber'"),
    ],
)
def test_a_bad_text_file_is_refused_with_file_and_line(tmp_path, text, message):
    file = tmp_path / "data.txt"
    file.write_bytes(text.encode())
    with pytest.raises(ValueError, match=rf"data\.txt, {message}"):
        read_xmc_text(file)


def test_a_damaged_gzip_file_is_refused(tmp_path):
    whole = gzip.compress(("1000 5 5\n" + "1 1:0.123\n" * 1000).encode())
    for damaged in (whole[:40], whole[:-20] + b"x" * 20, whole + b"rubbish"):
        (tmp_path / "data.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"data\.gz is a damaged gzip file"):
            read_xmc_text(tmp_path / "data.gz")


def test_reading_needs_a_thread_and_a_file(tmp_path):
    with pytest.raises(ValueError, match="n_threads must be"):
        read_xmc_text(tmp_path / "data.txt", n_threads=0)
    with pytest.raises(ValueError, match="is a folder"):
        read_xmc_text(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"data\.txt"):
        read_xmc_text(tmp_path / "data.txt")


# Text: writing


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from(["data.txt", "data.txt.gz"]))
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, data, name):
    n_rows, n_features, n_labels = data.draw(st.tuples(*[st.integers(1, 5)] * 3))
    value = st.floats(width=32, allow_nan=False, allow_infinity=False)
    X = np.array(
        data.draw(st.lists(value, min_size=n_rows * n_features, max_size=n_rows * n_features)),
        dtype=np.float32,
    ).reshape(n_rows, n_features)
    Y = np.random.default_rng(n_rows).random((n_rows, n_labels)) < 0.5
    write_xmc_text(tmp_path / name, X, Y)
    read_X, read_Y = read_xmc_text(tmp_path / name)
    np.testing.assert_array_equal(read_X.to_scipy().toarray(), X)
    np.testing.assert_array_equal(read_Y.to_scipy().toarray(), Y)


def test_the_native_writer_agrees_with_the_line_by_line_one(tmp_path, monkeypatch):
    monkeypatch.setattr(xmc_text, "ROWS_PER_WRITE", 3)
    X = np.array([[0.5, 0, 2.25], [0, 0, 0], [1.5, -0.125, 0], [0, 8.5, 0]], dtype=np.float32)
    Y = np.array([[1, 1], [0, 0], [0, 0], [0, 1]])
    write_xmc_text(tmp_path / "data.txt", X, Y)
    # NumPy writes whole numbers as 2.0, the shortest form is 2; the data here have none.
    assert (tmp_path / "data.txt").read_text() == write_text(X, Y)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "data.txt"
    file.write_text("old")

    def disk_full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(xmc_text._native, "format_text", disk_full)
    with pytest.raises(OSError, match="No space left"):
        write_xmc_text(file, *small_data())
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["data.txt"]


def test_writing_refuses_names_and_missing_folders(tmp_path):
    X, Y = small_data()
    with pytest.raises(ValueError, match="no place for label names"):
        write_xmc_text(tmp_path / "data.txt", X, [["a"]] * 5)
    with pytest.raises(FileNotFoundError, match="missing is not a folder"):
        write_xmc_text(tmp_path / "missing" / "data.txt", X, Y)


def test_several_threads_may_read_at_once(tmp_path):
    X, Y = small_data(500)
    write_xmc_text(tmp_path / "data.txt", X, Y)
    results = []
    readers = [
        threading.Thread(target=lambda: results.append(read_xmc_text(tmp_path / "data.txt")))
        for _ in range(4)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(results) == 4
    assert all(same(read_X.to_scipy(), X) for read_X, _ in results)


# Folders


@pytest.fixture
def folder(tmp_path):
    """A complete data folder of 5 training and 3 test documents."""
    for part, n_rows in (("trn", 5), ("tst", 3)):
        X, Y = small_data(n_rows)
        sp.save_npz(tmp_path / f"X.{part}.npz", X)
        sp.save_npz(tmp_path / f"Y.{part}.npz", Y)
        texts = [f"document {i}\u2028, second line" for i in range(n_rows)]
        (tmp_path / f"X.{part}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (tmp_path / "labels.txt").write_text("apple\nbelt\ntank\njaguar\n")
    (tmp_path / "features.txt").write_bytes(b"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng")
    return tmp_path


@pytest.mark.parametrize("loader", [load, load_folder])
def test_a_folder_is_loaded_with_all_its_companions(folder, loader):
    data = loader(folder)
    assert isinstance(data, Dataset)
    assert same(data.X_train, small_data(5)[0])
    assert same(data.Y_train, small_data(5)[1])
    assert same(data.X_test, small_data(3)[0])
    assert same(data.Y_test, small_data(3)[1])
    assert data.label_names == ["apple", "belt", "tank", "jaguar"]
    assert data.feature_names == list("abcdefg")
    assert data.train_texts[4] == "document 4\u2028, second line"
    assert len(data.test_texts) == 3


def test_companions_are_optional(folder):
    for name in ("X.tst.npz", "Y.tst.npz", "labels.txt", "features.txt", "X.trn.txt", "X.tst.txt"):
        (folder / name).unlink()
    data = load(folder)
    assert data.X_test is data.Y_test is data.label_names is data.feature_names is None
    assert data.train_texts is data.test_texts is None


def test_texts_are_read_only_when_asked_for(folder):
    (folder / "X.trn.txt").write_text("one line only\n")
    data = load(folder)
    with pytest.raises(ValueError, match=r"X\.trn\.txt has 1 lines, but there are 5 training doc"):
        _ = data.train_texts


@pytest.mark.parametrize("name", ["X.trn.npz", "Y.tst.npz"])
@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "dense", "pickle"])
def test_a_damaged_matrix_file_is_refused_with_its_name(folder, name, damage):
    file = folder / name
    whole = file.read_bytes()
    if damage == "dense":
        np.savez(file, a=np.ones(3))
    elif damage == "pickle":
        np.savez(file, format=np.array([{"a": 1}], dtype=object), shape=np.array([1, 1]))
    else:
        file.write_bytes({"empty": b"", "cut": whole[:-40], "garbage": b"x" * 500}[damage])
    with pytest.raises(ValueError, match=rf"{name} is not a sparse matrix"):
        load(folder)


def test_a_damaged_array_inside_a_matrix_file_is_refused(folder):
    file = folder / "X.trn.npz"
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["data.npy"] = members["data.npy"][:-8]
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"X\.trn\.npz is not a sparse matrix"):
        load(folder)


def test_indices_out_of_range_in_a_matrix_file_are_refused(folder):
    X, _ = small_data(5)
    X.indices[0] = 99
    np.savez(
        folder / "X.trn.npz",
        format=b"csr",
        shape=X.shape,
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
    )
    with pytest.raises(ValueError, match=r"X\.trn\.npz"):
        load(folder)


def test_wrong_contents_of_a_folder_are_refused_with_the_file(folder):
    def check(name, content, message, error=ValueError):
        file = folder / name
        before = file.read_bytes()
        if content is None:
            file.unlink()
        elif isinstance(content, bytes):
            file.write_bytes(content)
        else:
            sp.save_npz(file, content)
        with pytest.raises(error, match=message):
            load(folder)
        file.write_bytes(before)

    X, Y = small_data(5)
    check("Y.trn.npz", None, r"has no Y\.trn\.npz; a data folder holds", FileNotFoundError)
    check("Y.tst.npz", None, r"has no Y\.tst\.npz", FileNotFoundError)
    check("Y.trn.npz", Y * -1, r"Y\.trn\.npz: Y has -1 in row")
    check("Y.trn.npz", Y[:4], r"Y\.trn\.npz: X has 5 rows and Y has 4")
    check("X.trn.npz", X * np.float32(np.nan), r"X\.trn\.npz contains NaN in row")
    check("X.tst.npz", small_data(3, n_features=9)[0], "have 7 features, the test documents 9")
    check("Y.tst.npz", small_data(3, n_labels=3)[1], "have 4 labels, the test documents 3")
    check("labels.txt", b"apple\n", r"labels\.txt has 1 lines, but there are 4 labels")
    check("features.txt", b"", r"features\.txt has 0 lines, but there are 7 features")
    check("labels.txt", b"\xff\xfe\n", r"labels\.txt is not UTF-8")
    load(folder)


@needs_permissions
def test_a_file_without_permission_is_named(folder):
    (folder / "X.trn.npz").chmod(0)
    with pytest.raises(PermissionError, match=r"X\.trn\.npz"):
        load(folder)


@pytest.mark.parametrize(
    "names", [("train.txt", "test.txt"), ("trn.txt", "tst.txt"), ("train.txt.gz", "test.txt.gz")]
)
def test_a_folder_of_text_files_is_loaded(tmp_path, names):
    for name, n_rows in zip(names, (5, 3), strict=True):
        write_xmc_text(tmp_path / name, *small_data(n_rows))
    (tmp_path / "labels.txt").write_text("apple\nbelt\ntank\njaguar\n")
    data = load(tmp_path)
    assert same(data.X_train, small_data(5)[0])
    assert same(data.Y_test, small_data(3)[1])
    assert data.label_names == ["apple", "belt", "tank", "jaguar"]


def test_a_single_text_file_is_all_for_training(tmp_path):
    write_xmc_text(tmp_path / "all.txt", *small_data())
    data = load(tmp_path / "all.txt")
    assert same(data.X_train, small_data()[0])
    assert data.X_test is None


def test_what_is_no_data_set_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"neither X\.trn\.npz nor train\.txt"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        load_folder(tmp_path / "nowhere")
    sp.save_npz(tmp_path / "X.npz", small_data()[0])
    with pytest.raises(ValueError, match="one matrix; give the folder"):
        load(tmp_path / "X.npz")


def test_a_header_that_promises_labels_without_end_is_refused(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 5 2000000000\n0 0:1\n")
    with pytest.raises(ValueError, match="line 1: the header promises 2000000000 labels"):
        read_xmc_text(path)


def test_a_label_id_that_is_far_too_large_is_refused_before_any_work(tmp_path):
    X = sp.csr_array(np.ones((300, 2), dtype=np.float32))
    last = 10**9
    Y = sp.csr_array(
        (np.ones(300, dtype=np.float32), np.full(300, last), np.arange(301)), shape=(300, last + 1)
    )
    sp.save_npz(tmp_path / "X.trn.npz", X)
    sp.save_npz(tmp_path / "Y.trn.npz", Y)
    said = r"1,000,000,001 labels, but only 1 of them have documents; renumber"
    with pytest.raises(ValueError, match=rf"Y\.trn\.npz: Y has {said}"):
        load(tmp_path)
    for work in (XRLinear().fit, lambda X, Y: estimate_training(XRLinear(), X, Y)):
        with pytest.raises(ValueError, match=said):
            work(X, Y)


@pytest.mark.parametrize(
    ("n_labels", "n_given", "refused"),
    [
        (3_000_000, 1, False),  # as many as the largest public set, and a part of its documents
        (20_000_000, 100, False),
        (20_000_001, 100, True),
        (100_000_000, 5_000_000, False),
    ],
)
def test_labels_without_documents_are_allowed_within_reason(n_labels, n_given, refused):
    assert are_mostly_absent(n_labels, n_given) == refused


def test_an_empty_test_part_is_named_as_such(tmp_path):
    X, Y = small_data()
    for part, n_rows in (("trn", X.shape[0]), ("tst", 0)):
        sp.save_npz(tmp_path / f"X.{part}.npz", X[:n_rows])
        sp.save_npz(tmp_path / f"Y.{part}.npz", Y[:n_rows])
    with pytest.raises(ValueError, match=r"test part is empty; remove X\.tst\.npz and Y"):
        load(tmp_path)
