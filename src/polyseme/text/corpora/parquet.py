"""Parquet files, by pyarrow (extra ``parquet``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polyseme.machine.extras import how_to_install
from polyseme.text.corpora.table import TableSource

__all__ = ["ParquetFile"]

ROWS_AT_ONCE = 1000


class ParquetFile(TableSource):
    """Rows of a Parquet file, a few at a time; labels may be a column of lists."""

    kind = "Parquet"

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        with self._opened() as file:
            return [str(name) for name in file.schema_arrow.names]

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the cells of each row."""
        number = 0
        with self._opened() as file:
            batches = file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(columns))
            while True:
                try:
                    batch = next(batches, None)
                    if batch is None:
                        return
                    cells = [batch.column(name).to_pylist() for name in columns]
                except (OSError, ValueError) as error:
                    raise ValueError(
                        f"{self.path}, at row {number}: the file is damaged ({error}); get it "
                        "again."
                    ) from None
                for row in zip(*cells, strict=True):
                    yield f"row {number}", list(row)
                    number += 1

    def _opened(self) -> Any:
        try:
            from pyarrow import parquet
        except ImportError:
            raise ValueError(
                f"{self.path} is a Parquet file; to read it, {how_to_install('parquet')}."
            ) from None
        try:
            return parquet.ParquetFile(self.path)
        except (OSError, ValueError) as error:
            if isinstance(error, PermissionError | FileNotFoundError):
                raise
            raise ValueError(f"{self.path} is not a readable Parquet file.") from None
