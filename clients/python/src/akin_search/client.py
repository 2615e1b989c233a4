"""The two clients. They differ in how they take the steps of an exchange, and in nothing else."""

from __future__ import annotations

import copy
import functools
import inspect
import os
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Generic,
    Iterator,
    Optional,
    TypeVar,
    cast,
    get_args,
    overload,
)
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import urllib3
from typing_extensions import ParamSpec, Self, get_type_hints

from . import _calls
from ._exchange import Call, Exchange, Give, Request, Stream
from ._wire import AsyncWire, Outcome, Target, Wire
from .errors import AkinError, ConnectionFailed

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
H = TypeVar("H", urllib3.PoolManager, aiohttp.ClientSession)

DEFAULT_URL = "http://127.0.0.1:2546"
CONNECTIONS_KEPT = 100


class _Method(Generic[P, R]):
    """A method of both clients for a function of `_calls`, with its parameters and description.

    `Client` answers with the result, `AsyncClient` with an awaitable of it; a stream is an iterator
    of the one and an asynchronous iterator of the other.
    """

    def __init__(self, build: Callable[P, R]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The parameters, with each of the options."""
        signature = inspect.signature(self.build)
        hints = get_type_hints(self.build, vars(_calls))
        parameters = []
        for parameter in signature.parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                parameters.append(parameter)
                continue
            (options,) = get_args(hints[parameter.name])
            parameters += [
                inspect.Parameter(name, parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for name, kind in get_type_hints(options).items()
            ]
        return signature.replace(parameters=parameters)

    @overload
    def __get__(
        self: _Method[P, Call[T]], client: Client, owner: Optional[type]
    ) -> Callable[P, T]: ...
    @overload
    def __get__(
        self: _Method[P, Stream[T]], client: Client, owner: Optional[type]
    ) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(
        self: _Method[P, Call[T]], client: AsyncClient, owner: Optional[type]
    ) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(
        self: _Method[P, Stream[T]], client: AsyncClient, owner: Optional[type]
    ) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: Optional[type]) -> Callable[P, Any]: ...
    def __get__(self, client: Any, owner: Optional[type]) -> Callable[P, Any]:
        @functools.wraps(self.build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.build.__name__}() {error}") from None
            if client is None:
                raise TypeError("call this method of a client, not of the class")
            built = self.build(*args, **kwargs)
            return client._call(built) if isinstance(built, Call) else client._stream(built)

        method.__signature__ = self.signature  # type: ignore[attr-defined]
        return method


class _Methods:
    """The table of the methods, for both clients."""

    insert = _Method(_calls.insert)
    query = _Method(_calls.query)
    query_many = _Method(_calls.query_many)
    passages = _Method(_calls.passages)
    passage_matches = _Method(_calls.passage_matches)
    remove = _Method(_calls.remove)
    remove_many = _Method(_calls.remove_many)
    remove_where = _Method(_calls.remove_where)
    get = _Method(_calls.get)
    get_many = _Method(_calls.get_many)
    change = _Method(_calls.change)
    compare = _Method(_calls.compare)
    collapse = _Method(_calls.collapse)
    cluster_of = _Method(_calls.cluster_of)
    changes = _Method(_calls.changes)
    count = _Method(_calls.count)
    pairs = _Method(_calls.pairs)
    clusters = _Method(_calls.clusters)
    export = _Method(_calls.export)
    ids = _Method(_calls.ids)
    bulk = _Method(_calls.bulk)
    stats = _Method(_calls.stats)
    collections = _Method(_calls.collections)
    create_collection = _Method(_calls.create_collection)
    describe_collection = _Method(_calls.describe_collection)
    remove_collection = _Method(_calls.remove_collection)
    request = _Method(_calls.request)


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
