"""Near-duplicates in a crawl of Scrapy: an item pipeline, and a budget for clusters of pages.

    ITEM_PIPELINES = {"akin_search.scrapy.NearDuplicates": 800}
    SPIDER_MIDDLEWARES = {"akin_search.scrapy.ClusterBudget": 10}
    AKIN_ON_DUPLICATE = "skip"

docs/crawling.md has the settings. Needs Scrapy 2.14 or later, with the reactor for asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, AsyncIterable, AsyncIterator, Dict, List, Mapping, Optional, Tuple

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.utils.asyncio import is_asyncio_available

from ._bulk import BulkResult, Progress
from ._exchange import encode
from .client import AsyncClient
from .errors import AkinError

logger = logging.getLogger(__name__)

PATIENCE_S = 300.0
BUDGET = 10

Answer = Mapping[str, Any]


class NearDuplicate(DropItem):
    """The item was not stored, because near-duplicates of it are, as the server's `answer` says."""

    def __init__(self, id: str, answer: Answer) -> None:
        found = answer["duplicates"] or answer["passages"]["matches"]
        super().__init__(f"{id} is a near-duplicate of {found[0]['id']}", log_level="INFO")
        self.id = id
        self.answer = answer


class NearDuplicates:
    """The item pipeline: adds the text of each item to a collection, and says what resembles it.

    All items that wait for the server are sent in one request. Items that the server cannot compare
    go on as they came, and are counted: no item is lost.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not is_asyncio_available():
            raise RuntimeError("akin_search.scrapy needs the TWISTED_REACTOR for asyncio")
        settings = crawler.settings
        assert crawler.stats is not None
        self._crawler, self._stats = crawler, crawler.stats
        self._id = settings.get("AKIN_ID_FIELD", "url")
        self._text = settings.get("AKIN_TEXT_FIELD", "text")
        self._html = settings.get("AKIN_HTML_FIELD")
        self._metadata = settings.getlist("AKIN_METADATA_FIELDS")
        options = settings.getdict("AKIN_OPTIONS")
        options["on_duplicate"] = settings.get("AKIN_ON_DUPLICATE", "keep")
        self._client = AsyncClient(
            settings.get("AKIN_URL"),
            key=settings.get("AKIN_API_KEY"),
            collection=settings.get("AKIN_COLLECTION", "default"),
        )
        self._client.bulk((), **options)  # Refuses unknown options before the crawl.
        patience_s = settings.getfloat("AKIN_PATIENCE", PATIENCE_S)
        self._sender = _Sender(self._client, options, patience_s)
        self._closing: Optional["asyncio.Task[None]"] = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicates:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        fields = ItemAdapter(item)
        document = self._document(fields)
        if document is None:
            self._count("without_text")
            return item
        try:
            answer = await self._sender.add(document)
        except AkinError as failure:
            self._count("failed")
            self._close(failure)
            return item
        finally:
            self._stats.set_value("akin/retries", self._sender.retries)
        if answer["status"] == "error":
            problem = answer["problem"]
            self._count(f"refused/{problem['code']}")
            logger.warning("%s is not compared: %s", document["id"], problem["detail"])
            return item
        self._count(answer["status"])
        if answer["status"] == "skipped":
            raise NearDuplicate(document["id"], answer)
        for name in ("duplicates", "previous", "cluster"):
            with contextlib.suppress(KeyError):  # The class of the item has no such field.
                fields[f"akin_{name}"] = answer.get(name)
        return item

    async def close_spider(self) -> None:
        await self._client.close()

    def _document(self, fields: ItemAdapter) -> Optional[Dict[str, Any]]:
        """`None` if the item has no id or no content, as an item of another kind has none."""
        name, field = ("html", self._html) if self._html else ("text", self._text)
        id, content = fields.get(self._id), fields.get(field)
        if not id or not content:
            return None
        metadata = {name: fields[name] for name in self._metadata if fields.get(name) is not None}
        return {"id": str(id), name: content, **({"metadata": metadata} if metadata else {})}

    def _close(self, failure: AkinError) -> None:
        """Ends the crawl once, as all further items would go on without being compared."""
        engine = self._crawler.engine
        if self._closing is None and engine is not None:
            logger.error("the crawl ends, as items cannot be compared: %s", failure)
            closing = engine.close_spider_async(reason="akin_failed")
            self._closing = asyncio.create_task(closing)

    def _count(self, what: str) -> None:
        self._stats.inc_value(f"akin/{what}")


class _Sender:
    """Sends documents, all that wait in one request, and one request at a time."""

    def __init__(self, client: AsyncClient, options: Dict[str, Any], patience_s: float) -> None:
        self._client = client
        self._options = options
        self._patience_s = patience_s
        self._waiting: List[Tuple[Dict[str, Any], "asyncio.Future[Answer]"]] = []
        self._sending: Optional["asyncio.Task[None]"] = None
        self.retries = 0

    async def add(self, document: Dict[str, Any]) -> Answer:
        encode(document)  # A document that is no JSON fails alone, and not with the others.
        answer: "asyncio.Future[Answer]" = asyncio.get_running_loop().create_future()
        self._waiting.append((document, answer))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._waiting:
            sent, self._waiting = self._waiting, []
            try:
                async for result in self._send([document for document, _ in sent]):
                    answer = sent[result["line"] - 1][1]
                    if not answer.done():
                        answer.set_result(result)
            except Exception as failure:
                for _, answer in sent:
                    if not answer.done():
                        answer.set_exception(failure)

    async def _send(self, documents: List[Dict[str, Any]]) -> AsyncIterator[BulkResult]:
        before = self.retries

        def count(progress: Progress) -> None:
            self.retries = before + progress.retries

        results = self._client.bulk(
            documents, progress=count, patience_s=self._patience_s, **self._options
        )
        async for result in results:
            yield result


@dataclass
class _Page:
    """A response, of which items are in the pipelines."""

    items: int = 0
    in_pipelines: int = 0
    over_budget: int = 0
    processed: asyncio.Event = field(default_factory=asyncio.Event)


class ClusterBudget:
    """The spider middleware: does not follow the links of the many near-duplicates of a page.

    It holds the links of a page until the items of the page have been through the pipelines. Of
    each cluster of near-duplicates, it lets pass the links of the first page and of the
    `AKIN_CLUSTER_BUDGET` near-duplicates that come after it.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self._stats = crawler.stats
        self._id = crawler.settings.get("AKIN_ID_FIELD", "url")
        self._budget = crawler.settings.getint("AKIN_CLUSTER_BUDGET", BUDGET)
        self._pages: Dict[int, _Page] = {}
        self._clusters: Dict[str, str] = {}
        self._near_duplicates: Counter[str] = Counter()
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._processed, signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ClusterBudget:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterable[Any]
    ) -> AsyncIterator[Any]:
        page = self._pages[id(response)] = _Page()
        links: List[Request] = []
        failure: Optional[Exception] = None
        try:
            async for output in result:
                if isinstance(output, Request):
                    links.append(output)
                elif output is not None:
                    page.items += 1
                    page.in_pipelines += 1
                    yield output
        except Exception as raised:  # What the spider yielded before counts nevertheless.
            failure = raised
        while page.in_pipelines:
            page.processed.clear()
            await page.processed.wait()
        del self._pages[id(response)]
        if page.items and page.over_budget == page.items:
            self._stats.inc_value("akin/links_not_followed", len(links))
            links.clear()
        for link in links:
            yield link
        if failure is not None:
            raise failure

    def _processed(
        self, item: Any, response: Any = None, exception: Optional[Exception] = None
    ) -> None:
        page = self._pages.get(id(response))
        if page is None:
            return
        page.in_pipelines -= 1
        page.processed.set()
        if isinstance(exception, NearDuplicate):
            page.over_budget += self._is_over_budget(exception.id, exception.answer)
        elif exception is None:
            fields = ItemAdapter(item)
            answer = {name: fields.get(f"akin_{name}") for name in ("duplicates", "cluster")}
            page.over_budget += self._is_over_budget(str(fields.get(self._id)), answer)

    def _is_over_budget(self, id: str, answer: Answer) -> bool:
        """Counts the page in its cluster: that of the page which it resembles most."""
        duplicates = answer.get("duplicates")
        if not duplicates:
            return False
        first = duplicates[0]["id"]
        cluster = answer.get("cluster") or self._clusters.get(first, first)
        self._clusters[id] = cluster
        self._near_duplicates[cluster] += 1
        return self._near_duplicates[cluster] > self._budget
