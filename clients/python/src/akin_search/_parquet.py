"""Tables of pandas, Polars, pyarrow and `datasets`, as Parquet and back.

Told by their types, so that none of these packages is imported unless a table is given.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Generic, Iterable, List, Mapping, Optional, TypeVar, cast

T = TypeVar("T")

ROW = "akin_row"
"""The column of the numbers of rows."""
BATCH_ROWS = 1000


@dataclass(frozen=True)
class _Library:
    """How the tables of a library are read and made."""

    names: Callable[[Any], Iterable[str]]
    parts: Callable[[Any, List[str]], Iterable[Any]]
    """These columns, as tables of pyarrow."""
    take: Callable[[Any, List[int]], Any]
    with_column: Callable[[Any, str, List[Any]], Any]


def _pandas_parts(frame: Any, names: List[str]) -> Iterable[Any]:
    yield _pyarrow().Table.from_pandas(frame[names], preserve_index=False)


def _arrow_with_column(table: Any, name: str, values: List[Any]) -> Any:
    at = table.schema.get_field_index(name)
    without = table if at < 0 else table.remove_column(at)
    return without.add_column(at if at >= 0 else table.num_columns, name, [values])


def _dataset_with_column(dataset: Any, name: str, values: List[Any]) -> Any:
    if name not in dataset.column_names:
        return dataset.add_column(name, values)
    without = dataset.remove_columns(name)
    changed = without.add_column(name, values, feature=dataset.features[name])
    return changed.select_columns(dataset.column_names)


LIBRARIES = {
    "pandas.DataFrame": _Library(
        names=lambda frame: frame.columns,
        parts=_pandas_parts,
        take=lambda frame, rows: frame.iloc[rows],
        with_column=lambda frame, name, values: frame.assign(**{name: values}),
    ),
    "polars.DataFrame": _Library(
        names=lambda frame: frame.columns,
        parts=lambda frame, names: [frame.select(names).to_arrow()],
        take=lambda frame, rows: frame[rows],
        with_column=lambda frame, name, values: frame.with_columns(
            type(frame)({name: values}).to_series()
        ),
    ),
    "pyarrow.Table": _Library(
        names=lambda table: table.column_names,
        parts=lambda table, names: [table.select(names)],
        take=lambda table, rows: table.take(rows),
        with_column=_arrow_with_column,
    ),
    "datasets.Dataset": _Library(
        names=lambda dataset: dataset.column_names,
        parts=lambda dataset, names: (
            dataset.select_columns(names).with_format("arrow").iter(BATCH_ROWS)
        ),
        take=lambda dataset, rows: dataset.select(rows),
        with_column=_dataset_with_column,
    ),
}


def _library(table: Any) -> _Library:
    for kind in type(table).__mro__:
        name = f"{kind.__module__.split('.')[0]}.{kind.__name__}"
        if name in LIBRARIES:
            return LIBRARIES[name]
    hint = "; collect() it first" if hasattr(table, "collect") else ""
    known = ", ".join(LIBRARIES)
    raise TypeError(f"{type(table).__name__} is no path and none of {known}{hint}")


class Table(Generic[T]):
    """A table or dataset in Python."""

    def __init__(self, source: T) -> None:
        self._source = source
        self._library = _library(source)
        self.names = list(self._library.names(source))
        self.rows = len(cast(Any, source))

    def write(self, path: Path, columns: Iterable[str], id: Optional[str] = None) -> Path:
        """Writes these columns, and a number for each row, as Parquet.

        Ids are written as texts: akin answers with them, and writes other values, such as times
        and bytes, differently from Python.
        """
        columns = list(dict.fromkeys(columns))
        for name in columns:
            if name not in self.names:
                raise KeyError(f"there is no column {name!r}; there are {', '.join(self.names)}")
        arrow, rows = _pyarrow(), 0
        with ExitStack() as stack:
            writer = None
            for part in self._library.parts(self._source, columns):
                numbers = arrow.array(range(rows, rows + part.num_rows), arrow.int64())
                part = part.append_column(ROW, numbers)
                if id is not None:
                    names = arrow.array(map(_name, part[id].to_pylist()), arrow.string())
                    part = part.set_column(part.schema.get_field_index(id), id, names)
                if writer is None:
                    opened = arrow.parquet.ParquetWriter(path, part.schema, compression="zstd")
                    writer = stack.enter_context(opened)
                writer.write_table(part)
                rows += part.num_rows
        return path

    def kept(self, path: Path, new_text: Optional[str]) -> T:
        """The rows that a command wrote, and their texts if it changed them."""
        columns = [ROW] if new_text is None else [ROW, new_text]
        kept = columns_of(path, columns)
        table = self._library.take(self._source, kept[ROW])
        if new_text is None:
            return cast(T, table)
        return cast(T, self._library.with_column(table, new_text, kept[new_text]))

    def values(self, rows: List[int], name: str) -> List[Any]:
        """The values of a column in these rows."""
        parts = self._library.parts(self._source, [name])
        values = [value for part in parts for value in part[name].to_pylist()]
        return [values[row] for row in rows]

    def annotated(self, columns: Mapping[str, List[Any]]) -> T:
        """The rows that the column `ROW` names, with the other columns."""
        table = self._library.take(self._source, columns[ROW])
        for name, values in columns.items():
            if name in self.names:
                raise ValueError(f"there is a column {name!r} already: rename it")
            if name != ROW:
                table = self._library.with_column(table, name, values)
        return cast(T, table)


def _name(id: Any) -> Optional[str]:
    if isinstance(id, bytes):
        return id.hex()
    return None if id is None else str(id)


def columns_of(path: Path, names: Optional[List[str]] = None) -> Dict[str, List[Any]]:
    """The values of columns of a Parquet file."""
    table = _pyarrow().parquet.read_table(path, columns=names)
    return cast(Dict[str, List[Any]], table.to_pydict())


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("tables are handed to akin by pyarrow: pip install pyarrow") from error
    return pyarrow
