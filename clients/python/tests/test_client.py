import asyncio
import inspect
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable

import pytest
import urllib3
from server import Reply, Script, Server, problem

import akin_search
from akin_search._exchange import Backoff

BUS = "The night bus will stop at the old fish market instead of the pier, from Monday on."
BUS_2 = BUS.replace("from Monday on", "from Monday")


def test_documents_come_and_go(client: akin_search.Client) -> None:
    added = client.insert("news/1", BUS, metadata={"lang": "en"})
    assert (added["id"], added["status"], added["duplicates"]) == ("news/1", "created", [])
    assert [d["id"] for d in client.insert("news/2", BUS_2)["duplicates"]] == ["news/1"]
    skipped = client.insert("news/3", BUS, on_duplicate="skip", threshold=0.95)
    assert skipped["status"] == "skipped"

    stored = client.get("news/1", include=["sketch", "shingles"])
    assert stored["text"] == BUS and stored["metadata"] == {"lang": "en"}
    assert set(stored["included"]) == {"sketch", "shingles"}
    assert list(client.ids(page=1)) == ["news/1", "news/2"]
    assert [d["id"] for d in client.export(order="id")] == ["news/1", "news/2"]
    assert client.stats()["documents"] == 2

    fetched = client.get_many(["news/2", "nobody", "news/1"])
    assert [d["id"] for d in fetched["documents"]] == ["news/2", "news/1"]
    assert fetched["unknown"] == ["nobody"]
    assert client.change("news/1", metadata={"year": 2024})["status"] == "replaced"
    assert client.get("news/1")["metadata"] == {"lang": "en", "year": 2024}

    client.remove("news/2")
    with pytest.raises(akin_search.ProblemError) as refused:
        client.remove("news/2")
    assert (refused.value.code, refused.value.status) == ("document_not_found", 404)
    assert refused.value.request_id and "'news/2'" in str(refused.value)
    assert (client.count(), client.count(filter='@.lang == "fr"')) == (1, 0)
    assert list(client.ids(filter='@.lang == "en"')) == ["news/1"]
    assert client.remove_where(filter='@.lang == "en"')["removed"] == 1
    client.insert(7, BUS)
    assert client.remove_many([7, "nobody"])["removed"] == 1


def test_changes_are_followed(client: akin_search.Client) -> None:
    position = client.changes()["position"]
    client.insert("a", BUS)
    client.insert("b", BUS)
    first = client.changes(since=position, limit=1)
    client.remove("a")
    rest = client.changes(since=first["position"], wait_s=1)
    followed = [(c["id"], c["change"]) for c in first["changes"] + rest["changes"]]
    assert followed == [("a", "stored"), ("b", "stored"), ("a", "removed")]
    assert client.changes(since=rest["position"])["changes"] == []


def test_lookups(client: akin_search.Client) -> None:
    client.insert("en", BUS, metadata={"lang": "en"})
    client.insert("fr", BUS, metadata={"lang": "fr"})
    found = client.query(BUS_2, filter='@.lang == "fr"', include=["metadata"])["matches"]
    assert [(m["id"], m["metadata"]) for m in found] == [("fr", {"lang": "fr"})]
    assert [m["id"] for m in client.query(id="en")["matches"]] == ["fr"]
    # A text stands in for a document that is not stored, or not yet.
    for looked_up in (BUS_2, BUS):
        found = client.query(BUS_2, id="de", include=["highlights"])["matches"]
        assert [m["id"] for m in found] == ["en", "fr"]
        shared = [BUS[start:end] for start, end in found[0]["highlights"]]
        assert shared and all(part in looked_up for part in shared)
        client.insert("de", BUS)
    client.remove("de")
    second = client.query(BUS, offset=1, include=["text"])["matches"]
    assert [(m["id"], m["text"], "metadata" in m) for m in second] == [("fr", BUS, False)]
    assert [m["id"] for m in client.cluster_of("fr", threshold=0.9)["members"]] == ["en", "fr"]
    assert client.query(BUS, stored_after=datetime.now(timezone.utc))["matches"] == []

    nearest = client.query("The bus and other words entirely", k=1)
    assert len(nearest["matches"]) <= 1 and nearest["floor"] == 0.15 and "threshold" not in nearest
    assert [m["id"] for m in client.query(id="en", k=5)["matches"]] == ["fr"]
    assert len(client.query_many([{"id": "en"}], k=1)[0]["matches"]) == 1  # type: ignore[typeddict-item]

    both = client.query_many([{"id": "en"}, {"id": "nobody"}], threshold=0.9)
    assert both[0]["matches"][0]["id"] == "fr" and both[1]["error"]["code"] == "document_not_found"  # type: ignore[typeddict-item]

    compared = client.compare("en", {"text": BUS_2}, measures=["edit", "cosine"], explain=True)
    assert set(compared["measures"]) == {"edit", "cosine"} and compared["explanation"]
    collapsed = client.collapse(["fr", "en", "gone"], threshold=0.9)
    assert client.collapse(["fr", "gone"], limit=1)["more"]
    hits: Any = [{"id": "gone", "text": "a text of no store"}, {"text": "A text of no store!"}]
    of_hits = client.collapse(hits=[*hits, {"id": "fr"}, {"id": "en"}], threshold=0.9)
    assert of_hits["kept"] == [0, 2]
    assert [g["members"][0]["hit"] for g in of_hits["groups"]] == [1, 3]
    with pytest.raises(TypeError, match="either ids or hits"):
        client.collapse(["fr"], hits=hits)
    assert [group["representative"] for group in collapsed["groups"]] == ["fr"]
    assert [(p["a"], p["b"], p["exact"]) for p in client.pairs(mode="exact")] == [("en", "fr", 1.0)]
    clusters = list(client.clusters(linkage="representative", min_size=2))
    assert [(c["representative"], c["size"]) for c in clusters] == [("en", 2)]


