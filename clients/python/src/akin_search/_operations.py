"""The methods of the operations that have none in `_calls`.

Written by clients/generate.py from openapi.yaml.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from typing_extensions import Unpack

from . import types
from ._exchange import Call, Request, encode, params
from ._method import Method


def _curve(**options: Unpack[types.CurveQuery]) -> Call[types.Curve]:
    """Draw the S-curve.

    Returns the S-curve of MinHash LSH over the collection's sketches, the chance to find a
    document by its Jaccard similarity: for the collection's own scheme, for the scheme that
    akin would choose for a `threshold` and `recall`, or for `bands` keys of `rows` slots. It
    is computed; `GET /recall` measures.
    """
    path = "/curve"
    return Call(Request("GET", path, params(**options)), json.loads)


def _stats() -> Call[types.Stats]:
    """Statistics of the collection.

    Returns sizes, memory, running discoveries and settings.
    """
    path = "/stats"
    return Call(Request("GET", path), json.loads)


def _recall(**options: Unpack[types.RecallQuery]) -> Call[types.Recall]:
    """Measure recall.

    Looks up documents drawn at random, in mode `verified`, compares them with every stored
    set of one consistent view, and returns recall and precision. Documents that are written
    during the measurement do not count. Without `sample`, 200 documents are drawn, or as many
    as `server.request_cost_max` allows; a larger sample is refused with 422
    `request_too_costly`, which names the largest sample. For larger collections let the
    server measure (`storage.recall_interval_s`). A measurement counts as a discovery
    (`server.discoveries_max`), and a second measurement of the same collection at the same
    time is refused with 503.
    """
    path = "/recall"
    return Call(Request("GET", path, params(**options)), json.loads)


def _list_snapshots() -> Call[types.Snapshots]:
    """List snapshots.

    Returns the complete snapshots of the collection.
    """
    path = "/snapshots"
    return Call(Request("GET", path), json.loads)


def _take_snapshot() -> Call[types.Status]:
    """Take a snapshot.

    Starts a snapshot, unless a snapshot is being written already. `GET /snapshots` lists it
    once it is complete.
    """
    path = "/snapshots"
    return Call(Request("POST", path), json.loads)


def _describe_collection(name: str) -> Call[types.Collection]:
    """Describe a collection.

    Returns a collection's settings, size, memory and keys.
    """
    path = f"/collections/{quote(name, safe='')}"
    return Call(Request("GET", path, in_collection=False), json.loads)


def _remove_collection(name: str) -> Call[None]:
    """Remove a collection.

    Removes a collection and its data. Running requests on it may read to their end; their
    writes are refused with 503 `out_of_service`. `default` cannot be removed.
    """
    path = f"/collections/{quote(name, safe='')}"
    return Call(Request("DELETE", path, in_collection=False), lambda _: None)


def _describe_reindex(name: str) -> Call[types.Reindex]:
    """Show how far a reindex is.

    The last reindex of this collection since the server started.
    """
    path = f"/collections/{quote(name, safe='')}/reindex"
    return Call(Request("GET", path, in_collection=False), json.loads)


def _reindex(name: str, body: types.Settings) -> Call[types.Reindex]:
    """Reindex a collection.

    Builds the collection again under these settings, from its own texts, while it is served
    and takes writes. Then the new collection takes its place at once, with every document and
    every write until then. Settings that are left out have their defaults, as when a
    collection is made. Answers at once; `GET` returns the progress. If it fails, or the
    server stops before the end, the collection is as it was. Needs as much room on the disk
    as the collection takes. The configuration has the settings of `default`: `akin reindex`
    builds `default` again while no server is running.
    """
    path = f"/collections/{quote(name, safe='')}/reindex"
    return Call(Request("POST", path, body=encode(body), in_collection=False), json.loads)


def _cancel_reindex(name: str) -> Call[types.Reindex]:
    """Cancel a reindex.

    It stops within moments, and the collection is as it was. A reindex that has ended does
    not change.
    """
    path = f"/collections/{quote(name, safe='')}/reindex"
    return Call(Request("DELETE", path, in_collection=False), json.loads)


class Operations:
    """The table of these methods, for both clients."""

    curve = Method(_curve)
    stats = Method(_stats)
    recall = Method(_recall)
    list_snapshots = Method(_list_snapshots)
    take_snapshot = Method(_take_snapshot)
    describe_collection = Method(_describe_collection)
    remove_collection = Method(_remove_collection)
    describe_reindex = Method(_describe_reindex)
    reindex = Method(_reindex)
    cancel_reindex = Method(_cancel_reindex)
