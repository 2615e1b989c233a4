"""The two clients. They differ in how they take the steps of an exchange, and in nothing else."""

from __future__ import annotations

import copy
import functools
import os
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Generic,
    Iterator,
    Optional,
    TypeVar,
    cast,
)
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import urllib3
from typing_extensions import Self

from . import _calls
from ._exchange import Call, Exchange, Give, Request, Stream
from ._method import Method
from ._operations import Operations
from ._wire import AsyncWire, Outcome, Target, Wire
from .errors import AkinError, ConnectionFailed

T = TypeVar("T")
H = TypeVar("H", urllib3.PoolManager, aiohttp.ClientSession)

DEFAULT_URL = "http://127.0.0.1:2546"
CONNECTIONS_KEPT = 100


class _Methods(Operations):
    """The table of the methods, for both clients."""

    insert = Method(_calls.insert)
    query = Method(_calls.query)
    query_many = Method(_calls.query_many)
    passages = Method(_calls.passages)
    passage_matches = Method(_calls.passage_matches)
    remove = Method(_calls.remove)
    remove_many = Method(_calls.remove_many)
    remove_where = Method(_calls.remove_where)
    get = Method(_calls.get)
    get_many = Method(_calls.get_many)
    change = Method(_calls.change)
    compare = Method(_calls.compare)
    collapse = Method(_calls.collapse)
    cluster_of = Method(_calls.cluster_of)
    changes = Method(_calls.changes)
    count = Method(_calls.count)
    pairs = Method(_calls.pairs)
    clusters = Method(_calls.clusters)
    export = Method(_calls.export)
    ids = Method(_calls.ids)
    bulk = Method(_calls.bulk)
    collections = Method(_calls.collections)
    create_collection = Method(_calls.create_collection)
    request = Method(_calls.request)


def _is_url(text: str) -> bool:
    try:
        parts = urllib3.util.parse_url(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host)


def _proxy(url: str) -> Optional[str]:
    """The proxy that the environment names for a server."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    return None if proxy is None or proxy_bypass(parts.netloc) else proxy


class _Settings(Generic[H]):
    """What both clients are made of."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        key: Optional[str] = None,
        collection: str = "default",
        patience_s: float = 10.0,
        timeout_s: float = 60.0,
        http: Optional[H] = None,
    ) -> None:
        """`url` is that in `AKIN_URL` by default, else `http://127.0.0.1:2546`; `key` that in
        `AKIN_API_KEY`, as for akin's commands.

        `patience_s` is how long to wait, in sum, before further tries of a call that was refused
        for the time being (429, 503) or whose connection failed; `timeout_s` how long the server
        may send nothing. `http` has certificates or proxies of your own: a `urllib3.PoolManager`,
        for `AsyncClient` an `aiohttp.ClientSession`. By default proxies are those of the
        environment.
        """
        self.url = (url or os.environ.get("AKIN_URL") or DEFAULT_URL).rstrip("/")
        if not _is_url(self.url):
            raise AkinError(f"{self.url!r} is no URL, as http://127.0.0.1:2546 is one")
        self.name = collection
        self.patience_s = patience_s
        self._key = key or os.environ.get("AKIN_API_KEY")
        self._timeout_s = timeout_s
        # Made at the first call, as aiohttp's belongs to the event loop of the caller.
        self._http: Callable[[], H] = functools.cache(
            self._connect if http is None else lambda: http
        )

    def _connect(self) -> H:
        raise NotImplementedError

    def collection(self, name: str) -> Self:
        """A client of this collection, over the same connections."""
        other = copy.copy(self)
        other.name = name
        return other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, collection={self.name!r})"

    def _build(self, request: Request) -> Target:
        headers = {"user-agent": "akin-search-python", "accept-encoding": "identity"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        if request.body is not None:
            headers["content-type"] = request.media
        below = request.in_collection and self.name != "default"
        path = (_calls._collection(self.name) if below else "") + request.path
        query = f"?{urlencode(request.params)}" if request.params else ""
        return Target(self.url + path + query, headers, self._timeout_s + request.wait_s)


class Client(_Settings[urllib3.PoolManager], _Methods):
    """A client of akin.

    It may be used by several threads, and holds connections until it is closed.
    """

    def _connect(self) -> urllib3.PoolManager:
        proxy = _proxy(self.url)
        if proxy is None:
            return urllib3.PoolManager(maxsize=CONNECTIONS_KEPT)
        login = urllib3.util.make_headers(proxy_basic_auth=urllib3.util.parse_url(proxy).auth)
        return urllib3.ProxyManager(proxy, maxsize=CONNECTIONS_KEPT, proxy_headers=login)

    def close(self) -> None:
        self._http().clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, call: Call[T]) -> T:
        run = self._run(call.exchange(self.patience_s))
        try:
            return cast(T, next(run))
        finally:
            run.close()

    def _stream(self, stream: Stream[T]) -> Iterator[T]:
        return self._run(stream.exchange(self.patience_s), stream.documents)

    def _run(self, exchange: Exchange[None], documents: Any = ()) -> Generator[Any, None, None]:
        wire = Wire(self._http(), self._build, documents)
        outcome = Outcome()
        try:
            while True:
                step = outcome.next_step(exchange)
                if step is None:
                    return
                outcome = Outcome()
                if isinstance(step, Give):
                    yield step.item
                    continue
                try:
                    outcome.value = wire.take(step)
                except ConnectionFailed as failure:
                    outcome.failure = failure
        finally:
            exchange.close()
            wire.close()


class AsyncClient(_Settings[aiohttp.ClientSession], _Methods):
    """`Client` for asyncio: calls are awaited, streams are asynchronous iterators."""

    def _connect(self) -> aiohttp.ClientSession:
        # By `trust_env` each request would wait for two tasks of other threads.
        return aiohttp.ClientSession(proxy=_proxy(self.url), cookie_jar=aiohttp.DummyCookieJar())

    async def close(self) -> None:
        await self._http().close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, call: Call[T]) -> T:
        run = self._run(call.exchange(self.patience_s))
        try:
            return cast(T, await run.__anext__())
        finally:
            await run.aclose()

    def _stream(self, stream: Stream[T]) -> AsyncIterator[T]:
        return self._run(stream.exchange(self.patience_s), stream.documents)

    async def _run(
        self, exchange: Exchange[None], documents: Any = ()
    ) -> AsyncGenerator[Any, None]:
        wire = AsyncWire(self._http(), self._build, documents)
        outcome = Outcome()
        try:
            while True:
                step = outcome.next_step(exchange)
                if step is None:
                    return
                outcome = Outcome()
                if isinstance(step, Give):
                    yield step.item
                    continue
                try:
                    outcome.value = await wire.take(step)
                except ConnectionFailed as failure:
                    outcome.failure = failure
        finally:
            exchange.close()
            wire.close()
