import asyncio
import json
import tracemalloc
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Iterator, List

import numpy
import pandas
import pytest
from server import Reply, Script, Server, lines, problem

import akin_search


def numbered(n: int) -> Iterator[Dict[str, str]]:
    for i in range(n):
        words = (f"w{i * 7 + k}" for k in range(12))
        yield {"id": f"d/{i}", "text": " ".join(words)}


def test_bulk(client: akin_search.Client) -> None:
    seen: List[int] = []
    documents = [*numbered(1000), {"id": "bad"}, {"text": "no id"}, {"id": "x", "text": "\ud800"}]
    results = list(client.bulk(documents, progress=lambda p: seen.append(p.documents)))
    assert [result["line"] for result in results] == list(range(1, 1004))
    assert seen == [512, 1003]
    bad, unnamed, broken = results[-3:]
    assert bad["status"] == "error" and bad["problem"]["code"] == "invalid_document"
    assert bad["id"] == "bad" and broken["status"] == "error" and broken["id"] == "x"
    assert unnamed["status"] == "created" and len(unnamed["id"]) == 36
    again = list(client.bulk(numbered(10), check=False))
    assert {result["status"] for result in again} == {"unchanged"}


def test_bulk_skips_what_is_nearly_there(client: akin_search.Client) -> None:
    twice = [
        {"id": f"{side}/{i}", "text": f"w{i} x{i} y{i} z{i}"} for i in range(5) for side in "ab"
    ]
    results = list(client.bulk(twice, on_duplicate="skip"))
    assert [result["status"] for result in results] == ["created", "skipped"] * 5


def test_a_large_document_does_not_make_a_large_request() -> None:
    answers: List[Reply] = [
        (200, {}, lines({"line": 1, "id": str(i), "status": "created"})) for i in range(3)
    ]
    with Script(*answers) as script, akin_search.Client(script.url) as client:
        large = ({"id": str(i), "text": "x" * 700_000} for i in range(3))
        assert [r["line"] for r in client.bulk(large)] == [1, 2, 3]
        assert all(len(body) < 800_000 for _, _, body, _ in script.requests)


def test_only_what_was_not_answered_is_sent_again() -> None:
    busy = {"line": 2, "status": "error", "problem": {"status": 503, "code": "overloaded"}}
    first = lines({"line": 1, "id": "a", "status": "created"}, busy)
    cut = (200, {"content-length": "9999", "connection": "close"}, first)
    refused = (429, {"retry-after": "0"}, problem(429, "too_many_requests"))
    rest = [{"line": i, "id": id, "status": "created"} for i, id in ((1, "b"), (2, "c"))]
    with Script(refused, cut, (200, {}, lines(*rest))) as script:
        with akin_search.Client(script.url) as client:
            final: List[akin_search.Progress] = []
            results = list(
                client.bulk([{"id": i, "text": i} for i in "abc"], progress=final.append)
            )
        assert [(r["line"], r["id"]) for r in results] == [(1, "a"), (2, "b"), (3, "c")]
        sent = [
            [json.loads(x)["id"] for x in body.splitlines()] for _, _, body, _ in script.requests
        ]
        assert sent == [["a", "b", "c"], ["a", "b", "c"], ["b", "c"]]
        assert (final[-1].created, final[-1].retries) == (3, 2)


def test_failures_that_the_server_only_counts_are_sent_again() -> None:
    failed = {"status": "error", "problem": {"status": 422, "code": "invalid_document"}}
    counted = {"status": "errors_counted", "first_line": 2, "last_line": 3, "errors": 2}
    first = lines({"line": 1, **failed}, counted)
    rest = lines({"line": 1, **failed}, {"line": 2, **failed})
    with Script((200, {}, first), (200, {}, rest)) as script:
        with akin_search.Client(script.url) as client:
            results = list(client.bulk([{"id": id, "text": ""} for id in "abc"]))
        assert [(result["line"], result["id"]) for result in results] == [
            (1, "a"),
            (2, "b"),
            (3, "c"),
        ]


def test_bulk_gives_up_without_progress() -> None:
    with Script((503, {"retry-after": "9"}, problem(503, "overloaded"))) as script:
        with (
            akin_search.Client(script.url) as client,
            pytest.raises(akin_search.ProblemError) as raised,
        ):
            list(client.bulk([{"text": "a"}], patience_s=5))
        assert raised.value.code == "overloaded"
    with Script((401, {}, problem(401, "key_required"))) as script:
        with akin_search.Client(script.url) as client, pytest.raises(akin_search.ProblemError):
            list(client.bulk([{"text": "a"}]))


