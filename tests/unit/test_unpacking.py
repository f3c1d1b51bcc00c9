"""Archives from strangers: the honest are unpacked, the hostile refused."""

from __future__ import annotations

import gzip
import stat
import tarfile
import warnings

import pytest

from polyseme.datasets.unpacking import Limits, unpack
from tests.hostile_archives import tarred, zipped

SMALL = Limits(n_bytes=1 << 20, n_members=20, ratio=10, small=1 << 16)
PACKERS = {
    "zip": zipped,
    "tar": lambda members: tarred(members, gzipped=False),
    "tar.gz": tarred,
}


@pytest.fixture
def unpacked(tmp_path):
    """Unpack bytes into a folder; return what is there then."""
    folder = tmp_path / "inside" / "folder"
    folder.mkdir(parents=True)

    def run(content, limits=SMALL, name="data.gz"):
        archive = tmp_path / name
        archive.write_bytes(content)
        try:
            unpack(archive, folder, limits=limits)
        finally:
            outside = {p for p in tmp_path.rglob("*") if not p.is_relative_to(folder)}
            assert outside == {archive, tmp_path / "inside"}
        files = (file for file in folder.rglob("*") if file.is_file())
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}

    return run


HONEST = {"set/train.txt": b"2 3 4\n", "set/deep/er/test.txt": b"", "names": bytes(3000)}


@pytest.mark.parametrize("kind", PACKERS)
def test_an_honest_archive_is_unpacked_with_its_folders(unpacked, kind):
    assert unpacked(PACKERS[kind](HONEST)) == HONEST


@pytest.mark.parametrize("kind", PACKERS)
def test_a_folder_may_be_named_more_than_once(unpacked, kind):
    if kind == "zip":
        content = zipped([("a/", b""), ("a/b", b"1"), ("A/", b"")])
    else:
        folders = {"a": tarfile.DIRTYPE, "A": tarfile.DIRTYPE}
        content = tarred([("a", b""), ("a/b", b"1"), ("A", b"")], folders)
    assert unpacked(content) == {"a/b": b"1"}


def test_the_folder_itself_may_be_a_member(unpacked):
    members = [("./", b""), ("./a", b"1")]
    assert unpacked(tarred(members, {"./": tarfile.DIRTYPE})) == {"a": b"1"}


def test_a_single_gzipped_file_is_named_after_the_archive(unpacked):
    assert unpacked(gzip.compress(b"text"), name="train.txt.gz") == {"train.txt": b"text"}


OUTSIDE = [
    "../evil",
    "a/../../evil",
    "/evil",
    "//evil",
    "..",
    "..\\evil",
    "C:\\evil",
    "C:evil",
    "a\nb",
    ".",
]


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_member_outside_the_folder_is_refused(unpacked, kind, name):
    with pytest.raises(ValueError, match="would lie outside the folder"):
        unpacked(PACKERS[kind]({name: b"evil"}))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize(
    "names",
    [("a", "a"), ("a", "A"), ("d/a", "D/A"), ("a", "a/b"), ("a/b", "a"), ("é", "e\u0301")],
)
def test_members_that_would_overwrite_each_other_are_refused(unpacked, kind, names):
    members = [(name, b"x") for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns whoever writes such a thing
        content = PACKERS[kind](members)
    with pytest.raises(ValueError, match="two of its members have the name"):
        unpacked(content)


SPECIAL = {
    "symbolic link": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
    "character device": tarfile.CHRTYPE,
    "block device": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_links_and_devices_in_a_tar_are_refused(unpacked, kind):
    content = b"/etc/passwd" if "link" in kind else b""
    with pytest.raises(ValueError, match="'it' is a link or a device"):
        unpacked(tarred({"it": content}, {"it": SPECIAL[kind]}))


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(unpacked, mode):
    with pytest.raises(ValueError, match="'it' is a link or a device"):
        unpacked(zipped({"it": b"/etc/passwd"}, {"it": mode | 0o777}))


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_bomb_is_refused_before_it_goes_off(unpacked, kind, tmp_path):
    content = PACKERS[kind]({"bomb": bytes(5 << 20)})
    assert len(content) < 1 << 14
    with pytest.raises(ValueError, match=r"would take more than 65,536 bytes"):
        unpacked(content)
    assert list((tmp_path / "inside" / "folder").iterdir()) == []


def test_a_bomb_that_says_nothing_of_its_size_is_stopped(unpacked, tmp_path):
    with pytest.raises(ValueError, match="would take more than"):
        unpacked(gzip.compress(bytes(5 << 20)))
    assert sum(file.stat().st_size for file in (tmp_path / "inside").rglob("*")) < 1 << 17


def test_a_zip_that_lies_about_sizes_is_stopped(unpacked):
    content = zipped({"bomb": bytes(1 << 16)})
    lying = content.replace((1 << 16).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != content
    with pytest.raises(ValueError, match="damaged"):
        unpacked(lying)


def test_many_small_files_count_together(unpacked):
    with pytest.raises(ValueError, match="would take more than"):
        unpacked(zipped({f"file{i}": bytes(10_000) for i in range(9)}))


@pytest.mark.parametrize("kind", PACKERS)
def test_too_many_members_are_refused(unpacked, kind):
    with pytest.raises(ValueError, match="more than 20 members"):
        unpacked(PACKERS[kind]({f"file{i}": b"" for i in range(21)}))


def test_a_tar_header_that_would_fill_the_memory_is_refused(unpacked):
    content = tarred({"file": b"x"}, pax={"comment": "a" * (3 << 20)})
    with pytest.raises(ValueError, match="header"):
        unpacked(content, Limits())


def test_an_encrypted_member_is_refused(unpacked):
    content = bytearray(zipped({"secret": b"x"}))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(mark) + offset] |= 1
    with pytest.raises(ValueError, match="encrypted"):
        unpacked(bytes(content))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("kept", [0.3, 0.6])
def test_an_archive_that_was_cut_short_is_called_damaged(unpacked, kind, kept):
    rows = b"".join(b"%d:%d " % (i, i * i % 977) for i in range(2000))
    content = PACKERS[kind]({"train.txt": rows, "test.txt": rows[::-1]})
    with pytest.raises(ValueError, match="damaged or incomplete"):
        unpacked(content[: int(len(content) * kept)])


@pytest.mark.parametrize("content", [tarred(HONEST), gzip.compress(b"text")], ids=["tar", "gzip"])
def test_a_wrong_checksum_is_called_damaged(unpacked, content):
    with pytest.raises(ValueError, match="damaged or incomplete"):
        unpacked(content[:-8] + bytes(4) + content[-4:])


def test_what_is_no_archive_is_refused(unpacked):
    with pytest.raises(ValueError, match="neither a zip, a tar nor a gzip"):
        unpacked(b"just text")
