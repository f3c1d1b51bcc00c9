"""What all tests share."""

import gc


def pytest_collection_finish():
    """Take what is there before the first test out of the rounds of the garbage collector.

    Some tests have it go round, and these are thousands of tests with all that they import.
    """
    gc.freeze()
