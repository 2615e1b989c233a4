"""Crawls of a site with mirrors, session ids and pages made of one template."""

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Set
from urllib.parse import urlsplit

import pytest
from server import Script, Server, lines

import akin_search
from akin_search.scrapy import _Sender

ARTICLES, SESSIONS, DAYS = 60, 39, 40
KEPT = 1 + ARTICLES + 1  # the index, the articles, one day of the calendar
CALENDAR = 1_000_000  # the seed of its words
BUDGET = 5
CRAWL = Path(__file__).with_name("crawl.py")
PIPELINE = {"akin_search.scrapy.NearDuplicates": 800}


class Site:
    """200 pages: an index, articles, a mirror of each, some with a session id, and a calendar."""

    def __init__(self) -> None:
        self.changed = 0
        self.requests: List[str] = []
        self.at_request: Dict[int, Callable[[], None]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                site.at_request.pop(len(site.requests), lambda: None)()
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(site.page(urlsplit(self.path).path).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def page(self, path: str) -> str:
        kind, _, number = path[1:].partition("/")
        if not kind:
            links = [f"/article/{i}" for i in range(ARTICLES)]
            return html("All that this site has.", [*links, "/calendar/1"])
        n = int(number)
        if kind == "calendar":
            return html(f"{words(CALENDAR)} Day {n} is free.", [f"/calendar/{n + 1}"] * (n < DAYS))
        if kind == "mirror":
            return html(f"{words(n)} Mirrored.")
        session = [f"/article/{n}?sid={n * 7919}"] * (n < SESSIONS)
        return html(words(n + ARTICLES * (n < self.changed)), [f"/mirror/{n}", *session])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def html(text: str, links: Sequence[str] = ()) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return f"<html><nav>Home News Contact</nav><p>{text}</p>{anchors}</html>"


def words(seed: int) -> str:
    draw = random.Random(seed)
    return " ".join(f"word{draw.randrange(10_000)}" for _ in range(80))


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


class Crawl:
    def __init__(self, site: Site, directory: Path, **settings: Any) -> None:
        feed = directory / f"{len(list(directory.glob('*.jsonl')))}.jsonl"
        settings = {
            "ITEM_PIPELINES": PIPELINE,
            "FEEDS": {str(feed): {"format": "jsonl"}},
            **settings,
        }
        site.requests.clear()
        done = subprocess.run(
            [sys.executable, str(CRAWL), site.url, json.dumps(settings)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        self.log = done.stderr
        self.stats = json.loads(done.stdout)
        self.items = read(feed) if feed.exists() else []
        self.by_path = {urlsplit(item["url"]).path: item for item in self.items}
        self.ids = {item["url"] for item in self.items} - {"no-text"}

    def count(self, name: str) -> int:
        return int(self.stats.get(f"akin/{name}", 0))


def read(feed: Path) -> List[Dict[str, Any]]:
    return [json.loads(line) for line in feed.read_text().splitlines()]


def stored(client: akin_search.Client) -> Set[str]:
    return set(client.ids())


def away_until_missed(server: Server) -> None:
    """The server is killed, and comes back once a connection to it has failed."""
    host, port = server.address.split(":")
    server.kill()
    with socket.create_server((host, int(port))) as listener:
        listener.accept()[0].close()
    server.start()


def test_crawls_without_near_duplicates(site: Site, tmp_path: Path) -> None:
    """Two crawls; the server is killed during the first, of which no item is lost."""
    (tmp_path / "akin").mkdir()
    with Server(tmp_path / "akin") as server, akin_search.Client(server.url) as client:
        settings = {"AKIN_URL": server.url, "AKIN_ON_DUPLICATE": "skip"}
        site.at_request = {60: lambda: away_until_missed(server)}
        first = Crawl(site, tmp_path, **settings)
        assert first.stats["finish_reason"] == "finished" and len(site.requests) == 200
        assert (first.count("skipped"), first.stats["item_dropped_count"]) == (138, 138)
        assert first.count("created") + first.count("unchanged") == KEPT
        assert first.count("retries") >= 1 and first.count("failed") == 0
        assert len(first.ids) == KEPT and first.ids == stored(client)
        assert "log_count/ERROR" not in first.stats, first.log
        assert first.count("without_text") == 1 and "no-text" in first.log

        site.changed = 10
        second = Crawl(site, tmp_path, **settings)
        assert (second.count("unchanged"), second.count("replaced")) == (KEPT - 10, 10)
        # Mirrors of the changed articles are stored, unless they arrive together with the change.
        assert second.count("created") <= 10 and second.count("failed") == 0
        assert second.count("created") + second.count("skipped") == 138
        assert len(second.ids) == KEPT + second.count("created")
        assert second.ids == stored(client)
        previous = {
            path: item["akin_previous"]
            for path, item in second.by_path.items()
            if item.get("akin_previous") is not None
        }
        assert set(previous) == {f"/article/{n}" for n in range(site.changed)}
        for version in previous.values():
            assert version["content_changed"] and not version["metadata_changed"]
            assert version["resemblance"] < 0.1, "the words of another article"


def test_html_is_sent_in_place_of_text(
    client: akin_search.Client, site: Site, tmp_path: Path
) -> None:
    settings = {"AKIN_URL": client.url, "AKIN_COLLECTION": client.name, "AKIN_HTML_FIELD": "html"}
    crawl = Crawl(site, tmp_path, **settings)
    assert crawl.count("created") == 200 and crawl.count("without_text") == 1
    article, mirror = crawl.by_path["/article/50"], crawl.by_path["/mirror/50"]
    assert [found["id"] for found in mirror["akin_duplicates"]] == [article["url"]]
    text = client.get(mirror["url"])["text"]
    assert text == mirror["text"], "neither navigation nor tags"


def test_items_have_their_near_duplicates(
    client: akin_search.Client, site: Site, tmp_path: Path
) -> None:
    client.create_collection("crawl", {"clusters": {"threshold": 0.8}})
    crawl = Crawl(site, tmp_path, AKIN_URL=client.url, AKIN_COLLECTION="crawl")
    assert len(crawl.ids) == 200 == crawl.count("created")
    article, mirror = crawl.by_path["/article/50"], crawl.by_path["/mirror/50"]
    assert article["akin_duplicates"] == []
    assert [found["id"] for found in mirror["akin_duplicates"]] == [article["url"]]
    cluster = client.collection("crawl").cluster_of(article["url"])["cluster"]
    assert (article["akin_cluster"], mirror["akin_cluster"]) == (cluster, cluster)
    client.remove_collection("crawl")


@pytest.mark.parametrize("on_duplicate, concurrent_items", [("keep", 1), ("skip", 100)])
def test_links_of_many_near_duplicates_are_not_followed(
    client: akin_search.Client,
    site: Site,
    tmp_path: Path,
    on_duplicate: str,
    concurrent_items: int,
) -> None:
    crawl = Crawl(
        site,
        tmp_path,
        AKIN_URL=client.url,
        AKIN_COLLECTION=client.name,
        AKIN_ON_DUPLICATE=on_duplicate,
        AKIN_CLUSTER_BUDGET=BUDGET,
        CONCURRENT_ITEMS=concurrent_items,
        SPIDER_MIDDLEWARES={"akin_search.scrapy.ClusterBudget": 10},
    )
    days = sorted(int(path.split("/")[2]) for path in site.requests if "/calendar/" in path)
    assert days == list(range(1, BUDGET + 3))
    assert len(site.requests) == 200 - DAYS + len(days)
    assert crawl.count("links_not_followed") == 1


def test_items_that_wait_go_in_one_request() -> None:
    answer = lines(*({"line": i + 1, "id": str(i), "status": "created"} for i in range(5)))

    async def add(url: str) -> List[Any]:
        async with akin_search.AsyncClient(url) as client:
            sender = _Sender(client, {}, patience_s=0)
            items: List[Dict[str, Any]] = [{"id": str(i), "text": "a"} for i in range(5)]
            items.insert(2, {"id": "no-json", "text": "a", "metadata": object()})
            return await asyncio.gather(*map(sender.add, items), return_exceptions=True)

    with Script((200, {}, answer)) as script:
        results = asyncio.run(add(script.url))
        assert len(script.requests) == 1
    assert isinstance(results.pop(2), TypeError)
    assert [(result["id"], result["status"]) for result in results] == [
        (str(i), "created") for i in range(5)
    ]


def test_a_crawl_without_a_server_ends_and_loses_no_item(site: Site, tmp_path: Path) -> None:
    crawl = Crawl(site, tmp_path, AKIN_URL="http://127.0.0.1:1", AKIN_PATIENCE=0)
    assert crawl.stats["finish_reason"] == "akin_failed"
    assert crawl.ids == {site.url + path[1:] for path in site.requests}
    assert crawl.log.count("the crawl ends") == 1 and "127.0.0.1:1/documents" in crawl.log


def test_options_are_checked_before_the_crawl(site: Site, tmp_path: Path) -> None:
    crawl = Crawl(site, tmp_path, AKIN_OPTIONS={"treshold": 0.9})
    assert "unexpected keyword argument 'treshold'" in crawl.log
    assert site.requests == []


def test_the_page(server: Server, site: Site, tmp_path: Path) -> None:
    """The recipes of docs/crawling.md have ten lines at most, and do what the page says."""
    page = (CRAWL.parents[3] / "docs/crawling.md").read_text()
    blocks = re.findall(r"^```(?:console|python)\n(.*?)^```", page, re.M | re.S)
    first, spider, with_budget = blocks
    lines = [line for line in (first + spider).splitlines() if line]
    assert len(lines) <= 10
    (tmp_path / "pages.py").write_text(spider.replace("https://example.org/", site.url))
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    with akin_search.Client(server.url) as client:
        for commands in (first.splitlines()[-1], with_budget):
            client.remove_where(filter='@ == "" || @ != ""')
            site.requests.clear()
            environment = {"PATH": path, "AKIN_URL": server.url}
            subprocess.run(["bash", "-ec", commands], cwd=tmp_path, env=environment, check=True)
            assert client.count() == KEPT
    assert len(read(tmp_path / "pages.jsonl")) == KEPT
    assert len(site.requests) == 200 - DAYS + BUDGET + 2
