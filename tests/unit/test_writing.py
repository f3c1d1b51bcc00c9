import os
import stat
import threading

import pytest

from polyseme.files.whole_files import written_beside


def write_half(path):
    with written_beside(path) as stream:
        stream.write(b"new, but hal")
        raise RuntimeError("half way")


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half"):
        write_half(path)
    assert path.read_text() == "old"
    with written_beside(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with written_beside(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with written_beside(pipe) as stream:
        stream.write(b"through")
    reader.join(timeout=10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_named_as_the_user_knows_it(tmp_path):
    (tmp_path / "report.md").symlink_to("/dev/full")
    with (
        pytest.raises(OSError, match=r"No space left.*report\.md"),
        written_beside(tmp_path / "report.md") as stream,
    ):
        stream.write(b"much")