def test_a_failure_of_the_source_is_the_callers(client: akin_search.Client) -> None:
    def failing() -> Iterator[Dict[str, str]]:
        yield from numbered(600)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(client.bulk(failing()))
    assert client.stats()["documents"] == 512


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_is_killed_on_the_way(tmp_path: Path, is_async: bool) -> None:
    """Every document is answered once, and all are stored, though the server crashed."""
    with Server(tmp_path) as server:

        def crashing() -> Iterator[Dict[str, str]]:
            for i, document in enumerate(numbered(1100)):
                if i == 600:
                    server.kill()
                    server.start()
                yield document

        async def crashing_async() -> AsyncIterator[Dict[str, str]]:
            for document in crashing():
                yield document

        async def run() -> List[akin_search.BulkResult]:
            async with akin_search.AsyncClient(server.url) as client:
                return [result async for result in client.bulk(crashing_async())]

        with akin_search.Client(server.url) as client:
            results = asyncio.run(run()) if is_async else list(client.bulk(crashing()))
            assert [result["line"] for result in results] == list(range(1, 1101))
            assert {result["status"] for result in results} == {"created"}
            assert sorted(client.ids()) == sorted(document["id"] for document in numbered(1100))


def test_a_server_that_is_killed_within_an_answer(tmp_path: Path) -> None:
    with Server(tmp_path) as server, akin_search.Client(server.url) as client:
        results = client.bulk(numbered(512), check=False)
        taken = [next(results)]
        server.kill()
        server.start()
        taken.extend(results)
        assert sorted(result["line"] for result in taken) == list(range(1, 513))
        assert {result["status"] for result in taken} <= {"created", "unchanged"}
        assert client.stats()["documents"] == 512


def test_memory_does_not_grow_with_the_number_of_documents() -> None:
    def peak(n: int) -> int:
        results = [{"line": i, "id": "x", "status": "created"} for i in range(1, 513)]
        answers: List[Reply] = [(200, {}, lines(*results))] * (n // 512)
        with Script(*answers) as script, akin_search.Client(script.url) as client:
            tracemalloc.start()
            for _ in client.bulk(numbered(n)):
                script.requests.clear()
            size = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return size

    peak(512)  # what stays for good
    assert peak(512 * 12) < 2 * peak(512 * 3)


def test_values_that_are_missing_or_no_number(client: akin_search.Client) -> None:
    frame = pandas.DataFrame(
        {"id": ["a", None], "text": ["one two three", "four five six"], "expires_at": [None, None]}
    )
    frame["metadata"] = [{"year": 2024}, float("nan")]
    assert [result["status"] for result in client.bulk(frame)] == ["created"] * 2
    wrong = {"id": "b", "text": "seven", "metadata": {"years": [2024, float("nan")]}}
    with pytest.raises(
        ValueError, match=r"document 2 \('b'\): metadata.years\[1\] is not a finite"
    ):
        list(client.bulk([{"id": "c", "text": "eight"}, wrong]))
    with pytest.raises(ValueError, match="metadata.of is not a finite"):
        client.insert("d", "nine", metadata={"of": numpy.float64("inf")})
    texts = pandas.DataFrame({"id": ["e", "f", "g"], "text": ["ten eleven", float("nan"), None]})
    results = list(client.bulk(texts))
    assert [(r["line"], r["id"], r["status"]) for r in results] == [
        (1, "e", "created"),
        (2, "f", "error"),
        (3, "g", "error"),
    ]
    assert "None and NaN are none" in results[1]["problem"]["detail"]  # type: ignore[typeddict-item]
    with pytest.raises(TypeError, match="document 1 .*a object cannot be sent"):
        list(client.bulk([{"text": object()}]))


def test_documents_without_content_are_not_sent() -> None:
    answer = lines({"line": 1, "id": "x", "status": "created"})
    with (
        Script((200, {}, answer), (200, {}, answer)) as script,
        akin_search.Client(script.url) as client,
    ):
        seen: List[akin_search.Progress] = []
        empty: List[Dict[str, object]] = [{"text": None}] * 600
        results = list(client.bulk([{"text": "a"}, *empty, {"text": "b"}], progress=seen.append))
        assert [result["line"] for result in results] == list(range(1, 603))
        assert [body.count(b"\n") for _, _, body, _ in script.requests] == [1, 1]
        assert (seen[-1].documents, seen[-1].failed, seen[-1].created) == (602, 600, 2)


def test_a_float_is_no_id(client: akin_search.Client) -> None:
    """pandas makes 1.0 of 1 in a column with a missing value."""
    frame = pandas.DataFrame({"id": [1, None], "text": ["one two", "three four"]})
    for call in (
        lambda: list(client.bulk(frame)),
        lambda: list(akin_search.documents(frame)),
        lambda: client.insert(numpy.float64(1), "one"),
        lambda: client.query(id=1.0),  # type: ignore[arg-type]
        lambda: client.get(1.0),  # type: ignore[arg-type]
        lambda: client.collapse([1.0]),  # type: ignore[list-item]
        lambda: client.compare(1.0, "a"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="not the float .*1.0.*Int64"):
            call()
    integers = frame.astype({"id": "Int64"})
    assert [result["id"] for result in client.bulk(integers[:1])] == ["1"]
    nan: Any = float("nan")
    for call in (lambda: client.query(nan), lambda: client.insert("a", nan)):
        with pytest.raises(ValueError, match="text is nan, a missing value"):
            call()
