"""Texts as numbers of words, and vectors of words to begin with."""

import gzip
import warnings

import numpy as np
import pytest

from polyseme.backbones.attention.vectors import co_occurring_vectors, read_vectors
from polyseme.backbones.attention.words import PADDING, UNKNOWN, Vocabulary, texts_of
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents

TEXTS = ["the cat and the dog", "the cat", "THE dog, Cat!", ""]


@pytest.fixture
def vocabulary():
    return Vocabulary.learned_from(TEXTS, 10, n_words=5)


def test_words_are_numbered_by_how_many_texts_have_them(vocabulary):
    assert list(vocabulary.names) == ["cat", "the", "dog", "and"]
    assert vocabulary.size == 6


def test_the_rarest_words_are_left_out_where_there_are_too_many():
    assert list(Vocabulary.learned_from(TEXTS, 2, n_words=5).names) == ["cat", "the"]


def test_an_unknown_word_has_a_number_and_an_empty_text_has_one_word(vocabulary):
    rows = vocabulary.numbered(["the zebra", "", "..."])
    assert rows.lengths.tolist() == [2, 1, 1]
    assert rows.words.tolist() == [3, UNKNOWN, UNKNOWN, UNKNOWN]
    np.testing.assert_array_equal(
        rows.padded(np.array([0, 1])), [[3, UNKNOWN], [UNKNOWN, PADDING]]
    )


def test_a_long_text_is_cut_and_that_is_said(vocabulary):
    with pytest.warns(UserWarning, match="only the first 5 words of a text are read"):
        rows = vocabulary.numbered(["dog " * 1000], warn=True)
    assert rows.lengths.tolist() == [5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vocabulary.numbered(["dog " * 5], warn=True)


def test_documents_without_texts_are_told_where_to_get_them():
    with pytest.raises(ValueError, match=r"reads texts, .* train a TextModel around it"):
        texts_of(Documents(dense=np.ones((1, 1), dtype=np.float32)))


def stored(vocabulary, **others):
    arrays = {**vocabulary.to_arrays(), **others}
    return StoredModel("model", {}, arrays, {})


def test_a_stored_vocabulary_numbers_words_as_before(vocabulary):
    again = Vocabulary.restored(stored(vocabulary), 5)
    np.testing.assert_array_equal(again.numbered(TEXTS).words, vocabulary.numbered(TEXTS).words)


@pytest.mark.parametrize(
    ("name", "array", "what"),
    [
        ("starts", np.array([0, 3, 2, 13]), "must not decrease"),
        ("starts", np.array([0, 99]), "must go from 0 to"),
        ("utf8", np.full(13, 255, dtype=np.uint8), "not valid UTF-8"),
        ("utf8", np.zeros(13, dtype=np.int32), "has type int32"),
    ],
)
def test_a_damaged_vocabulary_is_refused(vocabulary, name, array, what):
    assert len(vocabulary.to_arrays()["vocabulary.utf8"]) == 12
    with pytest.raises(ValueError, match=f"damaged: .*{what}|damaged: its array"):
        Vocabulary.restored(stored(vocabulary, **{f"vocabulary.{name}": array}), 5)


# Vectors


def written(folder, content, name="vectors.txt"):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("header", [b"", b"3 2\n"])
def test_vectors_of_known_words_are_read_with_or_without_counts_before(
    vocabulary, tmp_path, header
):
    path = written(tmp_path, header + b"cat 1 2\nzebra 9 9\ndog -1 0.5\n")
    vectors, is_given = read_vectors(path, vocabulary)
    assert vectors.shape == (6, 2)
    np.testing.assert_array_equal(vectors[is_given], [[1, 2], [-1, 0.5]])
    np.testing.assert_array_equal(np.flatnonzero(is_given), [2, 4])


def test_gzipped_vectors_are_read_as_well(vocabulary, tmp_path):
    path = written(tmp_path, gzip.compress(b"cat 1 2 3\n"), "vectors.txt.gz")
    assert read_vectors(path, vocabulary)[0].shape == (6, 3)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"cat 1 2\ndog 1\n", "line 2: a word with 1 numbers, where those before have 2"),
        (b"cat 1 nan\n", "line 1: the vector has a number that is not finite"),
        (b"cat 1 1e999\n", "line 1: the vector has a number that is not finite"),
        (b"cat one two\n", "line 1: what follows the word are not numbers"),
        (b"zebra 1 2\n", "has a vector for none of the 4 words"),
        (b"", "has a vector for none of the 4 words"),
    ],
)
def test_vectors_that_are_none_are_refused_by_line(vocabulary, tmp_path, content, what):
    with pytest.raises(ValueError, match=what):
        read_vectors(written(tmp_path, content), vocabulary)


def test_a_cut_gzip_file_and_one_that_is_not_there_are_refused(vocabulary, tmp_path):
    whole = gzip.compress(b"cat 1 2\n" * 100)
    with pytest.raises(ValueError, match="not a whole gzip file"):
        read_vectors(written(tmp_path, whole[:30], "v.gz"), vocabulary)
    with pytest.raises(FileNotFoundError, match="not a file of word vectors"):
        read_vectors(tmp_path / "nothing", vocabulary)


def test_words_of_the_same_texts_begin_near_each_other():
    texts = ["red green"] * 10 + ["north south"] * 10
    vocabulary = Vocabulary.learned_from(texts, 10, 5)
    vectors = co_occurring_vectors(vocabulary.numbered(texts), vocabulary, 3, seed=0)
    number = {word: i + 2 for i, word in enumerate(vocabulary.names)}
    red, green, north = (vectors[number[word], :2] for word in ("red", "green", "north"))
    assert np.linalg.norm(red - green) < 0.1 * np.linalg.norm(red - north)
