"""The text format of the Extreme Classification Repository, plain or gzipped."""

from __future__ import annotations

import contextlib
import gzip
import mmap
import os
import zlib
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.files.whole_files import written_beside
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import are_mostly_absent, check_labels
from polyseme.inputs.sparse_rows import MAX_COLUMNS, SparsePattern, SparseRows
from polyseme.machine.threads import count_threads

__all__ = ["read_xmc_text", "write_xmc_text"]

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WINDOW = zlib.MAX_WBITS | 16
ZIPPED_BLOCK = 1 << 20
UNZIPPED_BLOCK = 16 << 20
ROWS_PER_WRITE = 10_000


class Header(NamedTuple):
    """The first line of a file."""

    n_documents: int
    n_features: int
    n_labels: int


def read_xmc_text(
    path: str | os.PathLike[str], *, n_threads: int | None = None
) -> tuple[SparseRows, SparsePattern]:
    """Read features and labels from a file of the Extreme Classification Repository.

    The first line is ``n_documents n_features n_labels``; each further line is a document,
    ``label,label feature:value feature:value``, numbered from 0. A line without labels starts
    with a space. Unsorted entries are sorted, repeated ones added up, zeros dropped.

    Parameters
    ----------
    path : path
        A plain or gzipped file; which of the two is seen from its first bytes.
    n_threads : int, optional
        By default one for each processor.

    Returns
    -------
    X : SparseRows, shape (n_documents, n_features)
    Y : SparsePattern, shape (n_documents, n_labels)
    """
    path = Path(path)
    n_threads = count_threads(n_threads)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a text file, or use polyseme.datasets.load.")
    try:
        return _read(path, n_threads)
    except zlib.error as error:
        raise ValueError(
            f"{path} is a damaged gzip file ({error}); fetch or make it again."
        ) from None
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None


def write_xmc_text(path: str | os.PathLike[str], X: Any, Y: Any) -> None:
    """Write features and labels in the format that ``read_xmc_text`` reads, bit for bit.

    Parameters
    ----------
    path : path
        Gzipped if the name ends in ``.gz``. An existing file is replaced once all is written.
    X : matrix, shape (n_documents, n_features)
        As for ``fit``.
    Y : 0/1 matrix, shape (n_documents, n_labels)
        As for ``fit``, but not as names, for which the format has no place.
    """
    features = check_features(X).all_sparse()
    labels, names = check_labels(Y, features.n_rows)
    if names is not None:
        raise ValueError("Y must be a 0/1 matrix: the text format has no place for label names.")
    path = Path(path)
    with written_beside(path) as file, _compressed_if_named_so(file, path) as out:
        out.write(f"{features.n_rows} {features.n_columns} {labels.n_columns}\n".encode())
        for first in range(0, features.n_rows, ROWS_PER_WRITE):
            last = min(first + ROWS_PER_WRITE, features.n_rows)
            out.write(_native.format_text(features.rows(first, last), labels.rows(first, last)))


def _read(path: Path, n_threads: int) -> tuple[SparseRows, SparsePattern]:
    parts = []
    n_lines = 1
    with contextlib.closing(_blocks_of_lines(path)) as blocks:
        header, first_block = _split_header(next(blocks, memoryview(b"")))
        for block in chain([first_block], blocks):
            part = _native.parse_text(
                np.asarray(block), header.n_features, header.n_labels, n_lines + 1, n_threads
            )
            parts.append(part)
            n_lines += len(part[0]) - 1
    feature_starts, features, values, label_starts, labels = _joined(parts)
    _refuse_mostly_absent_labels(header.n_labels, len(labels))
    X = SparseRows(feature_starts, features, values, header.n_features)
    Y = SparsePattern(label_starts, labels, header.n_labels)
    return _with_promised_rows(X, Y, header.n_documents)


def _refuse_mostly_absent_labels(n_labels: int, n_given: int) -> None:
    """Refuse a header that asks for memory without end; every label costs some."""
    if are_mostly_absent(n_labels, n_given):
        raise ValueError(
            f"line 1: the header promises {n_labels} labels, but only {n_given} are given to "
            "documents; correct the header, or renumber the labels without gaps."
        )


