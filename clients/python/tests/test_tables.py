"""`dedup` and `decontaminate` of real tables, datasets and files, beside datatrove."""

import json
import random
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, List

import datasets
import pandas
import polars
import pyarrow
import pytest
from server import AKIN_BIN

import akin_search

BUS = "The night bus will stop at the old fish market instead of the pier, from Monday on."
ZOO = "The zoo is open every day from nine to six, and the museum from ten to five."
COLUMNS: Dict[str, List[Any]] = {
    "url": ["a", "b", "c", "d"],
    "text": [BUS, ZOO, BUS.replace("from Monday on", "from Monday"), None],
    "score": [1, 2, 3, 4],
    "date": [datetime(2024, 1, day) for day in (4, 3, 2, 1)],
    "tags": [["x"], [], ["y", "z"], ["w"]],
}


def from_pandas(columns: Dict[str, List[Any]]) -> Any:
    frame = pandas.DataFrame(
        columns, index=[f"row {i}" for i in range(len(next(iter(columns.values()))))]
    )
    return frame.astype({"url": "category"}) if "url" in columns else frame


def rows(table: Any) -> List[Dict[str, Any]]:
    """Of a table of any of the libraries."""
    if isinstance(table, pandas.DataFrame):
        table = table.astype(object).where(table.notna(), None).to_dict("records")
    elif isinstance(table, polars.DataFrame):
        table = table.to_dicts()
    elif isinstance(table, pyarrow.Table):
        table = table.to_pylist()
    return list(table)


LIBRARIES: List[Callable[..., Any]] = [
    from_pandas,
    polars.DataFrame,
    pyarrow.table,
    datasets.Dataset.from_dict,
]
each_library = pytest.mark.parametrize("make", LIBRARIES, ids=lambda make: str(make.__module__))


@pytest.fixture(autouse=True)
def command_of_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(AKIN_BIN).parent), prepend=":")


@each_library
def test_dedup_keeps_rows_as_they_are(make: Callable[..., Any]) -> None:
    table = make(COLUMNS)
    kept = akin_search.dedup(table)
    assert type(kept) is type(table)
    given = rows(table)
    assert rows(kept) == [given[0], given[1], given[3]]
    assert schema(kept) == schema(table)
    assert urls(akin_search.dedup(table, keep="score")) == ["b", "c", "d"]
    assert urls(akin_search.dedup(table, keep="newest", drop_empty=True)) == ["a", "b"]
    assert urls(akin_search.dedup(table, threshold=0.99)) == ["a", "b", "c", "d"]
    assert urls(akin_search.dedup(table, keep="none")) == ["b", "d"]
    across: dict[str, Any] = {"source_column": "url", "across": True, "sources": ["c"]}
    assert urls(akin_search.dedup(table, **across)) == ["b", "c", "d"]


def schema(table: Any) -> Any:
    for name in ("dtypes", "features", "schema"):
        if hasattr(table, name):
            return (
                dict(table.dtypes) if isinstance(table, pandas.DataFrame) else getattr(table, name)
            )


def urls(table: Any) -> List[Any]:
    return [row["url"] for row in rows(table)]


@each_library
def test_rows_are_annotated_with_their_clusters(make: Callable[..., Any]) -> None:
    table = make(COLUMNS)
    annotated = rows(akin_search.dedup(table, annotate=True))
    assert [row["representative"] for row in annotated] == [0, 1, 0, 3]
    assert annotated[0]["cluster"] == annotated[2]["cluster"] != annotated[1]["cluster"]
    assert [row["cluster_size"] for row in annotated] == [2, 1, 2, 1]
    similarity = [row["similarity"] for row in annotated]
    assert similarity[0] == similarity[1] == 1 and 0.8 < similarity[2] < 1
    assert [row["url"] for row in annotated] == COLUMNS["url"]
    named = rows(akin_search.dedup(table, id="url", annotate=True, drop_empty=True))
    assert [row["url"] for row in named] == ["a", "b", "c"]
    assert [row["representative"] for row in named] == ["a", "b", "a"]
    again = akin_search.dedup(make({"text": [BUS], "cluster": [1]}))
    with pytest.raises(ValueError, match="a column 'cluster' already"):
        akin_search.dedup(again, annotate=True)


