"""What counts as a word, in any script, and where in a text its words and n-grams are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["character_spans", "fold", "token_spans", "word_spans", "words"]

# Python's \w leaves out the marks that make up half of a Hindi or Tamil word.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u0f86-\u0fbc\u102b-\u103e\u1056-\u1059"
    "\u135d-\u135f\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f\u200c\u200d"
)
# Chinese and Japanese have no spaces: a character is a word, and 2-grams are pairs of them.
_UNSPACED = (
    "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[\w{_MARKS}]+")
_HAS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_PIECE = re.compile(rf"[{_UNSPACED}]|[^{_UNSPACED}]+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_RUN = re.compile(r"\S+")

Span = tuple[str, int, int]


def fold(text: str) -> str:
    """Return the text in lower case, with one form for what may be written in several."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def words(text: str) -> list[str]:
    """Return the words of a text, folded; single letters and numbers are words as well."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found = _WORD.findall(text)
    if _HAS_UNSPACED.search(text):
        found = [piece for word in found for piece in _PIECE.findall(word)]
    return [word.lower() if word.isascii() else fold(word) for word in found]


def word_spans(text: str, shortest: int, longest: int) -> Iterator[Span]:
    """Yield every word n-gram with its first and last (excluded) place in the text."""
    found = [
        (fold(piece.group()), *piece.span())
        for word in _WORD.finditer(text)
        for piece in _PIECE.finditer(text, *word.span())
    ]
    yield from _spans_of_ngrams(found, shortest, longest)


def token_spans(text: str, shortest: int, longest: int) -> Iterator[Span]:
    """Do as `word_spans` does, with what stands between spaces, as it is."""
    found = [(token.group(), *token.span()) for token in _RUN.finditer(text)]
    yield from _spans_of_ngrams(found, shortest, longest)


def character_spans(text: str, shortest: int, longest: int) -> Iterator[Span]:
    """Yield every n-gram of characters within words, as scikit-learn's ``char_wb`` makes them.

    A word that changes its length when it is folded is marked as a whole.
    """
    for match in _RUN.finditer(text):
        start, end = match.span()
        for word in fold(match.group()).split():
            padded = f" {word} "
            exact = len(word) == end - start
            for n in range(shortest, longest + 1):
                if n >= len(padded):
                    yield padded, start, end
                    break
                for first in range(len(padded) - n + 1):
                    place = (
                        (max(start, start + first - 1), min(end, start + first - 1 + n))
                        if exact
                        else (start, end)
                    )
                    yield padded[first : first + n], *place


def _spans_of_ngrams(found: list[Span], shortest: int, longest: int) -> Iterator[Span]:
    for n in range(shortest, longest + 1):
        for first in range(len(found) - n + 1):
            taken = found[first : first + n]
            yield " ".join(word for word, _, _ in taken), taken[0][1], taken[-1][2]