def _blocks_of_lines(path: Path) -> Generator[memoryview]:
    """Yield the bytes of a file, cut at line ends: a plain file whole, as a memory map."""
    with path.open("rb") as file:
        if file.peek(2)[:2] == GZIP_MAGIC:
            yield from _unzipped_blocks(file)
        elif os.fstat(file.fileno()).st_size > 0:
            yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _unzipped_blocks(file: IO[bytes]) -> Iterator[memoryview]:
    # zlib itself, in large blocks: the gzip module takes half as long again.
    unfinished = b""
    for unzipped in _made_ahead(_unzipped(file)):
        block = unfinished + unzipped
        end = block.rfind(b"\n") + 1
        unfinished = block[end:]
        if end > 0:
            yield memoryview(block)[:end]
    if unfinished:
        yield memoryview(unfinished)


def _unzipped(file: IO[bytes]) -> Iterator[bytes]:
    archive = zlib.decompressobj(GZIP_WINDOW)
    while zipped := file.read(ZIPPED_BLOCK):
        while zipped:
            if archive.eof:  # several archives may follow each other, and zeros the last
                zipped = zipped.lstrip(b"\0")
                if not zipped:
                    break
                archive = zlib.decompressobj(GZIP_WINDOW)
            yield archive.decompress(zipped, UNZIPPED_BLOCK)
            zipped = archive.unused_data if archive.eof else archive.unconsumed_tail
    yield archive.flush()
    if not archive.eof:
        raise zlib.error("it ends too early")


def _made_ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Unzip the next block while the last one is parsed."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        upcoming = worker.submit(next, blocks, None)
        while (block := upcoming.result()) is not None:
            upcoming = worker.submit(next, blocks, None)
            yield block


def _split_header(block: memoryview) -> tuple[Header, memoryview]:
    beginning = bytes(block[:200]).removeprefix(b"\xef\xbb\xbf")  # the mark of some editors
    line, newline, _ = beginning.partition(b"\n")
    fields = line.split()
    if len(fields) != 3 or not all(field.isdigit() for field in fields):
        found = (
            "nothing" if not line.strip() else repr(line[:40].decode("utf-8", "replace").strip())
        )
        raise ValueError(
            f"line 1: expected the header 'n_documents n_features n_labels', found {found}; add "
            "it as the first line; texts are for models of texts, as a CSV file, say."
        )
    header = Header(*map(int, fields))
    if max(header.n_features, header.n_labels) > MAX_COLUMNS:
        raise ValueError(f"line 1: at most {MAX_COLUMNS} features and labels are supported.")
    size = bytes(block[:200]).find(b"\n") + 1 if newline else len(block)
    return header, block[size:]


def _joined(parts: Sequence[tuple[npt.NDArray[Any], ...]]) -> list[npt.NDArray[Any]]:
    """Put the arrays of several blocks one after the other; starts go on from block to block."""
    if len(parts) == 1:
        return list(parts[0])
    joined = []
    for position, arrays in enumerate(zip(*parts, strict=True)):
        is_starts = position in (0, 3)
        if is_starts:
            sizes = np.concatenate([np.diff(starts) for starts in arrays])
            joined.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        else:
            joined.append(np.concatenate(arrays))
    return joined


def _with_promised_rows(
    X: SparseRows, Y: SparsePattern, n_promised: int
) -> tuple[SparseRows, SparsePattern]:
    n_found = X.n_rows
    if n_found < n_promised:
        raise ValueError(
            f"line {n_found + 1}: the header promises {n_promised} documents, but the file ends "
            f"after {n_found}; correct the header or complete the file."
        )
    if X.starts[n_promised] < X.n_stored or Y.starts[n_promised] < Y.n_stored:
        raise ValueError(
            f"line {n_promised + 2}: the header promises {n_promised} documents, but "
            f"{n_found} lines follow; correct the header or remove lines."
        )
    # blank lines at the end
    return X.rows(0, n_promised), Y.rows(0, n_promised)


def _compressed_if_named_so(
    file: IO[bytes], path: Path
) -> contextlib.AbstractContextManager[IO[bytes]]:
    if path.suffix != ".gz":
        return contextlib.nullcontext(file)
    # Neither name nor time inside, so that equal data give equal files.
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)  # type: ignore[return-value]
