"""Client of akin, the near-duplicate search server.

    client = akin_search.Client()
    client.insert("news/1", "The night bus will stop at the old fish market instead of the pier.")
    client.query("The night bus will stop at the old fish market, not at the pier.", threshold=0.5)

`Server` starts a server on a free port. `AsyncClient` is the same for asyncio, and
`akin_search.datasketch` takes the place of datasketch's `MinHash` and `MinHashLSH`. `dedup` and
`decontaminate` take tables, datasets and files, and need no server.
"""

from . import types
from ._bulk import BulkResult, FailedLine, Progress
from .client import AsyncClient, Client
from .errors import (
    AkinError,
    CommandFailed,
    ConnectionFailed,
    IncompleteWarning,
    ProblemError,
    ServerFailed,
)
from .rows import documents
from .server import Server
from .tables import decontaminate, dedup

__all__ = [
    "AkinError",
    "AsyncClient",
    "BulkResult",
    "Client",
    "CommandFailed",
    "ConnectionFailed",
    "FailedLine",
    "IncompleteWarning",
    "ProblemError",
    "Progress",
    "Server",
    "ServerFailed",
    "decontaminate",
    "dedup",
    "documents",
    "types",
]
__version__ = "0.1.0"
