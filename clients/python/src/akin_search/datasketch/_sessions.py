"""What `MinHashLSH` gives out: its keys and its sessions."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Generic,
    Hashable,
    Iterator,
    Optional,
    Type,
    cast,
)

from typing_extensions import Self, TypeVar

from .._bulk import BulkResult
from ..errors import ProblemError
from ._minhash import Sketchable

if TYPE_CHECKING:
    from ._lsh import MinHashLSH

Key = TypeVar("Key", bound=Hashable, default=Any)


class Keys(Generic[Key]):
    """The keys of an index, as far as `MinHashLSH.keys` of datasketch is used from outside."""

    def __init__(self, lsh: MinHashLSH[Key]) -> None:
        self._lsh = weakref.proxy(lsh)

    def __iter__(self) -> Iterator[Key]:
        if self._lsh._is_created():
            yield from map(self._lsh._key, self._lsh._client.ids())

    def keys(self) -> Iterator[Key]:
        return iter(self)

    def __contains__(self, key: Key) -> bool:
        return key in self._lsh

    def __len__(self) -> int:
        if not self._lsh._is_created():
            return 0
        found = self._lsh._root.describe_collection(self._lsh._client.name)
        return cast(int, found["documents"])


class InsertionSession(Generic[Key]):
    def __init__(self, lsh: MinHashLSH[Key], buffer_size: int) -> None:
        self._lsh = lsh
        self._buffer_size = buffer_size
        self._buffer: Dict[str, Dict[str, Any]] = {}

    def insert(self, key: Key, minhash: Sketchable, check_duplication: bool = True) -> None:
        document = self._lsh._document(key, minhash)
        if check_duplication and (document["id"] in self._buffer or key in self._lsh):
            raise ValueError("The given key already exists")
        self._buffer[document["id"]] = document
        if len(self._buffer) >= self._buffer_size:
            self.close()

    def close(self) -> None:
        buffer, self._buffer = self._buffer, {}
        check(self._lsh._client.bulk(buffer.values(), check=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class DeletionSession(Generic[Key]):
    def __init__(self, lsh: MinHashLSH[Key]) -> None:
        self.remove = lsh.remove

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def check(results: Iterator[BulkResult]) -> None:
    """Takes all results; raises the first refusal after the others were stored."""
    first: Optional[ProblemError] = None
    for result in results:
        if result["status"] == "error" and first is None:
            problem = dict(result["problem"])
            problem["detail"] = f"{result['id']}: {problem['detail']}"
            first = ProblemError(problem)
    if first is not None:
        raise first
