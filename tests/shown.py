"""What pages and notebooks say that examples show."""

from __future__ import annotations

import re

import pytest

__all__ = ["assert_alike"]

NUMBER = re.compile(r"\d+(?:\.\d+)? *")


def assert_alike(shown: str, said: str) -> None:
    """The same words; numbers may differ a little, as they do from processor to processor."""
    assert NUMBER.sub("", shown) == NUMBER.sub("", said)
    of_shown, of_said = (list(map(float, NUMBER.findall(text))) for text in (shown, said))
    assert of_shown == pytest.approx(of_said, rel=0.1, abs=0.05)
