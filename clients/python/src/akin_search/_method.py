"""What makes a method of both clients of a function that builds a call."""

from __future__ import annotations

import functools
import inspect
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generic,
    Iterator,
    Optional,
    TypeVar,
    get_args,
    overload,
)

from typing_extensions import ParamSpec, get_type_hints

from ._exchange import Call, Stream

if TYPE_CHECKING:
    from .client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class Method(Generic[P, R]):
    """A method of both clients for a function that builds a call, with its parameters and text.

    `Client` answers with the result, `AsyncClient` with an awaitable of it; a stream is an iterator
    of the one and an asynchronous iterator of the other.
    """

    def __init__(self, build: Callable[P, R]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The parameters, with each of the options."""
        signature = inspect.signature(self.build)
        hints = get_type_hints(self.build)
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
        self: Method[P, Call[T]], client: Client, owner: Optional[type]
    ) -> Callable[P, T]: ...
    @overload
    def __get__(
        self: Method[P, Stream[T]], client: Client, owner: Optional[type]
    ) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(
        self: Method[P, Call[T]], client: AsyncClient, owner: Optional[type]
    ) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(
        self: Method[P, Stream[T]], client: AsyncClient, owner: Optional[type]
    ) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: Optional[type]) -> Callable[P, Any]: ...
    def __get__(self, client: Any, owner: Optional[type]) -> Callable[P, Any]:
        @functools.wraps(self.build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}() {error}") from None
            if client is None:
                raise TypeError("call this method of a client, not of the class")
            built = self.build(*args, **kwargs)
            return client._call(built) if isinstance(built, Call) else client._stream(built)

        method.__name__ = self.name
        method.__signature__ = self.signature  # type: ignore[attr-defined]
        return method
