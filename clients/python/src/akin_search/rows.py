"""Documents out of data frames, tables and datasets, row by row and in bounded memory.

Told by what they offer, so that none of their packages is imported here.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, cast

from . import types

SLICE_ROWS = 1024


def documents(
    source: Any,
    *,
    id: Optional[str] = "id",
    text: Optional[str] = "text",
    tokens: Optional[str] = None,
    fields: Sequence[str] = (),
    metadata: Sequence[str] = (),
) -> Iterator[types.Document]:
    """Documents made of the named columns of each row.

    The source is a pandas or polars `DataFrame`; a pyarrow `Table`, `RecordBatch`,
    `RecordBatchReader` or `Dataset`; a dataset of `datasets`, also a streamed one; an iterable of
    any of these, as of `pandas.read_csv(chunksize=…)`; or one of dictionaries.

    `id` names the column of ids, which become strings; with `None` each document gets a random id.
    `text` or `tokens` names the column of the content, unless the columns `fields` make records.
    """
    if tokens is not None or fields:
        text = None
    named = [name for name in (id, text, tokens, *fields, *metadata) if name is not None]
    for row in rows(source):
        for name in named:
            if name not in row:
                raise KeyError(f"there is no column {name!r}; there are {', '.join(map(str, row))}")
        document: Dict[str, Any] = {}
        if id is not None and not is_missing(row[id]):
            document["id"] = str(checked_id(row[id]))
        if text is not None:
            document.update(_present(row, [text], rename="text"))
        if tokens is not None:
            document.update(_present(row, [tokens], rename="tokens"))
        if fields:
            present = _present(row, fields)
            document["fields"] = {name: str(value) for name, value in present.items()}
        if metadata:
            document["metadata"] = _present(row, metadata)
        yield cast(types.Document, document)


def rows(source: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a source as dictionaries."""
    if isinstance(source, (str, bytes, Mapping)):
        raise TypeError(f"an iterable of documents is needed, not a single {type(source).__name__}")
    if hasattr(source, "iter_rows"):  # polars.DataFrame
        yield from source.iter_rows(named=True)
    elif hasattr(source, "itertuples"):  # pandas.DataFrame
        names = list(source.columns)
        for values in source.itertuples(index=False, name=None):
            yield dict(zip(names, values))
    elif hasattr(source, "to_pylist") and hasattr(source, "slice"):  # pyarrow: batch or table
        for start in range(0, source.num_rows, SLICE_ROWS):
            yield from source.slice(start, SLICE_ROWS).to_pylist()
    elif hasattr(source, "to_batches"):  # pyarrow.dataset.Dataset
        for batch in source.to_batches():
            yield from rows(batch)
    elif hasattr(source, "__iter__"):
        for item in source:
            yield from [item] if isinstance(item, Mapping) else rows(item)
    else:
        hint = "; collect() it first" if hasattr(source, "collect") else ""
        raise TypeError(f"rows cannot be taken from a {type(source).__name__}{hint}")


def _present(
    row: Mapping[str, Any], names: Sequence[str], rename: Optional[str] = None
) -> Dict[str, Any]:
    return {rename or name: row[name] for name in names if not is_missing(row[name])}


def checked_id(id: Any) -> Any:
    """Refuses a float, of which `1.0` would be another id than `1`."""
    if isinstance(id, Real) and not isinstance(id, Integral):
        raise TypeError(
            f"an id is a string or an integer, not the float {id!r}: pandas makes floats of "
            "integers if some are missing, unless the column has the type 'Int64'"
        )
    return id


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
