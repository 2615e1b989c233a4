import json
from typing import Any, Iterator, List

import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

import akin_search
from akin_search._exchange import encode

COLUMNS = {
    "url": [1, 2, 3],
    "body": ["one two", None, "three four"],
    "lang": ["en", "de", None],
    "year": [2001, 2002, 2003],
}
WANTED: List[Any] = [
    {"id": "1", "text": "one two", "metadata": {"lang": "en", "year": 2001}},
    {"id": "2", "metadata": {"lang": "de", "year": 2002}},
    {"id": "3", "text": "three four", "metadata": {"year": 2003}},
]


class Dataset:
    """Iterates as those of `datasets` do."""

    def __iter__(self) -> Iterator[Any]:
        for values in zip(*COLUMNS.values()):
            yield dict(zip(COLUMNS, values))


def sources() -> Iterator[Any]:
    table = pyarrow.table(COLUMNS)
    yield pandas.DataFrame(COLUMNS)
    yield (pandas.DataFrame(COLUMNS)[i : i + 1] for i in range(3))
    yield polars.DataFrame(COLUMNS)
    yield table
    yield table.to_batches()[0]
    yield table.to_reader(max_chunksize=2)
    yield pyarrow.dataset.dataset(table)
    yield Dataset()
    yield list(Dataset())


@pytest.mark.parametrize("source", list(sources()), ids=lambda source: type(source).__name__)
def test_rows_become_documents(source: Any) -> None:
    documents = akin_search.documents(source, id="url", text="body", metadata=["lang", "year"])
    assert [json.loads(encode(document)) for document in documents] == WANTED


def test_other_contents() -> None:
    rows = [{"n": "a", "words": ["x", "y"], "phone": 5551234, "when": pandas.Timestamp(0)}]
    assert list(akin_search.documents(rows, id=None, tokens="words")) == [{"tokens": ["x", "y"]}]
    records = list(akin_search.documents(rows, id="n", fields=["phone"], metadata=["when"]))
    assert json.loads(encode(records[0])) == {
        "id": "a",
        "fields": {"phone": "5551234"},
        "metadata": {"when": "1970-01-01T00:00:00Z"},
    }


def test_what_has_no_rows() -> None:
    with pytest.raises(KeyError, match="no column 'id'; there are url, body"):
        list(akin_search.documents(pandas.DataFrame(COLUMNS)))
    for single in ("text", {"id": "a", "text": "b"}, b"bytes"):
        with pytest.raises(TypeError, match="an iterable of documents"):
            list(akin_search.documents(single))
    with pytest.raises(TypeError, match="collect"):
        list(akin_search.documents(polars.DataFrame(COLUMNS).lazy()))
    with pytest.raises(TypeError, match="an iterable of documents"):
        list(akin_search.documents(["a text", "another"]))


def test_a_frame_goes_in_as_it_is(client: akin_search.Client) -> None:
    frame = pandas.DataFrame({"id": ["a", "b"], "text": ["one two three four", "five six seven"]})
    assert [result["status"] for result in client.bulk(frame)] == ["created", "created"]
    table = pyarrow.table({"url": ["c"], "body": ["eight nine ten"], "n": [7]})
    added = client.bulk(akin_search.documents(table, id="url", text="body", metadata=["n"]))
    assert [result["status"] for result in added] == ["created"]
    assert client.get("c")["metadata"] == {"n": 7}
