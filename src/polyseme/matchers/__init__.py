"""Matchers: one file a kind."""

from polyseme.matchers.linear_tree import LinearTreeMatcher

__all__ = ["LinearTreeMatcher"]