@each_library
def test_annotated_rows_have_ids_of_any_type(make: Callable[..., Any]) -> None:
    for ids in (
        [b"\x00a", b"\xffb", b"c"],
        [datetime(2024, 1, day, 12, 30, 0, day) for day in (1, 2, 3)],
        [30, 4, 5],
    ):
        table = make({"key": ids, "text": [BUS, ZOO, BUS]})
        annotated = rows(akin_search.dedup(table, id="key", annotate=True))
        assert [row["key"] for row in annotated] == ids
        assert [row["representative"] for row in annotated] == [ids[0], ids[1], ids[0]]
        lowest = rows(akin_search.dedup(table, id="key", annotate=True, keep="id"))
        assert {row["representative"] for row in lowest} == {min(ids[0], ids[2]), ids[1]}


@each_library
def test_invalid_rows_are_annotated_with_nulls(make: Callable[..., Any]) -> None:
    table = make({"url": ["a", None, "c", "d"], "text": [BUS, ZOO, ZOO, BUS]})
    with pytest.raises(akin_search.CommandFailed, match="is null"):
        akin_search.dedup(table, id="url", annotate=True)
    skipped = akin_search.dedup(table, id="url", annotate=True, on_invalid="skip")
    assert urls(skipped) == ["a", "c", "d"]
    kept = rows(akin_search.dedup(table, id="url", annotate=True, on_invalid="keep"))
    assert [row["representative"] for row in kept] == ["a", None, "c", "a"]
    assert [row["cluster_size"] for row in kept] == [2, None, 1, 2]
    assert [row["text"] for row in kept] == [BUS, ZOO, ZOO, BUS]


@each_library
def test_texts_of_several_columns_and_of_messages(make: Callable[..., Any]) -> None:
    chats = [[{"role": "user", "content": text}] for text in (BUS, ZOO, BUS, BUS)]
    table = make({"url": ["a", "b", "c", "d"], "title": ["x", "x", "x", "y"], "chat": chats})
    kept = akin_search.dedup(table, text=["title", "chat"], threshold=0.99)
    assert type(kept) is type(table) and urls(kept) == ["a", "b", "d"]
    assert urls(akin_search.dedup(table, text="chat", roles="user", threshold=0.99)) == ["a", "b"]
    commas = make({"a,b": [BUS, ZOO, BUS], 'say "c"': ["x", "x", "x"], "url": ["a", "b", "c"]})
    assert urls(akin_search.dedup(commas, text=["a,b", 'say "c"'])) == ["a", "b"]
    assert urls(akin_search.decontaminate(commas, make({"a,b": [BUS]}), text="a,b")) == ["b"]
    questions = make({"q": [BUS]})
    clean = akin_search.decontaminate(table, questions, text=["title", "chat"], against_text="q")
    assert urls(clean) == ["b"]


@each_library
def test_spans_are_cut_out_of_the_texts(make: Callable[..., Any]) -> None:
    table = make({**COLUMNS, "text": [f"One. {BUS}", f"Two. {BUS}", ZOO, None]})
    cut = rows(akin_search.dedup(table, spans=10))
    assert [row["text"] for row in cut] == [f"One. {BUS}", "Two. .", ZOO, None]
    assert list(cut[0]) == list(rows(table)[0]) and cut[1]["tags"] == []
    assert rows(akin_search.dedup(table, text=["text"], spans=10)) == cut


@each_library
def test_decontaminate(make: Callable[..., Any], tmp_path: Path) -> None:
    table = make(COLUMNS)
    questions = make({"question": [ZOO, f"Is it true? {BUS}"]})
    given: Dict[str, Any] = {"against_text": "question"}
    assert urls(akin_search.decontaminate(table, questions, **given)) == ["d"]
    cut = rows(akin_search.decontaminate(table, questions, action="cut", **given))
    assert [row["text"] for row in cut] == [".", ".", ".", None]
    listed = akin_search.decontaminate(table, questions, action="cut", text=["text"], **given)
    assert rows(listed) == cut
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"id": "q", "question": BUS}))
    found = rows(akin_search.decontaminate(table, [file], annotate=True, **given))
    assert [row["evaluation"] for row in found] == [["q"], [], ["q"], []]
    assert [row["share"] for row in found] == [1.0, 0.0, 1.0, 0.0]
    assert [row["longest"] for row in found] == [17, 0, 16, 0]
    assert [row["tags"] for row in found] == COLUMNS["tags"]


