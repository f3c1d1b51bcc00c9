"""What all tests share."""

import gc

import pytest


def pytest_collection_modifyitems(items):
    """Try again what fails, where that may only be because the machine is busy.

    These are tests that measure time, or talk to a server or a browser beside them.
    """
    for item in items:
        beside = {"web", "browser"}.intersection(item.path.parts)
        if beside or item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))


def pytest_collection_finish():
    """Take what is there before the first test out of the rounds of the garbage collector.

    Some tests have it go round, and these are thousands of tests with all that they import.
    """
    gc.freeze()