def test_passages(server: Server) -> None:
    with akin_search.Client(server.url) as root:
        root.create_collection("passages", {"passages": {"words": 13}})
        client = root.collection("passages")
        for i in (1, 2, 3):
            client.insert(f"p/{i}", f"{'𝄞é ' * i}. {BUS}", metadata={"i": i})
        probe = f"𝄞 so: {BUS}"
        answer = client.passages(probe, limit=2, containment_min=0.5, of="probe")
        assert (len(answer["matches"]), answer["more"]) == (2, True)
        assert answer["guarantee"] == {"words": 13}
        place = answer["matches"][0]["passages"][0]["probe"]
        assert probe[place["start"] : place["end"]] == BUS[:-1]
        first = f"Größe 🦊🦊: {BUS}"
        compared = client.compare({"text": first}, {"text": probe}, explain=True)["explanation"]
        for text, side in ((first, compared["a"]), (probe, compared["b"])):
            [[start, end]] = side["shared"]
            assert text[start:end] == BUS[:-1]
        assert [m["id"] for m in client.passage_matches(probe, page=2)] == ["p/1", "p/2", "p/3"]
        found = client.passage_matches(id="p/2", page=1, filter="@.i > 1", include=["metadata"])
        assert [(m["id"], m["metadata"]) for m in found] == [("p/3", {"i": 3})]
        skipped = client.insert("p/4", BUS, on_contained="skip", containment_min=0.9, check=False)
        assert skipped["status"] == "skipped"
        assert skipped["passages"]["matches"][0]["id"] == "p/1"
        added = client.insert("p/5", f"{BUS} More.", passages=True, check=False)
        assert len(added["passages"]["matches"]) == 3
        with pytest.raises(TypeError, match="exactly one of id, text is needed, not none"):
            client.passages()
        contained = client.query(probe, measure="containment", of="match", threshold=0.5)
        assert contained["guarantee"]["words"] == 13
        assert contained["matches"][0]["containment"]["of_match"] >= 0.5
        with pytest.raises(akin_search.ProblemError, match="passages_off"):
            root.passages(probe)
        root.remove_collection("passages")


def test_a_search_for_passages_that_was_cut_short_is_a_warning() -> None:
    answer = b'{"matches": [], "more": false, "truncated": true}'
    with Script((200, {}, answer)) as script, akin_search.Client(script.url) as client:
        with pytest.warns(akin_search.IncompleteWarning, match="a limit ended the search early"):
            assert list(client.passage_matches("a")) == []


