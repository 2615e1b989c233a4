"""Sets and signatures: what documents are made of here."""

from __future__ import annotations

import struct
from typing import Any, Callable, Dict, Generator, Iterable, List, Optional, Set, Union

from typing_extensions import TypeAlias

Sketchable: TypeAlias = Any
"""A `MinHash` of either package, the bytes of a `LeanMinHash`, or a set of strings or bytes."""


class MinHash:
    """A set that is built as datasketch's `MinHash` is. It remembers its elements.

    So `jaccard` and `count` are exact, and memory grows with the set. `num_perm` and `seed` are
    only compared with those of the index and of other MinHashes. `hashfunc`, `hashobj`, `scheme`
    and `gpu_mode` have no effect: nothing is hashed here, and akin's hash functions are its own.
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Optional[Callable[..., int]] = None,
        hashobj: Any = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: Optional[str] = None,
    ) -> None:
        del gpu_mode, hashfunc, hashobj, scheme
        if hashvalues is not None or permutations is not None:
            raise TypeError(
                "no set can be restored from hashvalues or permutations: make this one with "
                "datasketch.MinHash, which akin_search.datasketch.MinHashLSH takes as it is"
            )
        self.num_perm = num_perm
        self.seed = seed
        self.tokens: Set[str] = set()

    def update(self, b: Union[bytes, str]) -> None:
        self.tokens.add(_token(b))

    def update_batch(self, b: Iterable[Union[bytes, str]]) -> None:
        self.tokens.update(map(_token, b))

    def jaccard(self, other: MinHash) -> float:
        """The exact Jaccard similarity; 1 of two empty sets."""
        self._check(other)
        union = len(self.tokens | other.tokens)
        return len(self.tokens & other.tokens) / union if union else 1.0

    def count(self) -> float:
        return float(len(self.tokens))

    def merge(self, other: MinHash) -> None:
        self._check(other)
        self.tokens |= other.tokens

    def is_empty(self) -> bool:
        return not self.tokens

    def clear(self) -> None:
        self.tokens.clear()

    def copy(self) -> MinHash:
        return MinHash.union(self)

    @classmethod
    def union(cls, *minhashes: MinHash) -> MinHash:
        if not minhashes:
            raise ValueError("cannot make a union of no MinHash")
        merged = cls(minhashes[0].num_perm, minhashes[0].seed)
        for minhash in minhashes:
            merged.merge(minhash)
        return merged

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Union[bytes, str]]], **options: Any) -> List[MinHash]:
        return list(cls.generator(b, **options))

    @classmethod
    def generator(
        cls, b: Iterable[Iterable[Union[bytes, str]]], **options: Any
    ) -> Generator[MinHash, None, None]:
        for elements in b:
            minhash = cls(**options)
            minhash.update_batch(elements)
            yield minhash

    def __len__(self) -> int:
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MinHash):
            return False
        return (self.num_perm, self.seed, self.tokens) == (other.num_perm, other.seed, other.tokens)

    def _check(self, other: MinHash) -> None:
        """As there, where such MinHashes cannot be compared."""
        if not isinstance(other, MinHash):
            raise TypeError(
                f"an akin_search.datasketch.MinHash is needed, not {type(other).__name__}"
            )
        if self.seed != other.seed:
            raise ValueError("Cannot compare or merge MinHashes with different seeds")
        if self.num_perm != other.num_perm:
            raise ValueError("Cannot compare or merge MinHashes with different numbers of values")

    __hash__ = None  # type: ignore[assignment]


def signature(minhash: Any) -> List[int]:
    """The hash values of datasketch's `MinHash` or `LeanMinHash`, or of the latter's bytes.

    Those are what `LeanMinHash.serialize` writes in native byte order.
    """
    if isinstance(minhash, (bytes, bytearray, memoryview)):
        return _deserialize(bytes(minhash))
    if getattr(minhash.hashvalues, "ndim", 1) != 1:
        raise TypeError(
            "a WeightedMinHash is not supported: insert the set itself, as tokens with their "
            "counts, into a collection with the setting shingles.multiset"
        )
    return [int(value) for value in minhash.hashvalues]


def _deserialize(data: bytes) -> List[int]:
    """An `int64` seed and an `int32` count, then as many values of 32 bits. Since version 2 a
    negative count stands for further schemes: a byte says which, and only 2 has 64 bits."""
    _, count = struct.unpack_from("@qi", data)
    start, kind = struct.calcsize("@qi"), "I"
    if count < 0:
        scheme = data[start]
        kind = "Q" if scheme == 2 else "I"
        start = struct.calcsize("@qiB0" + kind)
    values = struct.unpack_from(f"@{abs(count)}{kind}", data, start)
    return list(values)


def content(minhash: Sketchable, num_perm: int) -> Dict[str, Any]:
    """What a document or a probe has of it."""
    if isinstance(minhash, MinHash):
        if len(minhash) != num_perm:
            raise ValueError(f"Expecting minhash with length {num_perm}, got {len(minhash)}")
        return {"tokens": sorted(minhash.tokens)}
    if hasattr(minhash, "hashvalues") or isinstance(minhash, (bytes, bytearray, memoryview)):
        values = signature(minhash)
        if len(values) != num_perm:
            raise ValueError(f"Expecting minhash with length {num_perm}, got {len(values)}")
        return {"signature": values}
    if isinstance(minhash, str):
        raise TypeError("a set is needed, not a string")
    return {"tokens": sorted(set(map(_token, minhash)))}


def _token(element: Union[bytes, str]) -> str:
    """Bytes that are not UTF-8 are written as hexadecimal digits after a NUL."""
    if isinstance(element, str):
        return element
    try:
        return element.decode()
    except UnicodeDecodeError:
        return "\0" + element.hex()
