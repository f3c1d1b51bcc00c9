"""Times and sizes, as people write them."""

import pytest

from polyseme.machine.quantities import bytes_from, seconds_from, spoken_bytes, spoken_seconds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (90, 90),
        (0.5, 0.5),
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1H 30M 5S", 5405),
        ("1.5h", 5400),
        (".5m", 30),
    ],
)
def test_times_are_read_as_people_write_them(given, seconds):
    assert seconds_from(given, "budget") == seconds


@pytest.mark.parametrize(
    "given", ["", "soon", "10 minutes", "m", "-5s", "0", 0, -1, float("nan"), 1e300, True, None]
)
def test_what_is_no_time_is_refused_by_name(given):
    with pytest.raises(ValueError, match="budget must be a time such as 90s"):
        seconds_from(given, "budget")


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        (500, 500),
        ("500", 500),
        ("500b", 500),
        ("500MB", 500_000_000),
        ("2gb", 2_000_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("4k", 4000),
    ],
)
def test_sizes_are_read_as_people_write_them(given, n_bytes):
    assert bytes_from(given, "max_memory") == n_bytes


@pytest.mark.parametrize("given", ["", "much", "2 XB", "-1GB", 0, float("inf"), [], False])
def test_what_is_no_size_is_refused_by_name(given):
    with pytest.raises(ValueError, match="max_memory must be a size such as 500MB"):
        bytes_from(given, "max_memory")


def test_times_and_sizes_are_said_in_units_that_suit():
    assert [spoken_seconds(s) for s in (1.234, 42, 600, 36_000)] == [
        "1.2 s",
        "42 s",
        "10 min",
        "10 h",
    ]
    assert [spoken_bytes(n) for n in (12, 1_500, 2_500_000, 3e9)] == [
        "12 bytes",
        "1.5 kB",
        "2.5 MB",
        "3 GB",
    ]