def test_tokens_and_records(client: akin_search.Client) -> None:
    client.insert("basket", tokens={"bread", "milk", "beer"})
    client.insert("counted", tokens=["bread", ("milk", 2), "beer"])
    found = client.query(tokens=["beer", "bread", "milk"])["matches"]
    assert [m["id"] for m in found] == ["basket", "counted"]
    settings: akin_search.types.Settings = {
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name", "phone"], "points": 100},
    }
    client.create_collection("records", settings)
    people = client.collection("records")
    people.insert("crm/1", fields={"name": "Bill Smith", "phone": "555-1234"})
    assert people.query(fields={"phone": "555 1234"})["matches"][0]["points"] == 100
    assert "records" in client.collections()
    assert client.describe_collection("records")["documents"] == 1
    with pytest.raises(akin_search.ProblemError, match="collection_exists"):
        client.create_collection("records")
    client.remove_collection("records")
    assert "records" not in client.collections()


def test_what_is_asked_wrongly() -> None:
    client = akin_search.Client("http://127.0.0.1:1", patience_s=0)
    with pytest.raises(TypeError, match="exactly one of id, text, .* not none"):
        client.query()
    with pytest.raises(TypeError, match="not text and tokens|not tokens and text"):
        client.query("a", id="b", tokens=["c"])
    with pytest.raises(TypeError, match="not text and tokens"):
        client.insert("a", "b", tokens=["c"])
    with pytest.raises(TypeError, match=r"query\(\) got an unexpected .* 'treshold'"):
        client.query("a", treshold=0.5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="of a client, not of the class"):
        akin_search.Client.stats()
    with pytest.raises(akin_search.ConnectionFailed, match="http://127.0.0.1:1/stats"):
        client.stats()
    for kind in (akin_search.Client, akin_search.AsyncClient):
        for url in ("localhost:1", "http://", "http://a b", "http://[::", "http://a:99999"):
            with pytest.raises(akin_search.AkinError, match="is no URL, as http://127.0.0.1"):
                kind(url)


def test_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(tmp_path, with_keys=True) as server:
        monkeypatch.setenv("AKIN_URL", server.url)
        monkeypatch.delenv("AKIN_API_KEY", raising=False)
        with akin_search.Client() as client, pytest.raises(akin_search.ProblemError) as refused:
            client.stats()
        assert refused.value.code == "key_required"
        with akin_search.Client(key=server.key) as client:
            assert client.insert(None, "hello")["status"] == "created"
            assert server.key not in repr(client)
        monkeypatch.setenv("AKIN_API_KEY", server.key)
        with akin_search.Client() as client:
            assert client.request("GET", "/stats")["documents"] == 1


def test_refusals_are_retried_after_the_time_that_they_name() -> None:
    refused = (429, {"retry-after": "0"}, problem(429, "too_many_requests"))
    busy = (503, {"retry-after": "0"}, problem(503, "overloaded"))
    done: Reply = (200, {}, b'{"documents": 1}')
    with Script(refused, busy, (0, {}, b""), done) as script:
        with akin_search.Client(script.url) as client:
            assert client.stats()["documents"] == 1
        assert [path for _, path, _, _ in script.requests] == ["/stats"] * 4
    # Longer than the caller's patience: the refusal itself is raised, without another try.
    late = (503, {"retry-after": "60"}, problem(503, "not_ready"))
    with Script(late) as script, akin_search.Client(script.url) as client:
        with pytest.raises(akin_search.ProblemError) as raised:
            client.stats()
        assert (raised.value.code, raised.value.retry_after_s) == ("not_ready", 60.0)


def test_clients_that_were_refused_together_come_back_apart() -> None:
    refused = akin_search.ProblemError({"status": 503}, retry_after_s=2.0)
    pauses = {Backoff(10).wait(refused).seconds for _ in range(20)}
    assert len(pauses) > 1 and min(pauses) >= 2 and max(pauses) <= 3
    assert Backoff(2).wait(refused).seconds == 2
    with pytest.raises(akin_search.ProblemError):
        Backoff(1.9).wait(refused)


def test_other_failures_are_not_retried() -> None:
    with Script((502, {}, b"<html>bad gateway</html>")) as script:
        with (
            akin_search.Client(script.url) as client,
            pytest.raises(akin_search.ProblemError) as raised,
        ):
            client.stats()
        assert (raised.value.code, raised.value.status) == ("unknown", 502)
        assert "bad gateway" in raised.value.detail


def test_an_answer_that_is_cut_off_is_no_answer() -> None:
    pair = b'{"a": "x", "b": "y", "resemblance": 1.0}\n'
    cut = (200, {"content-length": "500", "connection": "close"}, pair + b'{"a": ')
    with Script(cut) as script, akin_search.Client(script.url) as client:
        pairs = client.pairs()
        assert next(pairs)["a"] == "x"
        with pytest.raises(akin_search.ConnectionFailed):
            next(pairs)


