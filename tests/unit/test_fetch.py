"""From an address to a data folder, and from a name to that folder."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.datasets import cache_folder, fetch, load, resolve_dataset
from polyseme.datasets.arranging import arrange, sizes_of
from polyseme.datasets.catalogue import Archive, CatalogueEntry
from polyseme.datasets.unpacking import Limits
from tests.archive_server import archive_server
from tests.hostile_archives import tarred, zipped

N_TRAIN, N_TEST, N_LABELS, N_FEATURES = 6, 4, 3, 5
rng = np.random.default_rng(0)
X_TRAIN = sp.csr_array((rng.random((N_TRAIN, N_FEATURES)) > 0.5).astype(np.float32))
X_TEST = sp.csr_array((rng.random((N_TEST, N_FEATURES)) > 0.5).astype(np.float32))
Y_TRAIN = sp.csr_array((rng.random((N_TRAIN, N_LABELS)) > 0.5).astype(np.float32))
Y_TEST = sp.csr_array((rng.random((N_TEST, N_LABELS)) > 0.5).astype(np.float32))


def npz(matrix) -> bytes:
    out = io.BytesIO()
    sp.save_npz(out, matrix)
    return out.getvalue()


def pairs(matrix) -> list[str]:
    rows = [matrix[[row]].tocoo() for row in range(matrix.shape[0])]
    return [
        " ".join(f"{column}:{value:g}" for column, value in zip(row.col, row.data, strict=True))
        for row in rows
    ]


def together(X, Y) -> bytes:
    labels = [",".join(pair.split(":")[0] for pair in line.split()) for line in pairs(Y)]
    lines = [f"{y} {x}" for x, y in zip(pairs(X), labels, strict=True)]
    return "\n".join([f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}", *lines, ""]).encode()


def apart(matrix) -> bytes:
    return "\n".join([f"{matrix.shape[0]} {matrix.shape[1]}", *pairs(matrix), ""]).encode()


BASE = "xmc-base/small"
MATRICES = {
    f"{BASE}/Y.trn.npz": npz(Y_TRAIN),
    f"{BASE}/Y.tst.npz": npz(Y_TEST),
    f"{BASE}/X.trn.txt": b"".join(b"text %d\n" % row for row in range(N_TRAIN)),
    f"{BASE}/output-items.txt": b"apple\nbat\ncrane\n",
    f"{BASE}/tfidf-attnxml/X.trn.npz": npz(X_TRAIN),
    f"{BASE}/tfidf-attnxml/X.tst.npz": npz(X_TEST),
}
TEXT = {
    "Small/small_train.txt": together(X_TRAIN, Y_TRAIN),
    "Small/small_test.txt": together(X_TEST, Y_TEST),
    "Small/._small_train.txt": b"what some systems leave behind",
}
APART = {
    "trn_X_Xf.txt": apart(X_TRAIN),
    "trn_X_Y.txt": apart(Y_TRAIN),
    "tst_X_Xf.txt": apart(X_TEST),
    "tst_X_Y.txt": apart(Y_TEST),
}
SIZES = {"n_train": N_TRAIN, "n_test": N_TEST, "n_labels": N_LABELS, "n_features": N_FEATURES}


def entry(name: str, url: str | None = None, **values) -> CatalogueEntry:
    archive = None if url is None else Archive(url)
    known = {"propensity_a": 0.55, "propensity_b": 1.5, "page": "http://the.page", **values}
    return CatalogueEntry(name, "made for tests", archive=archive, **known)


@pytest.fixture
def served():
    with archive_server(tarred(MATRICES)) as server:
        yield server


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch, served) -> Path:
    """A cache of its own, and a catalogue of small sets that the server has."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    known = (
        entry("Small-3", served.url, **SIZES),
        entry("Unknown-3", served.url),
        entry("Other-3", served.url, **{**SIZES, "n_train": 7}),
        entry("Nowhere-3", **{**SIZES, "n_train": 8}),
    )
    catalogue = import_module("polyseme.datasets.catalogue")
    monkeypatch.setattr(catalogue, "known_datasets", lambda: known)
    return tmp_path / "cache"


def fetch_quickly(name, **options):
    return fetch(name, n_tries=2, seconds_between=0.0, **options)


def same(a, b) -> bool:
    return a.shape == b.shape and abs(a - b).nnz == 0


def is_the_small_set(dataset) -> bool:
    found = (dataset.X_train, dataset.Y_train, dataset.X_test, dataset.Y_test)
    return all(map(same, found, (X_TRAIN, Y_TRAIN, X_TEST, Y_TEST)))


# Layouts


