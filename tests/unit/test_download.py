"""Downloads from a server that does what servers do on bad days."""

from __future__ import annotations

import errno
import hashlib
import shutil
import socket
from collections import namedtuple
from importlib import import_module

import pytest

from polyseme.datasets.catalogue import Archive
from polyseme.datasets.download import WebPageError, download
from tests.archive_server import archive_server

CONTENT = bytes(range(256)) * 4096  # a mebibyte
module = import_module("polyseme.datasets.download")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def served():
    with archive_server(CONTENT) as server:
        yield server


@pytest.fixture
def target(tmp_path):
    return tmp_path / "archive"


def get(served, target, *, n_bytes=None, sha256=None, n_tries=3, **options):
    archive = Archive(served.url, n_bytes, sha256)
    return download(archive, target, n_tries=n_tries, seconds_between=0.0, **options)


def part_of(target):
    return target.with_name(target.name + ".part")


def only_the_file_is_left(target):
    return [file.name for file in target.parent.iterdir()] == [target.name]


# What arrives


def test_a_file_arrives_whole_and_alone(served, target):
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert get(served, target, n_bytes=len(CONTENT), sha256=digest) == target
    assert target.read_bytes() == CONTENT
    assert only_the_file_is_left(target)
    assert served.asked_ranges == [None]


def test_a_file_of_unknown_length_arrives_whole(served, target):
    served.no_length = True
    get(served, target)
    assert target.read_bytes() == CONTENT


def test_progress_ends_at_the_length(served, target):
    told = []
    get(served, target, on_progress=lambda *values: told.append(values))
    assert told[0] == ("Downloading", 0, len(CONTENT))
    assert told[-1] == ("Downloading", len(CONTENT), len(CONTENT))


# Resuming


def test_a_dropped_connection_goes_on_where_it_stopped(served, target):
    served.drop_after = [1000, 5000]
    get(served, target)
    assert target.read_bytes() == CONTENT
    assert served.asked_ranges == [None, "bytes=1000-", "bytes=6000-"]
    assert only_the_file_is_left(target)


def test_a_connection_that_is_reset_goes_on_where_it_stopped(served, target):
    served.drop_after, served.n_resets = [1000, 5000], 2
    get(served, target)
    assert target.read_bytes() == CONTENT


def test_a_line_that_drops_again_and_again_is_borne_while_the_file_comes_on(
    served, target, monkeypatch
):
    monkeypatch.setattr(module, "PROGRESS_WORTH_A_NEW_TRY", 500)
    served.drop_after = [1000] * 5
    get(served, target, n_tries=2)
    assert target.read_bytes() == CONTENT
    assert len(served.asked_ranges) == 6


def test_a_weak_tag_is_no_version_to_go_on_with():
    headers = {"ETag": 'W/"1"', "Last-Modified": "yesterday"}
    assert module._strong_version(headers) == "yesterday"
    assert module._strong_version({**headers, "ETag": '"1"'}) == '"1"'


def test_only_what_is_missing_has_to_fit_on_the_disk(served, target, monkeypatch):
    served.drop_after = [1000]
    with pytest.raises(ConnectionError):
        get(served, target, n_tries=1)
    usage = namedtuple("usage", "total used free")
    left = len(CONTENT) - 1000
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(left, 0, left))
    get(served, target)
    assert target.read_bytes() == CONTENT


def test_what_arrived_stays_for_the_next_call(served, target):
    served.drop_after = [1000]
    with pytest.raises(ConnectionError, match=r"ended after 1,000 of 1,048,576 bytes"):
        get(served, target, n_tries=1)
    assert not target.exists()
    assert part_of(target).read_bytes() == CONTENT[:1000]
    get(served, target)
    assert served.asked_ranges == [None, "bytes=1000-"]
    assert target.read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_starts_anew(served, target):
    served.ignore_range = True
    served.drop_after = [1000]
    get(served, target)
    assert target.read_bytes() == CONTENT


def test_a_server_that_sends_another_range_starts_anew(served, target):
    served.wrong_range = True
    served.drop_after = [1000]
    get(served, target)
    assert served.asked_ranges == [None, "bytes=1000-", None]
    assert target.read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_starts_anew(served, target):
    served.drop_after = [1000]
    with pytest.raises(ConnectionError):
        get(served, target, n_tries=1)
    served.content, served.version = CONTENT[::-1], '"2"'
    get(served, target)
    assert target.read_bytes() == CONTENT[::-1]


