"""The protocol without input and output, shared by both clients.

An exchange is a generator: it yields the next step and is sent what came of it. `Client` and
`AsyncClient` differ only in how they take the steps. A connection that fails is thrown into the
generator as `ConnectionFailed`.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    Generic,
    Iterator,
    Mapping,
    Optional,
    TypeVar,
    Union,
)

from typing_extensions import TypeAlias

from .errors import AkinError, ConnectionFailed, IncompleteWarning, ProblemError

T = TypeVar("T")

JSON = "application/json"
NDJSON = "application/x-ndjson"

WAIT_FIRST_S = 0.25
WAIT_MAX_S = 10.0


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    media: str = JSON
    in_collection: bool = True
    """Whether the path is one below that of a collection."""
    wait_s: float = 0
    """How long the server may wait before it answers."""


@dataclass(frozen=True)
class Head:
    """The beginning of a response."""

    status: int
    retry_after: Optional[str]


@dataclass(frozen=True)
class Send:
    """Answered by the `Head` of the response."""

    request: Request


@dataclass(frozen=True)
class Read:
    """Answered by further bytes of the response's body, none at its end."""


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Take:
    """Answered by the caller's next document, or `None` after the last."""


@dataclass(frozen=True)
class Give:
    """An item for the caller."""

    item: Any


Step: TypeAlias = Union[Send, Read, Wait, Take, Give]
Exchange: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that is answered as a whole."""

    request: Request
    parse: Callable[[bytes], T]

    def exchange(self, patience_s: float) -> Exchange[None]:
        yield Give((yield from self.result(patience_s)))

    def result(self, patience_s: float) -> Exchange[T]:
        backoff = Backoff(patience_s)
        while True:
            try:
                head: Head = yield Send(self.request)
                content = yield from read_all()
            except ConnectionFailed as failure:
                yield backoff.wait(failure)
                continue
            if head.status < 400:
                return self.parse(content)
            yield backoff.wait(ProblemError.parse(head.status, content, head.retry_after))


@dataclass(frozen=True)
class Stream(Generic[T]):
    """Items that arrive one by one. `Take` takes from `documents`."""

    exchange: Callable[[float], Exchange[None]]
    documents: Any = ()


def streamed(request: Request) -> Stream[Any]:
    """A request that is answered by NDJSON. It is not sent again once the answer has begun."""

    def exchange(patience_s: float) -> Exchange[None]:
        yield from send_until_accepted(request, Backoff(patience_s))
        lines = Lines()
        while True:
            chunk: bytes = yield Read()
            if not chunk:
                break
            for line in lines.feed(chunk):
                value = json.loads(line)
                if isinstance(value, dict) and value.keys() == {"incomplete"}:
                    warnings.warn(IncompleteWarning(value["incomplete"]), stacklevel=2)
                else:
                    yield Give(value)
        lines.end()

    return Stream(exchange)


class Backoff:
    """How long to wait before the next try, and when to give up.

    Only the time that is spent waiting counts as patience.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self.reset()

    def reset(self) -> None:
        """Called after progress."""
        self._left_s = self._patience_s
        self._next_s = WAIT_FIRST_S

    def wait(self, failure: AkinError) -> Wait:
        """The pause before the next try; raises the failure if there should be none."""
        if isinstance(failure, ProblemError) and not failure.is_temporary:
            raise failure
        named_s = getattr(failure, "retry_after_s", None)
        least_s = self._next_s / 2 if named_s is None else named_s
        if least_s > self._left_s:
            raise failure
        # Clients that were refused at the same time must not all come back at the same time.
        spread_s = max(named_s or 0, self._next_s) / 2
        pause_s = min(least_s + random.uniform(0, spread_s), self._left_s)
        self._left_s -= pause_s
        self._next_s = min(2 * self._next_s, WAIT_MAX_S)
        return Wait(pause_s)


class Lines:
    """Cuts a body into its lines."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._rest += chunk
        if b"\n" not in chunk:
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        yield from filter(None, lines)

    def end(self) -> None:
        """An answer that ends within a line was cut off."""
        if self._rest:
            raise ConnectionFailed("the answer ended within a line")


def send_until_accepted(request: Request, backoff: Backoff) -> Exchange[None]:
    while True:
        try:
            head: Head = yield Send(request)
            if head.status < 400:
                return
            content = yield from read_all()
        except ConnectionFailed as failure:
            yield backoff.wait(failure)
            continue
        yield backoff.wait(ProblemError.parse(head.status, content, head.retry_after))


def read_all() -> Exchange[bytes]:
    content = bytearray()
    while True:
        chunk: bytes = yield Read()
        if not chunk:
            return bytes(content)
        content += chunk


def encode(value: Any) -> bytes:
    """JSON without line breaks."""
    try:
        text = json.dumps(
            value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except ValueError as error:
        where = _not_finite(value, "")
        if where is None:
            raise
        raise ValueError(f"{where} is not a finite number, and JSON has no other") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair. Escaped, it is for the server to refuse, and only this document.
        return json.dumps(value, default=_plain, allow_nan=False).encode()


def _not_finite(value: Any, at: str) -> Optional[str]:
    """Where there is a number that JSON does not have, such as `metadata.year` in a document."""
    if isinstance(value, float):
        return None if math.isfinite(value) else at or "the value"
    if isinstance(value, (set, frozenset)) or hasattr(value, "tolist"):
        value = _plain(value)
    if isinstance(value, Mapping):
        parts = ((f"{at}.{name}" if at else str(name), part) for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        parts = ((f"{at}[{i}]", part) for i, part in enumerate(value))
    else:
        return None
    return next((found for at, part in parts if (found := _not_finite(part, at))), None)


def _plain(value: Any) -> Any:
    """Times, and the scalars and arrays of numpy and pandas, as JSON has them."""
    if hasattr(value, "isoformat"):
        return timestamp(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")


def timestamp(value: Any) -> str:
    """RFC 3339. A time without zone is one in UTC."""
    if isinstance(value, str):
        return value
    if hasattr(value, "tzinfo") and value.tzinfo is None:
        return f"{value.isoformat()}Z"
    return str(value.isoformat())


def params(**values: Any) -> Dict[str, str]:
    """Query parameters, without those that are not given."""
    return {name: _param(value) for name, value in values.items() if value is not None}


def _param(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        return timestamp(value)
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        return ",".join(value)
    return str(value)
