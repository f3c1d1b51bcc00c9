"""Neighbours in a space of documents: an index of vectors, and two matchers that ask it.

`index.py` finds the nearest of many vectors (extra ``neighbours``), `space.py` makes vectors of
documents, `labels.py` and `documents.py` find clusters by the nearest ones of these.
"""
