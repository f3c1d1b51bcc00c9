"""A small world of short texts in which some labels have two senses, and what to see in it."""

from polyseme.demo.corpus import Corpus, make_corpus

__all__ = ["Corpus", "make_corpus"]
