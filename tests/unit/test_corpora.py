"""Texts with labels from every kind of file: what is read back, columns, labels and Annif."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from polyseme.text import Record, open_corpus, read_vocabulary
from polyseme.text.corpora import is_corpus
from polyseme.text.corpora.records import guess_separator, name_with_comma, split_labels
from tests.examples import examples
from tests.small_files import write

quick = examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
character = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")
cell = st.text(character, max_size=12)
label = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
documents = st.lists(
    st.tuples(cell, st.lists(label, unique=True, max_size=4)), min_size=1, max_size=6
)


def expected(rows):
    return [Record(text, tuple(labels)) for text, labels in rows]


# Round trips


@quick
@given(documents, st.sampled_from([",", ";", "\t"]), st.booleans())
def test_what_is_written_as_csv_is_read_back(tmp_path, rows, delimiter, zipped):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["id", "text", "labels"])
    for i, (text, labels) in enumerate(rows):
        writer.writerow([i, text, "|".join(labels)])
    content = buffer.getvalue().encode()
    path = write(tmp_path / "a.csv", gzip.compress(content) if zipped else content)
    named = [record._replace(id=str(i)) for i, record in enumerate(expected(rows))]
    assert list(open_corpus(path, label_separator="|")) == named


@quick
@given(documents, st.booleans())
def test_what_is_written_as_json_lines_is_read_back(tmp_path, rows, ascii_only):
    lines = [
        json.dumps({"text": text, "labels": labels}, ensure_ascii=ascii_only)
        for text, labels in rows
    ]
    corpus = open_corpus(write(tmp_path / "a.jsonl", "\n".join(lines)))
    assert list(corpus) == expected(rows)
    assert list(corpus) == expected(rows)  # and once more


@quick
@given(documents)
def test_what_is_written_as_parquet_is_read_back(tmp_path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    schema = pyarrow.schema(
        [("text", pyarrow.string()), ("labels", pyarrow.list_(pyarrow.string()))]
    )
    table = pyarrow.Table.from_pylist([{"text": t, "labels": ls} for t, ls in rows], schema=schema)
    parquet.write_table(table, tmp_path / "a.parquet")
    assert list(open_corpus(tmp_path / "a.parquet")) == expected(rows)


line = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)


@quick
@given(st.lists(st.tuples(line, st.lists(label, unique=True, min_size=1, max_size=3)), min_size=1))
def test_what_is_written_as_annif_tsv_is_read_back(tmp_path, rows):
    content = "".join(
        f"{text}\t{' '.join(f'<http://x/{name}>' for name in labels)}\n" for text, labels in rows
    )
    found = list(open_corpus(write(tmp_path / "a.tsv", content)))
    assert found == [Record(t, tuple(f"http://x/{name}" for name in ls)) for t, ls in rows]


@quick
@given(st.lists(st.tuples(line, st.lists(label, unique=True, max_size=3)), min_size=1))
def test_what_is_written_as_plain_lines_is_read_back(tmp_path, rows):
    texts = write(tmp_path / "text.txt", "".join(f"{text}\n" for text, _ in rows))
    labels = write(tmp_path / "labels.txt", "".join(";".join(row) + "\n" for _, row in rows))
    assert list(open_corpus(tmp_path, label_separator=";")) == expected(rows)
    assert list(open_corpus(texts, labels_file=labels, label_separator=";")) == expected(rows)


# Columns and labels


@pytest.mark.parametrize(
    ("header", "text_columns", "labels_column"),
    [
        ("text,labels", ["text"], "labels"),
        ("Tags,Text", ["Text"], "Tags"),
        ("title,body,keywords", ["title", "body"], "keywords"),
        ("body,id,title,category", ["title", "body"], "category"),
        ("title,text,subject_uris", ["text"], "subject_uris"),
        ("text,Schlagwörter", ["text"], "Schlagwörter"),
    ],
)
def test_columns_are_found_by_name(tmp_path, header, text_columns, labels_column):
    path = write(tmp_path / "a.csv", f"{header}\n" + ",".join("x" for _ in header.split(",")))
    reading = open_corpus(path).reading
    assert reading["text_columns"] == text_columns
    assert reading["labels_column"] == labels_column


@pytest.mark.parametrize(
    ("name", "content", "given", "ids"),
    [
        ("a.csv", "ID,text,labels\n7,x,p\n,y,q\n", {}, ["7", None]),
        ("a.csv", "doc_id,text,labels\n7,x,p\n", {}, ["7"]),
        ("a.csv", "isbn,id,text,labels\n9,7,x,p\n", {"id_column": "isbn"}, ["9"]),
        ("a.csv", "isbn,text,labels\n9,x,p\n", {"like": {"id_column": "isbn"}}, ["9"]),
        ("a.csv", "isbn,text,labels\n9,x,p\n", {}, [None]),
        ("a.csv", "DOI,text,labels\n9,x,p\n", {}, ["9"]),
        ("a.csv", "author_id,text,article_id,labels\n7,x,9,p\n", {}, ["9"]),
        ("a.csv", "author_id,text,labels\n9,x,p\n", {}, [None]),
        ("a.jsonl", '{"id": 7, "text": "x", "labels": []}\n{"text": "y"}\n', {}, ["7", None]),
    ],
)
def test_documents_keep_the_ids_that_they_have_in_their_file(tmp_path, name, content, given, ids):
    corpus = open_corpus(write(tmp_path / name, content), **given)
    assert [record.id for record in corpus] == ids


def test_columns_are_not_named_where_there_are_none(annif_folder):
    with pytest.raises(ValueError, match="has no columns, but one was named"):
        open_corpus(annif_folder, id_column="id")


def test_rows_are_counted_without_blank_lines(tmp_path):
    path = write(tmp_path / "a.csv", "text,labels\n\na,x\n\nb,y,z\n")
    with pytest.raises(ValueError, match=r"row 1 \(line 5\)"):
        list(open_corpus(path))


@pytest.mark.parametrize("depth", [2, 5_000, 200_000])
def test_lists_in_lists_are_no_labels_however_deep_they_are(depth):
    with pytest.raises(ValueError, match=r"^a label is a list; labels are texts"):
        split_labels("[" * depth + "]" * depth, None)


def test_several_text_columns_are_joined_in_the_order_given(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,c\none,two,x\n,three,y\n")
    corpus = open_corpus(path, text_columns=["b", "a"], labels_column="c")
    assert list(corpus) == [Record("two\none", ("x",)), Record("three", ("y",))]
    assert "'b', 'a'" in corpus.description


def test_another_corpus_is_read_like_the_first_where_it_has_the_columns(tmp_path):
    first = open_corpus(
        write(tmp_path / "a.csv", "a,b\nx,p/q\n"),
        text_columns=["a"],
        labels_column="b",
        label_separator="/",
    )
    like = first.reading
    assert list(open_corpus(write(tmp_path / "b.csv", "b,a\np/q,x\n"), like=like)) == list(first)
    other = open_corpus(write(tmp_path / "c.csv", "n,text\n1,x\n"), like=like, need_labels=False)
    assert list(other) == [Record("x", ())]


@pytest.mark.parametrize(
    ("files", "opened"),
    [
        ({"a.jsonl": '{"text": "a b", "labels": ["x", null, ""]}\n'}, "a.jsonl"),
        ({"a.jsonl": '{"text": "a b", "labels": [["x"]]}\n'}, "a.jsonl"),
        ({"a.jsonl": '{"text": "a b", "cats": {"x": "yes"}}\n'}, "a.jsonl"),
        ({"a.tsv": "a b\thttp://x\n"}, "a.tsv"),
        ({"text.txt": "a b\n", "labels.txt": '[["x"]]\ny\n'}, "."),
        ({"a.txt": "a b", "a.tsv": "no URI\n"}, "."),
    ],
)
def test_labels_that_are_not_needed_do_no_harm(tmp_path, files, opened):
    for name, content in files.items():
        write(tmp_path / name, content)
    corpus = open_corpus(tmp_path / opened, need_labels=False)
    assert [(record.text, record.labels) for record in corpus] == [("a b", ())]


def test_a_column_cannot_hold_both_text_and_labels(tmp_path):
    path = write(tmp_path / "a.csv", "labels,b\nx,y\n")
    with pytest.raises(ValueError, match="'labels' cannot hold both text and labels"):
        open_corpus(path, text_columns=["labels"], labels_column="labels")
    like = {"labels_column": "labels"}
    with pytest.raises(ValueError, match="no column for the labels"):
        open_corpus(path, text_columns=["labels"], like=like)


def test_a_corpus_whose_labels_are_split_otherwise_than_those_of_the_first_is_refused(tmp_path):
    first = open_corpus(write(tmp_path / "a.csv", "text,labels\nx,p|q\n"))
    other = write(tmp_path / "b.csv", "text,labels\ny,p; q\n")
    with pytest.raises(ValueError, match="seem to be split at ';'"):
        open_corpus(other, like=first.reading)
    chosen = open_corpus(other, like=first.reading, label_separator=";")
    assert list(chosen) == [Record("y", ("p", "q"))]
    mixed = write(tmp_path / "c.csv", "text,labels\ny,p; q|r\nz,p; q\n")
    assert next(iter(open_corpus(mixed, like=first.reading))) == Record("y", ("p; q", "r"))


def test_after_lists_of_labels_another_corpus_has_the_separator_that_it_shows(tmp_path):
    first = open_corpus(write(tmp_path / "a.jsonl", '{"text": "x", "labels": ["p", "q"]}\n'))
    other = open_corpus(write(tmp_path / "b.csv", "text,labels\ny,p|q\n"), like=first.reading)
    assert list(other) == [Record("y", ("p", "q"))]


@pytest.mark.parametrize(
    ("value", "separator", "labels"),
    [
        ("a; b ;a;", ";", ("a", "b")),
        ('["a", "b c"]', ";", ("a", "b c")),
        ("['a', \"it's\"]", None, ("a", "it's")),
        ("['a\\'b, c', \"d\"]", ";", ("a'b, c", "d")),
        ("[not a list", None, ("[not a list",)),
        ("<http://x/1>  <http://x/2>", " ", ("http://x/1", "http://x/2")),
        (
            ["<urn:x:1>", "<html>", "html", "<i>E. coli</i>"],
            None,
            ("urn:x:1", "<html>", "html", "<i>E. coli</i>"),
        ),
        (["a", 3, {"uri": "u", "label": "l"}, {"label": "l"}], None, ("a", "3", "u", "l")),
        (None, ";", ()),
        ("  ", ";", ()),
        (7, None, ("7",)),
    ],
)
def test_labels_of_a_cell(value, separator, labels):
    assert split_labels(value, separator) == labels


@pytest.mark.parametrize(
    ("values", "separator"),
    [
        (["a;b", "c"], ";"),
        (["a|b, c", "c"], "|"),
        (["a, b", "c"], ","),
        (["machine learning", "art"], None),
        (["http://x/1 http://x/2", "<http://x/3>"], " "),
        (['["a","b"]', ""], None),
        (["Smith, John; Doe, Jane"], ";"),
        ([], None),
    ],
)
def test_what_stands_between_labels_is_guessed(values, separator):
    assert guess_separator(values) == separator


@pytest.mark.parametrize(
    ("cells", "doubted"),
    [
        (["Bach, Johann Sebastian", "Mozart, Wolfgang", "Anonymous"], "Bach, Johann Sebastian"),
        (["van Gogh, Vincent", "Manet, Édouard", "Monet, Claude", "Arp, Hans"], "Manet, Édouard"),
        (
            ["Bach, Johann Sebastian, 1685-1750", "Mozart, Leopold"],
            "Bach, Johann Sebastian, 1685-1750",
        ),
        (["Apple, Pear", "Pear, Plum"], None),  # what follows a comma begins another cell
        (["Apple, Pear", "Pear"], None),
        (["Apple, Pear, Plum"], None),
        (["apple, pear"], None),
        (["Apple,Pear"], None),
        (["Apple"], None),
    ],
)
def test_commas_of_names_are_told_from_commas_between_labels(cells, doubted):
    assert name_with_comma(cells) == doubted


def test_a_label_in_a_list_that_is_no_name_is_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "a", "labels": [1.5]}')
    with pytest.raises(ValueError, match=r"a.jsonl, row 0 \(line 1\): a label is 1.5"):
        list(open_corpus(path))


# Annif


@pytest.fixture
def annif_folder(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    write(folder / "1.txt", "first\ntext")
    write(folder / "1.tsv", "<http://x/cat>\tcats\n<http://x/dog>\tdogs\n")
    write(folder / "2.txt", "second")
    write(folder / "2.key", "cats\nunknown\n")
    write(folder / "3.txt", "without")
    return folder


def test_a_folder_of_annif_with_a_vocabulary(annif_folder, tmp_path):
    vocabulary = read_vocabulary(write(tmp_path / "v.tsv", "<http://x/cat>\tcats\tC1\n"))
    corpus = open_corpus(annif_folder, vocabulary=vocabulary)
    assert is_corpus(annif_folder)
    assert list(corpus) == [
        Record("first\ntext", ("http://x/cat", "http://x/dog"), "1"),
        Record("second", ("http://x/cat", "unknown"), "2"),
        Record("without", (), "3"),
    ]
    assert corpus.label_names == {"http://x/cat": "cats", "http://x/dog": "dogs"}


def test_a_folder_of_keys_alone_has_names_and_no_uris(annif_folder):
    (annif_folder / "1.tsv").unlink()
    corpus = open_corpus(annif_folder)
    assert [record.labels for record in corpus] == [(), ("cats", "unknown"), ()]
    assert corpus.label_names is None


def test_of_two_uris_with_one_name_the_first_counts(tmp_path):
    (tmp_path / "1.txt").write_text("a text")
    (tmp_path / "1.key").write_text("cats\n")
    corpus = open_corpus(tmp_path, vocabulary={"urn:1": "cats", "urn:2": "cats"})
    assert [record.labels for record in corpus] == [("urn:1",)]


def test_vocabularies_are_tsv_or_csv(tmp_path):
    names = {"http://x/1": "one"}
    tsv = write(tmp_path / "v.tsv", "<http://x/1>\tone\n\n")
    table = write(tmp_path / "v.csv", "uri,label_en,label_fi\nhttp://x/1,one,yksi\n")
    assert read_vocabulary(tsv) == read_vocabulary(table) == names
    for name, content, sentence in (
        ("bad.tsv", "no tab\n", "line 1: a URI, a tab and a name"),
        ("bad.csv", "a,b\n1,2\n", "must have a header with the columns 'uri' and 'label'"),
        ("empty.tsv", "", "is empty"),
    ):
        with pytest.raises(ValueError, match=sentence):
            read_vocabulary(write(tmp_path / name, content))


def test_a_tsv_with_a_header_is_a_table(tmp_path):
    path = write(tmp_path / "a.tsv", "text\tlabels\nhello\tx;y\n")
    assert list(open_corpus(path)) == [Record("hello", ("x", "y"))]
