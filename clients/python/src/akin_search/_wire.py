"""How the two clients take the steps of an exchange, over httpx."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Iterator, Mapping, Optional, TypeVar, Union

import httpx
from typing_extensions import TypeAlias

from ._exchange import Exchange, Head, Request, Send, Step, Take, Wait
from .errors import AkinError, ConnectionFailed
from .rows import rows

T = TypeVar("T")
Build: TypeAlias = Callable[[Request], httpx.Request]

# Another try would meet with the same.
_HOPELESS = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


@dataclass
class Outcome:
    """What came of a step."""

    value: Any = None
    failure: Optional[ConnectionFailed] = None

    def next_step(self, exchange: Exchange[None]) -> Optional[Step]:
        try:
            if self.failure is not None:
                return exchange.throw(self.failure)
            return exchange.send(self.value)
        except StopIteration:
            return None


class Wire:
    """Takes the steps of one exchange."""

    def __init__(self, http: httpx.Client, build: Build, documents: Any) -> None:
        self._http = http
        self._build = build
        self._documents = rows(documents)
        self._response: Optional[httpx.Response] = None
        self._chunks: Iterator[bytes] = iter(())

    def take(self, step: Step) -> Union[Head, bytes, Mapping[str, Any], None]:
        if isinstance(step, Take):
            return next(self._documents, None)
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            return None
        try:
            return self._send(step.request) if isinstance(step, Send) else next(self._chunks, b"")
        except httpx.RequestError as error:
            raise _failure(error) from error

    def _send(self, request: Request) -> Head:
        self.close()
        self._response = self._http.send(self._build(request), stream=True)
        self._chunks = filter(None, self._response.iter_bytes())
        return _head(self._response)

    def close(self) -> None:
        if self._response is not None:
            self._response.close()


class AsyncWire:
    """Takes the steps of one exchange."""

    def __init__(self, http: httpx.AsyncClient, build: Build, documents: Any) -> None:
        self._http = http
        self._build = build
        self._documents = _asynchronous(documents)
        self._response: Optional[httpx.Response] = None
        self._chunks: AsyncIterator[bytes]

    async def take(self, step: Step) -> Union[Head, bytes, Mapping[str, Any], None]:
        if isinstance(step, Take):
            return await _next(self._documents, None)
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return None
        try:
            if isinstance(step, Send):
                return await self._send(step.request)
            return await _next(self._chunks, b"")
        except httpx.RequestError as error:
            raise _failure(error) from error

    async def _send(self, request: Request) -> Head:
        await self.close()
        self._response = await self._http.send(self._build(request), stream=True)
        self._chunks = _chunks(self._response)
        return _head(self._response)

    async def close(self) -> None:
        if self._response is not None:
            await self._response.aclose()


async def _next(items: AsyncIterator[T], end: T) -> T:
    async for item in items:
        return item
    return end


async def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    async for chunk in response.aiter_bytes():
        if chunk:
            yield chunk


async def _asynchronous(documents: Any) -> AsyncIterator[Mapping[str, Any]]:
    if hasattr(documents, "__aiter__"):
        async for document in documents:
            yield document
        return
    for document in rows(documents):
        yield document


def _head(response: httpx.Response) -> Head:
    return Head(response.status_code, response.headers.get("retry-after"))


def _failure(error: httpx.RequestError) -> AkinError:
    reason = str(error) or type(error).__name__
    if isinstance(error, _HOPELESS):
        return AkinError(reason)
    url = error.request.url.copy_with(query=None)
    return ConnectionFailed(f"{error.request.method} {url}: {reason}")