def test_incomplete_clusters_are_a_warning_and_no_cluster() -> None:
    cluster = b'{"cluster": "c", "representative": "x", "size": 2, "members": []}\n'
    last = b'{"incomplete": {"documents": 812, "ids": ["a", "c"]}}\n'
    with Script((200, {}, cluster + last)) as script, akin_search.Client(script.url) as client:
        with pytest.warns(akin_search.IncompleteWarning, match="812 documents") as warned:
            assert [cluster["size"] for cluster in client.clusters()] == [2]
        message = warned[0].message
        assert isinstance(message, akin_search.IncompleteWarning)
        assert message.incomplete["ids"] == ["a", "c"]


def test_an_id_is_one_part_of_the_path() -> None:
    with Script((204, {}, b"")) as script, akin_search.Client(script.url, collection="a") as client:
        client.remove("https://example.org/a?b#c d/../e")
        path = "/collections/a/documents/https%3A%2F%2Fexample.org%2Fa%3Fb%23c%20d%2F..%2Fe"
        assert script.requests[0][:2] == ("DELETE", path)


def test_asynchronously(server: Server) -> None:
    async def run() -> None:
        async with akin_search.AsyncClient(server.url) as root:
            await root.create_collection("asynchronously")
            client = root.collection("asynchronously")
            results = await asyncio.gather(*(client.insert(f"n/{i}", BUS) for i in range(20)))
            assert sorted(len(added["duplicates"]) for added in results) == list(range(20))
            assert len([id async for id in client.ids(page=7)]) == 20
            assert len([pair async for pair in client.pairs()]) == 190
            with pytest.raises(akin_search.ProblemError, match="document_not_found"):
                await client.get("nobody")
            async for cluster in client.clusters():
                assert cluster["size"] == 20
                break
            await root.remove_collection("asynchronously")

    asyncio.run(run())


def test_calls_at_once_cost_no_more_than_calls_one_by_one(client: akin_search.Client) -> None:
    """In processor time of the client, the least of three tries."""
    ids = [str(i) for i in range(200)]
    list(client.bulk({"id": id, "text": f"{BUS} {id}"} for id in ids))

    def one_by_one() -> None:
        for id in ids:
            client.query(id=id, limit=1)

    async def at_once() -> None:
        async with akin_search.AsyncClient(client.url, collection=client.name) as together:
            answers = await asyncio.gather(*(together.query(id=id, limit=1) for id in ids))
            assert all(answer["matches"] for answer in answers)

    def cost(run: Callable[[], None]) -> float:
        before = time.process_time()
        run()
        return time.process_time() - before

    costs = [(cost(one_by_one), cost(lambda: asyncio.run(at_once()))) for _ in range(3)]
    assert min(b for _, b in costs) < 2 * min(a for a, _ in costs), costs


def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stats() -> object:
        async with akin_search.AsyncClient("http://akin.example") as client:
            return (await client.stats())["documents"]

    done: Reply = (200, {}, b'{"documents": 1}')
    with Script(done, done, done) as script:
        monkeypatch.setenv("http_proxy", script.url.replace("//", "//user:word@"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with akin_search.Client("http://akin.example") as client:
            assert client.stats()["documents"] == 1
        assert asyncio.run(stats()) == 1
        with akin_search.Client(script.url, http=urllib3.PoolManager()) as client:
            assert client.stats()["documents"] == 1
        asked = [
            (path, headers.get("proxy-authorization")) for _, path, _, headers in script.requests
        ]
    login = "Basic dXNlcjp3b3Jk"
    assert asked == [("http://akin.example/stats", login)] * 2 + [("/stats", None)]


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> "dict[str, object]":
        members = inspect.getmembers(kind, callable)
        return {name: inspect.signature(m) for name, m in members if not name.startswith("_")}

    assert methods(akin_search.Client).keys() == methods(akin_search.AsyncClient).keys()
    assert "near-duplicates" in (akin_search.Client.query.__doc__ or "")


def test_a_string_is_no_list_of_ids(client: akin_search.Client) -> None:
    for call in (client.collapse, client.get_many):
        with pytest.raises(TypeError, match="a list of ids is needed, not a single str"):
            call("abc")
    with pytest.raises(TypeError, match="a set of tokens is needed, not a string"):
        client.insert("a", tokens="abc")
