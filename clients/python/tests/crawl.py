"""A crawl in a process of its own, as a process starts the reactor once.

`crawl.py URL SETTINGS` prints the stats of the crawl as JSON.
"""

import json
import sys
from typing import Any, AsyncIterator, Iterator

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse


class Page(scrapy.Item):
    url = scrapy.Field()
    text = scrapy.Field()
    html = scrapy.Field()
    akin_duplicates = scrapy.Field()
    akin_previous = scrapy.Field()
    akin_cluster = scrapy.Field()


class Pages(scrapy.Spider):
    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(sys.argv[1])
        yield {"url": "no-text"}

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        html = {"html": response.text} if self.settings.get("AKIN_HTML_FIELD") else {}
        text = " ".join(response.css("p ::text").getall())
        yield Page(url=response.url, text=text, **html)
        yield from response.follow_all(css="a")


if __name__ == "__main__":
    process = CrawlerProcess(json.loads(sys.argv[2]))
    crawler = process.create_crawler(Pages)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    print(json.dumps(crawler.stats.get_stats(), default=str))