@pytest.mark.parametrize("layout", [MATRICES, TEXT, APART], ids=["matrices", "text", "apart"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_every_layout_of_the_sources_can_be_loaded_by_name(served, cache, layout, pack):
    served.content = pack(layout)
    folder = fetch_quickly("small-3")
    assert folder == cache / "datasets" / "Small-3"
    assert is_the_small_set(load("Small-3"))
    assert sizes_of(folder) == (N_TRAIN, N_TEST, N_LABELS, N_FEATURES)
    assert [path.name for path in folder.parent.iterdir()] == ["Small-3"]
    assert list((cache / "archives").iterdir()) == []


def test_names_of_labels_and_texts_come_along(served):
    fetch_quickly("Small-3")
    assert load("Small-3").label_names == ["apple", "bat", "crane"]
    assert load("Small-3").train_texts[1] == "text 1"


@pytest.mark.parametrize("names", [b"apple\n", b"a\nb\n\xff\n"])
def test_names_of_labels_that_do_not_fit_are_left_out(served, names):
    served.content = tarred({**MATRICES, f"{BASE}/output-items.txt": names})
    fetch_quickly("Small-3")
    assert load("Small-3").label_names is None


def test_rows_apart_that_differ_in_number_are_refused(served):
    served.content = zipped({**APART, "trn_X_Y.txt": apart(Y_TEST)})
    with pytest.raises(ValueError, match=r"trn_X_Xf\.txt has 6 rows, trn_X_Y\.txt 4"):
        fetch_quickly("Small-3")


@pytest.mark.parametrize(
    "members",
    [
        {"readme.txt": b"come back later"},
        {"train.txt": b"no header\n"},
        {"Y.trn.npz": npz(Y_TRAIN)},
        {"Y.trn.npz": b"junk", "X.trn.npz": b"junk"},
        {"trn_X_Xf.txt": b"?\n", "trn_X_Y.txt": b"?\n"},
    ],
)
def test_an_archive_without_a_data_set_is_refused_and_leaves_nothing(served, cache, members):
    served.content = zipped(members)
    with pytest.raises(ValueError, match="Small-3"):
        fetch_quickly("Small-3")
    assert [file for file in cache.rglob("*") if file.is_file()] == []


# Checks


def test_another_data_set_is_refused_by_its_sizes(served):
    with pytest.raises(ValueError, match="holds Small-3, not Unknown-3"):
        fetch_quickly("Unknown-3")


def test_features_that_differ_from_the_published_ones_are_said(served):
    fewer = X_TRAIN[:, :4]
    served.content = zipped({"Y.trn.npz": npz(Y_TRAIN), "X.trn.npz": npz(fewer)})
    said = r"published with 6 training .* 3 labels and 5 features, .* no test .* and 4 features\."
    with pytest.warns(UserWarning, match=said):
        fetch_quickly("Small-3")
    assert load("Small-3").X_train.shape == (N_TRAIN, 4)


@pytest.mark.parametrize("by_hand", [False, True])
def test_data_of_another_size_are_refused_and_leave_nothing(served, cache, tmp_path, by_hand):
    longer = sp.vstack([Y_TRAIN, Y_TRAIN], format="csr")
    double = sp.vstack([X_TRAIN, X_TRAIN], format="csr")
    served.content = zipped({"Y.trn.npz": npz(longer), "X.trn.npz": npz(double)})
    given = tmp_path / "given.zip"
    given.write_bytes(served.content)
    said = r"is not Small-3, which has 6 training .* it has 12 training .*; give the archive of"
    with pytest.raises(ValueError, match=said):
        fetch_quickly("Small-3", archive=given if by_hand else None)
    assert [file for file in cache.rglob("*") if file.is_file()] == []
    assert given.exists()


def test_data_with_other_labels_are_refused(served):
    twice = sp.hstack([Y_TRAIN, Y_TRAIN], format="csr")
    served.content = zipped({"Y.trn.npz": npz(twice), "X.trn.npz": npz(X_TRAIN)})
    with pytest.raises(ValueError, match=r"is not Small-3, which has .* it has .* 6 labels"):
        fetch_quickly("Small-3")


def test_a_cache_that_is_a_file_is_named_with_its_variable(cache):
    cache.write_text("no folder")
    with pytest.raises(ValueError, match=r"cannot be kept in .*cache .*POLYSEME_CACHE"):
        fetch_quickly("Small-3")


def test_a_hostile_archive_leaves_nothing_behind(served, cache, tmp_path):
    served.content = zipped({"train.txt": b"1 1 1\n", "../../../evil": b"evil"})
    with pytest.raises(ValueError, match="would lie outside"):
        fetch_quickly("Small-3")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_limits_can_be_tightened(served):
    with pytest.raises(ValueError, match="more than 2 members"):
        fetch_quickly("Small-3", limits=Limits(n_members=2))


# Again, and by hand


def test_what_was_fetched_is_not_fetched_twice(served):
    assert fetch_quickly("Small-3") == fetch_quickly("Small-3")
    assert len(served.asked_ranges) == 1
    fetch_quickly("Small-3", again=True)
    assert len(served.asked_ranges) == 2
    assert is_the_small_set(load("Small-3"))


def test_another_cache_may_be_given(served, cache, tmp_path):
    other = tmp_path / "other"
    folder = fetch_quickly("Small-3", cache=other)
    assert folder == other / "datasets" / "Small-3"
    assert resolve_dataset("Small-3", other) == folder
    assert not (cache / "datasets").exists()


def test_of_several_files_of_a_name_the_one_nearest_to_the_top_is_taken(tmp_path):
    for home, content in (("a/b", "deep"), ("z", "near")):
        (tmp_path / "unpacked" / home).mkdir(parents=True)
        (tmp_path / "unpacked" / home / "train.txt").write_text(content)
    (tmp_path / "folder").mkdir()
    arrange(tmp_path / "unpacked", tmp_path / "folder")
    assert (tmp_path / "folder" / "train.txt").read_text() == "near"


def test_a_failed_second_fetch_keeps_the_first(served):
    fetch_quickly("Small-3")
    served.content = b"junk"
    with pytest.raises(ValueError, match="neither a zip"):
        fetch_quickly("Small-3", again=True)
    assert is_the_small_set(load("Small-3"))


def test_an_archive_downloaded_by_hand_is_used_and_kept(served, tmp_path):
    archive = tmp_path / "by_hand.zip"
    archive.write_bytes(zipped(TEXT))
    fetch_quickly("Small-3", archive=archive)
    assert served.asked_ranges == []
    assert archive.exists()
    assert is_the_small_set(load("Small-3"))


def test_a_web_page_saved_by_hand_is_recognised(tmp_path):
    archive = tmp_path / "by_hand.zip"
    archive.write_bytes(b"<html><body>Sign in")
    with pytest.raises(ValueError, match="is a web page, not an archive"):
        fetch_quickly("Small-3", archive=archive)
    with pytest.raises(FileNotFoundError, match="is not a file"):
        fetch_quickly("Small-3", archive=tmp_path)


@pytest.mark.parametrize("trouble", ["404", "page", "offline"])
def test_trouble_with_the_source_says_what_to_do_by_hand(served, monkeypatch, trouble):
    if trouble == "404":
        served.status = [404]
    elif trouble == "page":
        served.content_type = "text/html"
    else:
        monkeypatch.setattr(served, "status", [503, 503])
    words = r"By hand: save http://127\S* \(offered on http://the\.page\) .* --archive FILE"
    with pytest.raises((ConnectionError, ValueError), match=words):
        fetch_quickly("Small-3")


def test_an_interrupted_unpacking_keeps_the_archive(served, cache):
    def interrupt(what, done, total):
        if what == "Unpacking":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_quickly("Small-3", on_progress=interrupt)
    assert [file.name for file in cache.rglob("*") if file.is_file()] == ["Small-3.archive"]
    fetch_quickly("Small-3")
    assert len(served.asked_ranges) == 1


def test_a_set_without_an_archive_says_where_its_folder_belongs(cache):
    with pytest.raises(ValueError, match=r"put it at .*Nowhere-3") as refused:
        fetch_quickly("Nowhere-3")
    assert str(cache) in str(refused.value)


# Names


def test_a_name_that_was_not_fetched_comes_with_the_command():
    with pytest.raises(FileNotFoundError, match="run: polyseme datasets fetch Small-3"):
        load("small-3")


def test_a_folder_wins_over_a_name(tmp_path):
    fetch_quickly("Small-3")
    (tmp_path / "Small-3").mkdir()
    assert resolve_dataset("Small-3") == Path("Small-3")
    assert resolve_dataset(tmp_path / "Small-3") == tmp_path / "Small-3"


def test_a_name_nearly_right_is_corrected():
    with pytest.raises(FileNotFoundError, match="did you mean the data set Small-3"):
        resolve_dataset("smal-3")
    with pytest.raises(ValueError, match="did you mean Small-3"):
        fetch("smal-3")


def test_a_path_that_is_no_name_is_left_as_it_is(tmp_path):
    assert resolve_dataset("some/Small-3") == Path("some/Small-3")
    assert resolve_dataset("zzz.txt") == Path("zzz.txt")
    with pytest.raises(FileNotFoundError, match="give a data folder"):
        load("zzz.txt")


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_the_cache_is_where_the_system_keeps_caches(monkeypatch, tmp_path, system):
    for name in ("POLYSEME_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", system)
    inside = {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"}[system]
    assert cache_folder() == tmp_path / inside / "polyseme"
