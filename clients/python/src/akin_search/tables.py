"""`akin dedup` and `akin decontaminate` for tables and datasets in Python, without a server.

A table is written as Parquet, with the columns that the command reads and a number for each row.
The rows of the result are taken from the table itself, so their other columns stay as they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, TypeVar, Union, cast

from ._command import program
from ._parquet import ROW, Table, columns_of
from .errors import CommandFailed

T = TypeVar("T")
AnyPath = Union[str, "os.PathLike[str]"]

Columns = Dict[str, List[Any]]

KEEP_RULES = frozenset({"first", "id", "longest", "newest", "none"})
KEEP_NEWEST = ("date", "timestamp", "updated_at", "created_at", "published", "time")


def dedup(
    source: T,
    *,
    text: Union[str, List[str]] = "text",
    id: Optional[str] = None,
    annotate: bool = False,
    output: Optional[AnyPath] = None,
    command: Optional[AnyPath] = None,
    **options: Any,
) -> T:
    """A table without its near-duplicates: the first row of each cluster is kept.

    The source is a pandas or Polars `DataFrame`, a pyarrow `Table`, or a `Dataset` of `datasets`,
    and so is the result; or it is the path of a file or directory, and the result is `output`.
    `text` and `id` name columns; the texts of a list of columns are joined, and a column of chat
    messages is a text, too. Without `id`, rows are named by their numbers from 0. With `annotate`
    near-duplicates are kept, and the rows have the further columns `cluster`, `cluster_size`,
    `representative` and `similarity` of `akin dedup --annotate`; with `on_invalid="keep"` all rows
    are kept, and those without a cluster have nulls in these columns.

    `options` are those of `akin dedup`: `threshold=0.9`, `keep="longest"`, `mode="exact"`,
    `drop_empty=True`, `spans=50`. `command` is the program, by default the `akin` that was
    installed with this package, or else that of `PATH`. `CommandFailed` has its message.
    """
    akin = _Akin(command, "dedup", {"text_column": _quoted(text), **options})
    if isinstance(source, (str, os.PathLike)):
        return akin.write(source, output, id_column=id, annotate=annotate)
    table = Table(source)
    keep = options.get("keep", "first")
    dates = [name for name in KEEP_NEWEST if keep == "newest" and name in table.names]
    columns = [*_names(text), *([id] if id else []), *dates]
    columns += [] if keep in KEEP_RULES else [keep]
    columns += [options["source_column"]] if "source_column" in options else []
    akin.options["id_column"] = id or ROW
    with tempfile.TemporaryDirectory(prefix="akin-") as directory:
        given = table.write(Path(directory, "given.parquet"), columns, id)
        if annotate:
            written = akin.write(given, Path(directory, "clusters.parquet"), annotate=True)
            found = _clusters(columns_of(written), given, id, table)
            keeps_all = options.get("on_invalid") == "keep"
            return table.annotated(_all(found, table) if keeps_all else found)
        written = akin.write(given, Path(directory, "kept.parquet"))
        return table.kept(written, _names(text)[0] if "spans" in options else None)


def decontaminate(
    source: T,
    against: Any,
    *,
    text: Union[str, List[str]] = "text",
    against_text: Union[str, List[str], None] = None,
    against_id: Optional[str] = None,
    annotate: bool = False,
    output: Optional[AnyPath] = None,
    command: Optional[AnyPath] = None,
    **options: Any,
) -> T:
    """A table of training texts without those that repeat words of an evaluation set.

    The source and the result are those of `dedup`. `against` is a table, a path, or a list of
    paths; its columns are `against_text`, by default that of `text`, and `against_id`, by default
    `id` of files and the numbers of rows of tables. With `annotate` all rows are kept, with the
    further columns `share`, `longest` and `evaluation` of the report.

    `options` are those of `akin decontaminate`: `words=13`, `threshold=0.2`, `action="cut"`.
    """
    akin = _Akin(command, "decontaminate", {"text_column": _quoted(text), **options})
    against_text = against_text or text
    akin.options["against_text_column"] = _quoted(against_text)
    with tempfile.TemporaryDirectory(prefix="akin-") as directory:
        if not isinstance(against, (str, os.PathLike, list)):
            columns = [*_names(against_text), *([against_id] if against_id else [])]
            against = Table(against).write(Path(directory, "against.parquet"), columns)
            against_id = against_id or ROW
        akin.options.update(against=against, against_id_column=against_id or "id")
        if isinstance(source, (str, os.PathLike)):
            return akin.write(source, output)
        table = Table(source)
        akin.options["id_column"] = ROW
        given = table.write(Path(directory, "given.parquet"), _names(text))
        if annotate:
            report = Path(directory, "report.jsonl")
            akin.run(given, action="report", report=report)
            return table.annotated(_contamination(_lines(report), table.rows))
        written = akin.write(given, Path(directory, "kept.parquet"))
        return table.kept(written, _names(text)[0] if options.get("action") == "cut" else None)


class _Akin:
    """A command of akin, by default the program of this package."""

    def __init__(self, command: Optional[AnyPath], name: str, options: Dict[str, Any]) -> None:
        self._start = [program(command, CommandFailed), name, "--quiet"]
        self.options = options

    def run(self, source: AnyPath, **more: Any) -> None:
        arguments = [*self._start, *_flags({**self.options, **more}), os.fspath(source)]
        try:
            done = subprocess.run(
                arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
            )
        except OSError as error:
            raise CommandFailed(f"cannot run {arguments[0]}: {error}") from error
        if done.returncode != 0:
            raise CommandFailed(_message(done.stderr))

    def write(self, source: T, output: Optional[AnyPath], **more: Any) -> T:
        """Writes the result of a file to another file, and returns its path."""
        if output is None:
            raise TypeError("a path as the source needs `output`, the path of the result")
        self.run(cast(AnyPath, source), output=output, **more)
        return type(source)(output)  # type: ignore[call-arg]


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                yield flag
            elif one is not None and one is not False:
                yield f"{flag}={one}"


def _message(log: str) -> str:
    hint = "; the wheel of a release reads Parquet (docs/install.md)"
    return log.strip() + (hint if "built without Parquet" in log else "")


def _lines(path: Path) -> List[Any]:
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines]


def _names(text: Union[str, List[str]]) -> List[str]:
    return [text] if isinstance(text, str) else text


def _quoted(text: Union[str, List[str]]) -> List[str]:
    """Names of columns as options have them, whatever commas the names have."""
    return ['"' + name.replace('"', '""') + '"' for name in _names(text)]


def _clusters(table: Columns, given: Path, id: Optional[str], source: Table[Any]) -> Columns:
    """Of the table of `akin dedup --annotate`."""
    ids, representatives = table.pop("id"), table.pop("representative")
    if id is None:
        return {ROW: [*map(int, ids)], **table, "representative": [*map(int, representatives)]}
    named = columns_of(given, [id, ROW])
    # Of documents with the same id the first is kept.
    row_of = dict(reversed([*zip(named[id], named[ROW])]))
    values = source.values([row_of[name] for name in representatives], id)
    return {ROW: [row_of[name] for name in ids], **table, "representative": values}


def _all(found: Columns, source: Table[Any]) -> Columns:
    """With nulls for the rows of the source that have not been found."""
    at = {row: place for place, row in enumerate(found[ROW])}
    places = [at.get(row) for row in range(source.rows)]
    nulled = {
        name: [None if place is None else values[place] for place in places]
        for name, values in found.items()
    }
    return {**nulled, ROW: [*range(source.rows)]}


def _contamination(lines: List[Any], rows: int) -> Columns:
    """Of lines of the report of `akin decontaminate`."""
    found = {int(line["id"]): line for line in lines if "id" in line}
    lines = [found.get(row, {"share": 0.0, "longest": 0, "evaluation": []}) for row in range(rows)]
    return {
        ROW: list(range(rows)),
        "share": [line["share"] for line in lines],
        "longest": [line["longest"] for line in lines],
        "evaluation": [[other["id"] for other in line["evaluation"]] for line in lines],
    }
