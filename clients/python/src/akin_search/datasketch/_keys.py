"""Keys as ids: datasketch's are any hashable value, akin's are strings."""

from __future__ import annotations

import ast
import numbers
from typing import Any, Callable, Hashable, Optional

MARK = "py:"
"""What the ids of keys that are not strings begin with; Python's literal of the key follows."""


def id_of(key: Hashable, key_type: Optional[Callable[[str], Any]]) -> str:
    """The id of a key: a string as it is, any other as its literal, such as `py:17`.

    With a `key_type`, which makes a key of its own `str()`, ids are those strings.
    """
    if key_type is not None:
        return _plain(key, key_type)
    if isinstance(key, str):
        return MARK + repr(str(key)) if key.startswith(MARK) else str(key)
    # Those of numpy have no literal, and are equal to Python's.
    value = int(key) if isinstance(key, numbers.Integral) else key
    if not _has_literal(value):
        kind = type(key).__name__
        raise TypeError(
            f"a key of type {kind} cannot be restored from its id: strings, numbers, bytes, None "
            "and tuples of such can, and others with a key_type that makes them of their str()"
        )
    return MARK + repr(value)


def key_of(id: str, key_type: Optional[Callable[[str], Any]]) -> Any:
    """The key of an id, also of one that another program made."""
    if key_type is not None:
        return key_type(id)
    if not id.startswith(MARK):
        return id
    try:
        return ast.literal_eval(id[len(MARK) :])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return id


def _plain(key: Hashable, key_type: Callable[[str], Any]) -> str:
    id = str(key)
    if key_type(id) != key:
        kind = type(key).__name__
        raise TypeError(f"a key of type {kind} needs a key_type that makes it of its str()")
    return id


def _has_literal(value: Any) -> bool:
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(_has_literal, value))
    if isinstance(value, float):
        return type(value) is float and value - value == 0.0  # neither infinite nor NaN
    return value is None or type(value) in (int, bool, str, bytes, complex)
