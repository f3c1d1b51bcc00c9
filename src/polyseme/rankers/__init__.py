"""Rankers: one file a kind."""

from polyseme.rankers.linear_slots import LinearSlotRanker

__all__ = ["LinearSlotRanker"]