def test_a_part_that_is_already_whole_is_taken(served, target):
    part_of(target).write_bytes(CONTENT)
    get(served, target)
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_too_long_starts_anew(served, target):
    part_of(target).write_bytes(CONTENT + b"more")
    get(served, target)
    assert target.read_bytes() == CONTENT


# Failing


def test_a_server_that_claims_too_much_is_given_up_and_explained(served, target):
    served.claimed_length = len(CONTENT) + 10
    served.ignore_range = True
    with pytest.raises(ConnectionError, match=r"ended after 1,048,576 of 1,048,586 bytes"):
        get(served, target)
    assert not target.exists()


def test_a_server_that_claims_too_little_is_found_out_by_the_known_length(served, target):
    served.claimed_length = 1000
    with pytest.raises(ValueError, match=r"is 1,000 bytes long, but 1,048,576 are expected"):
        get(served, target, n_bytes=len(CONTENT))
    assert list(target.parent.iterdir()) == []


def test_too_few_bytes_of_unknown_length_are_found_out(served, target):
    served.no_length = True
    served.drop_after = [1000]
    with pytest.raises(ValueError, match=r"1,000 bytes arrived, but 1,048,576 are expected"):
        get(served, target, n_bytes=len(CONTENT))
    assert not part_of(target).exists()


def test_a_file_without_end_is_stopped(served, target, monkeypatch):
    monkeypatch.setattr(import_module("polyseme.datasets.download"), "LARGEST", 1 << 19)
    served.no_length = True
    with pytest.raises(ValueError, match="does not end after"):
        get(served, target)
    with pytest.raises(ValueError, match="does not end after"):
        get(served, target, n_bytes=1000)


def test_a_wrong_hash_is_refused_and_nothing_is_kept(served, target):
    with pytest.raises(ValueError, match="SHA-256"):
        get(served, target, sha256="0" * 64)
    assert not target.exists()
    assert not part_of(target).exists()


def test_a_bad_moment_of_the_server_passes(served, target):
    served.status = [500, 503, 408, 425, 429]
    get(served, target, n_tries=6)
    assert target.read_bytes() == CONTENT


def test_every_further_try_waits_twice_as_long(served, target, monkeypatch):
    waited = []
    monkeypatch.setattr(module.time, "sleep", waited.append)
    served.status = [500] * 3
    download(Archive(served.url), target, n_tries=4, seconds_between=0.5)
    assert waited == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(("status", "n_asked"), [(404, 1), (403, 1), (500, 3)])
def test_an_error_that_stays_is_named_with_the_address(served, target, status, n_asked):
    served.status = [status] * 9
    with pytest.raises(ConnectionError, match=rf"{served.url}.*answers {status}"):
        get(served, target)
    assert len(served.asked_ranges) == n_asked


@pytest.mark.parametrize("said", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_web_page_is_recognised_whatever_the_server_calls_it(served, target, said):
    served.content = b"\n<!DOCTYPE HTML><html><body>Can't scan this file for viruses"
    served.content_type = said
    with pytest.raises(WebPageError, match="web page instead of the archive"):
        get(served, target)
    assert not target.exists()
    assert not part_of(target).exists() or part_of(target).read_bytes() == b""


def test_no_server_is_a_sentence(target):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/x"
        with pytest.raises(ConnectionError, match="cannot be reached"):
            download(Archive(url), target, n_tries=2, seconds_between=0.0)


def test_no_name_server_is_a_sentence_at_once(target):
    with pytest.raises(ConnectionError, match="cannot be reached"):
        download(Archive("http://nowhere.invalid/x"), target, seconds_between=100.0)


def test_a_file_that_does_not_fit_on_the_disk_is_refused_before_it_is_fetched(
    served, target, monkeypatch
):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(100, 90, 10))
    with pytest.raises(ValueError, match=r"needs 1,048,576 more bytes, but 10 are free"):
        get(served, target)


def test_a_disk_that_fills_up_is_not_taken_for_a_bad_connection(served, target):
    def full(what, done, total):
        if done > 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        get(served, target, on_progress=full)
    assert len(served.asked_ranges) == 1
