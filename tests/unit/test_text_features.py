"""TF-IDF of texts: equal to scikit-learn's, in any script, in a stream."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from polyseme import XRLinear
from polyseme.inputs.tokens import character_spans, token_spans, word_spans, words
from polyseme.text import TextFeatures
from polyseme.text.term_counts import TermCounts
from tests.examples import examples

TEXTS = ["The cat sat on the mat.", "A dog; a CAT!", "", "dogs and cats and dogs", "été à Paris"]

text = st.text(st.sampled_from("ab cé.-日本ß"), max_size=20)


# Against scikit-learn


@examples(60)
@given(st.lists(text, min_size=1, max_size=8), st.booleans(), st.sampled_from([(1, 1), (1, 2)]))
def test_features_are_those_of_scikit_learn_with_the_same_words(texts, sublinear, ngrams):
    if not any(map(words, texts)):
        texts.append("a")
    features = TextFeatures(ngrams=ngrams, sublinear=sublinear).fit(texts)
    theirs = TfidfVectorizer(
        tokenizer=words,
        token_pattern=None,
        lowercase=False,
        ngram_range=ngrams,
        sublinear_tf=sublinear,
    )
    expected = theirs.fit_transform(texts).toarray()
    assert list(features.vocabulary_) == list(theirs.get_feature_names_out())
    np.testing.assert_allclose(features.transform(texts).toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(features.transform(texts[:1]).toarray(), expected[:1], atol=1e-6)


def test_characters_are_those_of_scikit_learn_within_words():
    features = TextFeatures(analyzer="char").fit(TEXTS)
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    expected = theirs.fit_transform(TEXTS)
    assert list(features.vocabulary_) == list(theirs.get_feature_names_out())
    np.testing.assert_allclose(features.transform(TEXTS).toarray(), expected.toarray(), atol=1e-6)


def test_hashed_features_have_no_names_but_the_same_similarities():
    plain = TextFeatures().fit(TEXTS).transform(TEXTS)
    hashing = TextFeatures(hashing=True, n_buckets=2**16).fit(TEXTS)
    hashed = hashing.transform(TEXTS)
    assert hashing.vocabulary_ is None
    assert hashed.shape == (5, 2**16)
    np.testing.assert_allclose(
        (hashed @ hashed.T).toarray(), (plain @ plain.T).toarray(), atol=1e-5
    )


def test_rows_are_canonical_and_of_unit_length_and_an_unknown_text_is_an_empty_row():
    features = TextFeatures().fit(TEXTS)
    X = features.transform([*TEXTS, "zzz"])
    assert X.has_sorted_indices
    assert X.dtype == np.float32
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(lengths[[0, 1, 3, 4]], 1, rtol=1e-6)
    assert X[[2, 5]].nnz == 0
    assert features.transform([]).shape == (0, features.n_features_)


# Words of the world


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am 3 years", ["i", "am", "3", "years"]),
        ("Über ÉTÉ E\u0301te\u0301", ["über", "été", "été"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("العَرَبِيَّة لغة", ["العَرَبِيَّة", "لغة"]),
        ("日本語 text", ["日", "本", "語", "text"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("ﬁnd Ｆｕｌｌ", ["find", "full"]),
        ("snake_case, don't", ["snake_case", "don", "t"]),
    ],
)
def test_words_are_found_in_any_script(text, expected):
    assert words(text) == expected


@examples(60)
@given(text)
def test_spans_lie_where_the_words_of_the_analyzer_are(given_text):
    found = [term for term, _, _ in word_spans(given_text, 1, 2)]
    assert sorted(found) == sorted(TextFeatures().make_analyzer()(given_text))
    for term, start, end in word_spans(given_text, 1, 1):
        assert words(given_text[start:end]) == [term]


@examples(60)
@given(text)
def test_spans_of_characters_are_those_of_the_analyzer(given_text):
    analyze = TextFeatures(analyzer="char").make_analyzer()
    found = list(character_spans(given_text, 3, 5))
    assert sorted(term for term, _, _ in found) == sorted(analyze(given_text))
    assert all(0 <= start <= end <= len(given_text) for _, start, end in found)


@examples(60)
@given(text)
def test_tokens_are_what_stands_between_spaces_and_spans_say_where(given_text):
    features = TextFeatures(analyzer="token")
    found = [term for term, _, _ in token_spans(given_text, 1, 2)]
    assert sorted(found) == sorted(features.make_analyzer()(given_text))
    single = list(token_spans(given_text, 1, 1))
    assert [given_text[start:end] for _, start, end in single] == given_text.split()


def test_spans_name_the_columns_of_features():
    features = TextFeatures().fit(TEXTS)
    spans = features.spans("My CAT sat")
    terms = {(str(features.vocabulary_[column]), start, end) for column, start, end in spans}
    assert terms == {("cat", 3, 6), ("sat", 7, 10), ("cat sat", 3, 10)}
    assert TextFeatures(hashing=True).fit(TEXTS).spans("cat") == []


# What is kept


def test_rare_words_are_left_out_when_there_are_many_texts():
    texts = [f"common word{i}" for i in range(1000)]
    assert list(TextFeatures(ngrams=(1, 1)).fit(texts).vocabulary_) == ["common"]
    assert TextFeatures(ngrams=(1, 1)).fit(texts[:999]).n_features_ == 1000


def test_the_most_frequent_are_kept_and_ties_go_by_the_alphabet():
    features = TextFeatures(ngrams=(1, 1), max_features=2).fit(["b a", "b c", "b", "d"])
    assert list(features.vocabulary_) == ["a", "b"]


def test_counting_forgets_the_rarest_when_there_are_too_many():
    counts = TermCounts(TextFeatures(ngrams=(1, 1), max_features=10))
    counts._most = 40
    for i in range(300):
        counts.add(f"often other{i % 3} once{i}")
        assert len(counts._counts) <= 43
    names, frequencies = counts.most_frequent()
    assert "often" in names
    assert frequencies[list(names).index("often")] == 300


def test_texts_are_never_all_in_memory():
    def texts():
        for i in range(400):
            yield f"word{i % 50} " + "." * 40_000  # 16 MB in all

    tracemalloc.start()
    TextFeatures().fit(texts())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


# Mistakes


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"analyzer": "letters"}, "analyzer must be one of 'word', 'char', 'token'"),
        ({"analyzer": []}, "analyzer must be one of 'word', 'char', 'token', not \\[\\]"),
        ({"ngrams": (2, 1)}, "ngrams must be"),
        ({"ngrams": 2}, "ngrams must be"),
        ({"max_features": 0}, "max_features must be a whole number"),
        ({"min_documents": 1.5}, "min_documents must be None or a whole number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextFeatures(**parameters).fit(TEXTS)


def test_texts_that_are_none_are_refused():
    with pytest.raises(ValueError, match="a text must be a str, not int"):
        TextFeatures().fit([3])
    with pytest.raises(ValueError, match="a text must be a str, not NoneType"):
        TextFeatures().fit(TEXTS).transform([None])
    with pytest.raises(ValueError, match="there are no texts"):
        TextFeatures().fit([])
    with pytest.raises(ValueError, match="no word is in 1 or more of the 2 texts"):
        TextFeatures().fit(["...", ""])


def test_features_are_a_step_of_a_pipeline():
    pipeline = make_pipeline(TextFeatures(), XRLinear(verbose=0))
    texts, labels = ["a cat", "a dog", "cats", "the dog"], ["c", "d", "c", "d"]
    assert pipeline.fit(texts, labels).score(["cat", "dog"], ["c", "d"]) == 1


def test_features_can_be_cloned_and_fitted_again():
    features = TextFeatures(analyzer="char", ngrams=(2, 3)).fit(TEXTS)
    assert clone(features).get_params() == features.get_params()
    before = features.transform(TEXTS).shape
    assert features.fit(TEXTS[:2]).transform(TEXTS).shape[1] < before[1]


def test_columns_have_names_as_in_scikit_learn():
    features = TextFeatures().fit(TEXTS)
    assert features.get_feature_names_out().tolist() == list(features.vocabulary_)
    hashed = TextFeatures(hashing=True, n_buckets=8).fit(TEXTS)
    assert hashed.get_feature_names_out().tolist() == [str(i) for i in range(8)]