def test_files(tmp_path: Path) -> None:
    given, kept = tmp_path / "given.parquet", tmp_path / "kept.parquet"
    polars.DataFrame(COLUMNS).write_parquet(given)
    assert akin_search.dedup(given, output=kept) == kept
    assert polars.read_parquet(kept)["url"].to_list() == ["a", "b", "d"]
    lines = akin_search.dedup(
        str(given), output=str(tmp_path / "all.jsonl"), annotate=True, id="url"
    )
    assert [json.loads(line)["representative"] for line in open(lines)] == ["a", "b", "a", "d"]
    questions = polars.DataFrame({"text": [ZOO]})
    clean = akin_search.decontaminate(given, questions, output=tmp_path / "clean.parquet")
    assert polars.read_parquet(clean)["url"].to_list() == ["a", "c", "d"]
    with pytest.raises(TypeError, match="needs `output`"):
        akin_search.dedup(given)


def test_a_dataset_of_many_batches() -> None:
    texts = [f"{BUS if i % 2500 == 0 else ZOO * 0} {i} {i * i} {i + 1}" for i in range(5000)]
    kept = akin_search.dedup(datasets.Dataset.from_dict({"text": texts}), threshold=0.7)
    assert len(kept) == 4999 and kept[2500]["text"] == texts[2501]


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = polars.DataFrame(COLUMNS)
    with pytest.raises(akin_search.CommandFailed, match="unexpected argument '--treshold'"):
        akin_search.dedup(frame, treshold=0.9)
    with pytest.raises(KeyError, match="no column 'body'; there are url, text"):
        akin_search.dedup(frame, text="body")
    with pytest.raises(TypeError, match="LazyFrame is no path and none of .*; collect"):
        akin_search.dedup(frame.lazy())
    with pytest.raises(TypeError, match="list is no path"):
        akin_search.dedup([{"text": BUS}])
    with pytest.raises(akin_search.CommandFailed, match="'score' is not a text"):
        akin_search.dedup(frame, text="score")
    old = tmp_path / "akin"
    old.write_text("#!/bin/sh\necho 'error: this akin was built without Parquet' >&2\nexit 1\n")
    old.chmod(0o755)
    with pytest.raises(akin_search.CommandFailed, match="wheel of a release reads Parquet"):
        akin_search.dedup(frame, command=old)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(akin_search.CommandFailed, match="not installed.*Install akin as"):
        akin_search.dedup(frame)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        akin_search.dedup(frame, command=AKIN_BIN)


def test_the_same_is_kept_as_by_datatrove(tmp_path: Path) -> None:
    """Of texts of which a half are copies with a few changed words, as in a crawl."""
    draw = random.Random(0)
    texts = [
        " ".join("".join(draw.choices("abcdefgh", k=5)) for _ in range(100)) for _ in range(100)
    ]
    copies = [text[:-1] + "x" for text in texts[:50]]
    table = pyarrow.table({"id": [str(i) for i in range(150)], "text": texts + copies})
    kept = akin_search.dedup(table)["id"].to_pylist()
    assert len(kept) == 100
    assert sorted(datatrove(table.to_pylist(), tmp_path)) == sorted(kept)


def datatrove(documents: List[Dict[str, str]], directory: Path) -> List[str]:
    """The ids that a pipeline of datatrove keeps, with its own number of keys."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.word_tokenizers import WordTokenizer

    class Words(WordTokenizer):  # type: ignore[misc]
        def word_tokenize(self, text: str) -> List[str]:
            return text.split()

        def sent_tokenize(self, text: str) -> List[str]:
            return [text]

        def span_tokenize(self, text: str) -> List[Any]:
            return [(0, len(text))]

    given = directory / "given"
    given.mkdir()
    (given / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    config = MinhashConfig(n_grams=3)
    signatures, buckets, removed = (
        str(directory / name) for name in ("sigs", "buckets", "removed")
    )
    reader = JsonlReader(str(given))
    writer = JsonlWriter(str(directory / "kept"), "kept.jsonl", compression=None)
    for tasks, pipeline in (
        (1, [reader, MinhashDedupSignature(signatures, config, Words())]),
        (config.num_buckets, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [MinhashDedupCluster(buckets, removed, config=config)]),
        (1, [reader, MinhashDedupFilter(removed), writer]),
    ):
        logs = str(directory / f"logs-{len(pipeline)}-{type(pipeline[-1]).__name__}")
        LocalPipelineExecutor(pipeline, tasks, 1, logging_dir=logs).run()
    kept = (directory / "kept/kept.jsonl").read_text().splitlines()
    return [json.loads(line)["id"] for line in kept]
