"""How the two clients take the steps of an exchange: over urllib3, and over aiohttp."""

from __future__ import annotations

import asyncio
import io
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Dict, Mapping, Optional, TypeVar, Union

import aiohttp
import urllib3
from typing_extensions import TypeAlias
from urllib3.exceptions import HTTPError, SSLError
from yarl import URL

from ._exchange import Exchange, Head, Request, Send, Step, Take, Wait
from .errors import AkinError, ConnectionFailed
from .rows import rows

T = TypeVar("T")
Item: TypeAlias = Union[Head, bytes, Mapping[str, Any], None]


@dataclass(frozen=True)
class Target:
    """Where a request goes, with the headers and the time that the server may send nothing."""

    url: str
    headers: Dict[str, str]
    timeout_s: float


Build: TypeAlias = Callable[[Request], Target]

LARGE_BYTES = 1 << 20

# Another try would meet with the same.
_HOPELESS = (SSLError, aiohttp.ClientConnectorCertificateError)


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

    def __init__(self, http: urllib3.PoolManager, build: Build, documents: Any) -> None:
        self._http = http
        self._build = build
        self._documents = rows(documents)
        self._response: Optional[urllib3.BaseHTTPResponse] = None
        self._what = ""

    def take(self, step: Step) -> Item:
        if isinstance(step, Take):
            return next(self._documents, None)
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            return None
        try:
            return self._send(step.request) if isinstance(step, Send) else self._read()
        except HTTPError as error:
            raise _failure(self._what, error) from error

    def _send(self, request: Request) -> Head:
        self.close()
        target = self._build(request)
        self._what = f"{request.method} {target.url}"
        self._response = self._http.request(
            request.method,
            target.url,
            body=request.body,
            headers=target.headers,
            timeout=target.timeout_s,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        return Head(self._response.status, self._response.headers.get("retry-after"))

    def _read(self) -> bytes:
        assert self._response is not None
        return self._response.read1()

    def close(self) -> None:
        if self._response is not None:
            self._response.close()


class AsyncWire:
    """Takes the steps of one exchange."""

    def __init__(self, http: aiohttp.ClientSession, build: Build, documents: Any) -> None:
        self._http = http
        self._build = build
        self._documents = _asynchronous(documents)
        self._response: Optional[aiohttp.ClientResponse] = None
        self._what = ""

    async def take(self, step: Step) -> Item:
        if isinstance(step, Take):
            return await _next(self._documents, None)
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await (self._send(step.request) if isinstance(step, Send) else self._read())
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            raise _failure(self._what, error) from error

    async def _send(self, request: Request) -> Head:
        self.close()
        target = self._build(request)
        self._what = f"{request.method} {target.url}"
        timeout_s = target.timeout_s
        self._response = await self._http.request(
            request.method,
            URL(target.url, encoded=True),
            data=_body(request),
            headers=target.headers,
            timeout=aiohttp.ClientTimeout(sock_connect=timeout_s, sock_read=timeout_s),
            allow_redirects=False,
        )
        return Head(self._response.status, self._response.headers.get("retry-after"))

    async def _read(self) -> bytes:
        assert self._response is not None
        return await self._response.content.readany()

    def close(self) -> None:
        if self._response is not None:
            self._response.close()


def _body(request: Request) -> Union[bytes, io.BytesIO, None]:
    """aiohttp sends large bodies in pieces, between which other tasks run, if they are files."""
    body = request.body
    return io.BytesIO(body) if body is not None and len(body) > LARGE_BYTES else body


async def _next(items: AsyncIterator[T], end: T) -> T:
    async for item in items:
        return item
    return end


async def _asynchronous(documents: Any) -> AsyncIterator[Mapping[str, Any]]:
    if hasattr(documents, "__aiter__"):
        async for document in documents:
            yield document
        return
    for document in rows(documents):
        yield document


def _failure(what: str, error: Exception) -> AkinError:
    reason = str(error) or type(error).__name__
    kind = AkinError if isinstance(error, _HOPELESS) else ConnectionFailed
    return kind(f"{what.split('?')[0]}: {reason}")
