"""Files of texts: which format and encoding they have, and bad ones, which are refused."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
import zipfile
from zipfile import ZipFile

import pytest

from polyseme.text import Record, open_corpus
from polyseme.text.corpora import guess_format, is_corpus
from tests.small_files import write

# Which paths are texts


@pytest.mark.parametrize(
    ("name", "is_text"),
    [("a.csv", 1), ("a.TSV.gz", 1), ("a.jsonl", 1), ("a.parquet", 1), ("a.txt", 0), ("a.npz", 0)],
)
def test_files_of_texts_are_known_by_their_name(tmp_path, name, is_text):
    assert is_corpus(tmp_path / name) == bool(is_text)


def test_a_data_folder_of_matrices_is_not_one_of_texts(tmp_path):
    for name in ("X.trn.npz", "labels.txt", "X.trn.txt", "train.txt", "text.txt"):
        write(tmp_path / name, "x")
    assert not is_corpus(tmp_path)


# Formats that no ending tells


def test_lines_of_fasttext_have_their_labels_among_the_words(tmp_path):
    path = write(tmp_path / "train.txt", "__label__cat __label__pet A black  cat.\n\nno label\n")
    assert is_corpus(path)
    assert list(open_corpus(path)) == [
        Record("A black cat.", ("cat", "pet")),
        Record("no label", ()),
    ]
    assert not is_corpus(write(tmp_path / "other.txt", "no label\n"))
    with pytest.raises(ValueError, match="is empty"):
        list(open_corpus(write(tmp_path / "empty.txt", "\n"), format="fasttext"))


def test_cats_of_spacy_count_from_a_half_on(tmp_path):
    cats = {"CAT": 1.0, "DOG": 0.0, "PET": 0.5, "OLD": False, "BLACK": True}
    expected = [Record("A cat.", ("CAT", "PET", "BLACK"))]
    for line in ({"text": "A cat.", "cats": cats}, ["A cat.", {"cats": cats}]):
        path = write(tmp_path / "a.jsonl", json.dumps(line))
        assert list(open_corpus(path)) == expected
    path = write(tmp_path / "a.jsonl", '{"text": "A cat.", "cats": {"CAT": "yes"}}')
    with pytest.raises(ValueError, match=r"row 0 \(line 1\): the label 'CAT' has 'yes'"):
        list(open_corpus(path))


def test_the_first_sheet_of_an_excel_file_is_a_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Books"
    for row in (("id", "text", "labels"), (7, "a cat", "x; y"), (), (8.0, 1999, None)):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    corpus = open_corpus(tmp_path / "a.xlsx")
    assert "Excel, sheet 'Books'" in corpus.description
    assert repr(corpus) == f"<Table of a.xlsx: {corpus.description}>"
    assert list(corpus) == [Record("a cat", ("x", "y"), "7"), Record("1999", (), "8")]
    sheet.cell(1, 3, "text")
    book.create_sheet("Notes")
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(ValueError, match="two columns named 'text'"):
        open_corpus(tmp_path / "b.xlsx")
    sheet.cell(1, 3, "labels")
    book.save(tmp_path / "b.xlsx")
    assert "sheet 'Books' (the first of 2)" in open_corpus(tmp_path / "b.xlsx").description
    with pytest.raises(ValueError, match="not a readable Excel file"):
        open_corpus(write(tmp_path / "c.xlsx", b"PK\3\4"))


def test_sheets_with_the_columns_of_the_first_go_on_with_its_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for title, name in (("Notes", "about"), ("More", "text"), ("Empty", None)):
        sheet = book.create_sheet(title)
        for row in ((name, name and "labels"), ("a dog", "y"), ("a bat", 3.5)):
            sheet.append(row)
    for row in (("text", "labels"), ("a cat", "x")):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    corpus = open_corpus(tmp_path / "a.xlsx")
    assert "Excel, 2 sheets with the same columns" in corpus.description
    found = iter(corpus)
    assert [next(found), next(found)] == [Record("a cat", ("x",)), Record("a dog", ("y",))]
    with pytest.raises(ValueError, match=r"row 2 \(line 3, sheet 'More'\): a label is 3.5"):
        next(found)


def test_an_excel_file_that_breaks_off_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("text", "labels"), *[("a cat", "x")] * 99]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx") as whole,
        zipfile.ZipFile(tmp_path / "b.xlsx", "w") as cut,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            cut.writestr(name, content[: len(content) // 2] if "sheet1" in name else content)
    with pytest.raises(ValueError, match="not a readable Excel file"):
        list(open_corpus(tmp_path / "b.xlsx"))


def test_missing_openpyxl_is_said_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[excel\]'.* or save its table as CSV"):
        open_corpus(write(tmp_path / "a.xlsx", b"PK\3\4"))


def test_a_format_that_is_given_wins_over_the_ending(tmp_path):
    path = write(tmp_path / "a.data", "text,labels\na,x\n")
    with pytest.raises(ValueError, match="not a file of texts"):
        open_corpus(path)
    assert list(open_corpus(path, format="csv")) == [Record("a", ("x",))]
    book = write(tmp_path / "b.data", "PK")
    with pytest.raises(ValueError, match="not a readable Excel file"):
        open_corpus(book, format="xlsx")
    with pytest.raises(ValueError, match="the format 'word' is not one of texts with labels"):
        open_corpus(path, format="word")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8", "utf-8-sig", "UTF-32"])
@pytest.mark.parametrize("zipped", [True, False])
def test_text_in_another_encoding_is_read_if_that_is_named(tmp_path, encoding, zipped):
    content = "text,labels\nein B\u00e4r,\u00e4\n".encode(encoding)
    path = write(tmp_path / "a.csv", gzip.compress(content) if zipped else content)
    assert list(open_corpus(path, encoding=encoding)) == [Record("ein B\u00e4r", ("\u00e4",))]


def test_a_wrong_encoding_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", b"text,labels\nb\xe4r,x\n")
    for encoding, sentence in {
        "ascii": "near line 1: not ascii",
        "klingon": "the encoding 'klingon' is not known",
        "utf-16": "give another --encoding",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            list(open_corpus(path, encoding=encoding))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"text": "a"}\n', "jsonl"),
        ('\n  {"text": "a", "labels": []}\n{}', "jsonl"),
        ('["a", {"cats": {}}]', "jsonl"),
        ('[{"text": "a"}]', "jsonl"),
        ('[\n {\n  "text": "a"\n }\n]', "jsonl"),
        ('[\n ["a", {"cats": {}}]\n]', "jsonl"),
        ("[\n[2] Another footnote.", None),
        ("[1] A footnote.\nMore.", None),
        ("{not JSON}\nMore.", None),
        ("__label__x a\n", "fasttext"),
        ("id,text,labels\n1,a,x\n", "csv"),
        ("id;Title;tags\n1;a;x\n", "csv"),
        ("id\ttext\n1\ta\n", "tsv"),
        ("id,words\n1,a\n", None),
        ("Dear reader, this text is one.\nIt goes on.\n", None),
        ("text\nof one column\n", None),
        ("Title, abstract and body of a paper\nquantum theory, optics\n", None),
        ("optics, text, lasers\nThe light of lasers.\n", None),
        ("text,optics\nThe light of lasers.\n", None),
        ("year,a long name for this column,text\n1,a,b\n", None),
        ("id,a long name for this column,text\n1,a,b\n", "csv"),
        ("id, text, labels\n1, a, b\n", "csv"),
        ("id,text\n1,a, b\n", "csv"),  # refused, with a sentence, when its rows are read
        ('text,year\n"' + 30 * "a line\n" + '",1999\n', "csv"),
        ("id,text,labels\n1," + 150_000 * "a" + ",x\n", "csv"),
        (150_000 * "a" + ",text\nMore.\n", None),
        ("id,text\n", None),
        (b"PK\3\4...", "excel"),
        (b"PAR1...", "parquet"),
        ("", None),
    ],
)
def test_the_format_is_guessed_from_the_first_lines(tmp_path, content, found):
    assert guess_format(write(tmp_path / "stdin", content)) == found


def test_columns_that_a_model_knows_make_a_table(tmp_path):
    path = write(tmp_path / "stdin", "id,words\n1,a\n")
    assert guess_format(path, like={"text_columns": ["words"]}) == "csv"


# Bad files


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"PK\3\4\xad\n", "is a ZIP archive, as Excel"), (b"%PDF-1.4\n\xad", "is a PDF; save its")],
)
def test_a_binary_file_is_called_what_it_is(tmp_path, content, sentence):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        open_corpus(tmp_path / "a.csv")


def test_a_letter_of_word_is_no_excel_file(tmp_path):
    with ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>")
    with pytest.raises(ValueError, match="is a ZIP archive, as Excel and Word files are"):
        guess_format(tmp_path / "a.docx")


BAD = {
    "no text.csv": ("a,labels\n1,x\n", "no column for the text; its columns are 'a', 'labels'"),
    "no labels.csv": ("text,b\n1,x\n", "no column for the labels; its columns are 'text', 'b'"),
    "empty.csv": ("", "is empty; its first line must name the columns"),
    "only header.csv": ("text,labels\n", "has no rows"),
    "open quote.csv": ('text,labels\na,x\n"b,y\nc,z\n', r"row 1 \(line 3\): a quote is opened"),
    "inner quote.csv": (
        'text,labels\n"b" c,y\n',
        r"row 0 \(line 2\): something follows a closing quote",
    ),
    "cells.csv": ("text,labels\na,x\nb,y,z\n", r"row 1 \(line 3\): has 3 cells, .*; quote cells"),
    "long cells.csv": ('text,labels\n"a\nb",x\nb\n', r"\(line 4\): has 1 cell, .*; add those"),
    "twice.csv": ("text,text,labels\na,b,c\n", "two columns named 'text'"),
    "mac.csv": ("text,labels\ra,x\r", "line 1: lines that end in a carriage return alone"),
    "latin.csv": (b"text,labels\na,x\nb\xe4r,y\n", "line 3: not UTF-8 .byte 0xe4"),
    "wide.csv": (
        "text,labels\n".encode("utf-16"),
        "is UTF-16; save it as UTF-8, or give --enc",
    ),
    "nul.csv": (b"text,labels\na\0b,x\n", "line 2: holds a NUL byte"),
    "cut.csv.gz": (gzip.compress(b"text,labels\n" + b"a,x\n" * 99)[:-9], "gzip file is damaged"),
    "empty.jsonl": ("\n", "is empty; give one JSON object per line"),
    "broken.jsonl": ('{"text": "a", "labels": []}\n{"text": \n', r"row 1 \(line 2\): not JSON"),
    "pretty.json": ('{\n "text": "a"}', r"row 0 \(line 1\): not JSON .* one object per line"),
    "cut.jsonl": ('{"a":', r"not JSON .*; it is cut off, get the file again"),
    "empty.json": ("[ ]", "is empty; give one JSON object in the list"),
    "numbers.json": ('[{"text": "a", "labels": []}, 7]', "row 1: a JSON int; write one object"),
    "cut.json": ('[{"text": "a", "labels": []}, {"text": "b"', r"row 1: not JSON \("),
    "uncomma.json": ('[{"text": "a", "labels": []} {"text": "b"}]', "',' is missing after row 0"),
    "unended.json": ('[{"text": "a", "labels": []}', "is cut off after row 0; get the file again"),
    "more.json": ('[{"text": "a", "labels": []}] []', "more behind the list of 1 row"),
    "deep.json": ("[" + "[" * 100_000, "row 0: not JSON"),
    "latin.json": (b'[{"text": "\xe9", "labels": []}]', "not UTF-8 .* --encoding"),
    "nul.json": (b'[{"text": "\0", "labels": []}]', "holds a NUL"),
    "cut.json.gz": (gzip.compress(b'[{"text": "a"}]' * 99)[:-9], "gzip file is damaged"),
    "number.jsonl": ('{"text": {"x": 1}, "labels": []}', r"row 0 \(line 1\): its text is a dict"),
    "half.jsonl": (
        '{"text": "\\ud800", "labels": []}',
        r"row 0 \(line 1\): holds half of a surrogate",
    ),
    "nul.jsonl": (b'{"text": "\0", "labels": []}', "line 1: holds a NUL byte"),
    "empty.tsv": ("", "is empty"),
    "tabs.tsv": (
        "a\t<http://x/1>\nb\t<http://x/1>\t3\n",
        r"row 1 \(line 2\): has more than one tab",
    ),
    "a.parquet": ("not parquet", "is not a readable Parquet file"),
    "a.docx": ("x", "is not a file of texts with labels that is known"),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("piece", [1, 5, 1 << 16])
def test_a_json_list_is_read_as_json_lines_are(tmp_path, monkeypatch, indent, piece):
    items = [
        {"id": i, "text": f'Käse [{i}], "{i}" {{', "labels": ["é", "b"][: i % 3]} for i in range(9)
    ]
    items.append(["A cat.", {"cats": {"CAT": 1}}])
    lines = write(tmp_path / "lines.jsonl", "\n".join(map(json.dumps, items[:-1])))
    monkeypatch.setattr("polyseme.text.corpora.lines.PIECE", piece)
    whole = json.dumps(items[:-1], indent=indent, ensure_ascii=False) + "\n"
    for content, encoding in (
        (whole, None),
        ("\ufeff" + whole, None),
        (gzip.compress(whole.encode()), None),
        (whole.encode("utf-16"), "utf-16"),
    ):
        corpus = open_corpus(write(tmp_path / "list.json", content), encoding=encoding)
        assert "JSON list" in corpus.description
        assert list(corpus) == list(corpus)  # it starts again
        assert [one.text for one in corpus] == [one.text for one in open_corpus(lines)]
        assert [one.labels for one in corpus] == [one.labels for one in open_corpus(lines)]
    (cat,) = open_corpus(write(tmp_path / "spacy.json", json.dumps(items[-1:], indent=indent)))
    assert (cat.text, list(cat.labels)) == ("A cat.", ["CAT"])


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_one_sentence(tmp_path, name):
    content, sentence = BAD[name]
    path = write(tmp_path / name, content)
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=sentence) as raised:
        list(open_corpus(path))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write(tmp_path / "text.txt", "a\nb\n")
    write(tmp_path / "labels.txt", "x\n")
    with pytest.raises(ValueError, match=r"labels.txt has 1 line and .*text.txt has more"):
        list(open_corpus(tmp_path))


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing.csv does not exist"):
        open_corpus(tmp_path / "nothing.csv")
    path = write(tmp_path / "a.csv", "text,labels\na,b\n")
    with pytest.raises(ValueError, match=r"no column 'txt' .*did you mean 'text'"):
        open_corpus(path, text_columns=["txt"])
    with pytest.raises(ValueError, match=r"no column 'zzz' .*its columns are"):
        open_corpus(path, labels_column="zzz")


def test_missing_pyarrow_is_said_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[parquet\]'"):
        open_corpus(write(tmp_path / "a.parquet", "x"))


# Memory


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_large_file_is_read_one_document_at_a_time(tmp_path, name):
    line = (
        f"{'word ' * 2000},x\n"
        if name == "a.csv"
        else json.dumps({"text": "word " * 2000, "labels": ["x"]}) + "\n"
    )
    with open(tmp_path / name, "w") as file:
        if name == "a.csv":
            file.write("text,labels\n")
        for _ in range(1500):
            file.write(line)  # 15 MB in all
    tracemalloc.start()
    assert sum(1 for _ in open_corpus(tmp_path / name)) == 1500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_a_file_without_line_ends_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("polyseme.text.corpora.lines.LONGEST_LINE", 1000)
    with pytest.raises(ValueError, match=r"line 1: longer than"):
        open_corpus(write(tmp_path / "a.jsonl", "x" * 5000))


def test_a_number_that_python_does_not_read_is_called_huge(tmp_path):
    path = tmp_path / "huge.jsonl"
    path.write_text('{"text": "a", "labels": [' + "9" * 5000 + "]}")
    with pytest.raises(ValueError, match=r"row 0 \(line 1\): not JSON \(a huge number\)"):
        list(open_corpus(path))
