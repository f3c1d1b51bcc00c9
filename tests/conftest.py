"""What all tests share."""

import gc

import pytest

# Networks that the contract trains anew in every test, as their names have it.
NETWORKS = ("attention", "convolution", "xml-cnn")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Try again what fails, where that may only be because the machine is busy.

    These are tests that measure time, or talk to a server or a browser beside them. Networks take
    seconds to train, so the contract's tests of them are slow.
    """
    for item in items:
        if "contract" in item.path.parts and any(name in item.name for name in NETWORKS):
            item.add_marker(pytest.mark.slow)
        beside = {"web", "browser"}.intersection(item.path.parts)
        if beside or item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))


def pytest_collection_finish():
    """Take what is there before the first test out of the rounds of the garbage collector.

    Some tests have it go round, and these are thousands of tests with all that they import.
    """
    gc.freeze()
