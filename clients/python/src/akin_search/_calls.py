"""The calls of the HTTP API, once for both clients: each function builds what is sent.

`**options` are the parameters that openapi.yaml has for the call, by their types in `types`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote
from uuid import uuid4
from warnings import warn

from typing_extensions import TypedDict, Unpack

from . import types
from ._bulk import Bulk, BulkResult, OnProgress
from ._exchange import NDJSON, Call, Exchange, Give, Request, Stream, encode, params, streamed
from .errors import IncompleteWarning
from .rows import checked_id, is_missing

Id = types.GivenId
Time = Union[str, datetime]


class Changes(TypedDict):
    """What was stored and removed, in order; the next call goes on at `position`."""

    changes: List[types.DocumentChanged]
    position: str


def insert(
    id: Optional[Id] = None,
    text: Optional[str] = None,
    *,
    html: Optional[str] = None,
    tokens: Optional[Collection[types.Token]] = None,
    fields: Optional[Mapping[str, str]] = None,
    signature: Optional[Sequence[int]] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    expires_at: Optional[Time] = None,
    **options: Unpack[types.AddDocumentsQuery],
) -> Call[types.Added]:
    """Adds a document, or replaces the one with this id. It is on disk when this returns.

    Give exactly one of `text`, `html` (a page, whose text is extracted), `tokens` (a ready-made
    set), `fields` (a record) and `signature`. The answer lists the near-duplicates that were there
    before; with `on_duplicate="skip"` a new document that has one is not stored, and a document
    whose id is stored is replaced. In a collection with `passages.words`, `passages=True` tells
    which documents share passages with it, and `on_contained="skip"` does not store a new document
    of which at least `containment_min` is in one of them. Without an id it gets a random one.
    """
    document = {
        # Made here, so that a document whose answer was lost can be sent again.
        "id": str(uuid4()) if id is None else checked_id(id),
        "metadata": metadata,
        "expires_at": expires_at,
        **_content(text=text, html=html, tokens=tokens, fields=fields, signature=signature),
    }
    return _posted("/documents", _given(document), **options)


def query(
    text: Optional[str] = None,
    *,
    id: Optional[Id] = None,
    html: Optional[str] = None,
    tokens: Optional[Collection[types.Token]] = None,
    fields: Optional[Mapping[str, str]] = None,
    signature: Optional[Sequence[int]] = None,
    **options: Unpack[types.SimilarToPostedQuery],
) -> Call[types.Answer]:
    """Finds the near-duplicates of a text, a page, a set, a record, or the stored document `id`.

    With `id` and a content the content is looked up if no document with the id is stored.
    With `k` it finds the k most similar documents, however unlike they are, and no `threshold`,
    `points`, `limit` or `offset` may be given. With `measure="containment"` it finds the documents
    that contain the probe, or with `of="match"` the documents that the probe contains, in
    collections with the setting `passages.words`.
    `filter` is a condition on metadata, such as `@.lang == "en" && @.year >= 2020`; `include` says
    what matches have besides their scores: `text`, `metadata`, `highlights` (the slices of their
    texts that the probe shares), or several of them; by default none.
    """
    contents = {
        "text": text,
        "html": html,
        "tokens": tokens,
        "fields": fields,
        "signature": signature,
    }
    probe = _content(**contents) if _given(contents) else _content(id=id, **contents)
    return _posted("/similar", _given({"id": checked_id(id), **probe, **options}))


def query_many(
    probes: Sequence[types.LookupProbe], **options: Unpack[types.SimilarToPostedQuery]
) -> Call[List[types.ProbeAnswer]]:
    """Looks up several probes in one request: an answer for each, in their order.

    A probe that cannot be looked up is answered by `{"error": …}`, also if the call has cost too
    much before it (`request_too_costly`).
    """
    return _posted("/similar", list(probes), **options)


def passages(
    text: Optional[str] = None,
    *,
    id: Optional[Id] = None,
    **options: Unpack[types.PassagesOfPostedQuery],
) -> Call[types.PassageAnswer]:
    """Finds the stored documents that share passages with a text, or with the stored document `id`.

    The collection needs the setting `passages.words`. The places of passages are slices of the
    texts: `text[start:end]`. `containment_min` is the least share of the probe's words in passages,
    or with `of="match"` of the match's words; `include=["metadata"]` adds the metadata of matches.
    """
    return _posted("/passages", {**_content(id=id, text=text), **_given(options)})


def passage_matches(
    text: Optional[str] = None,
    *,
    id: Optional[Id] = None,
    page: int = 1000,
    **options: Unpack[types.PassagesOfPostedQuery],
) -> Stream[types.PassageMatch]:
    """All matches of `passages`, `page` of them a request.

    A search that was truncated ends with an `IncompleteWarning`. The server returns the first
    10,000 matches (`limit_max`) and refuses to go on beyond them.
    """
    search = {**_content(id=id, text=text), **_given(options), "limit": page}

    def exchange(patience_s: float) -> Exchange[None]:
        offset = 0
        while True:
            answer = yield from _posted("/passages", {**search, "offset": offset}).result(
                patience_s
            )
            yield from map(Give, answer["matches"])
            if not answer["more"]:
                break
            offset += len(answer["matches"])
        if answer["truncated"]:
            warn(IncompleteWarning({"truncated": True}), stacklevel=2)

    return Stream(exchange)


def remove(id: Id) -> Call[None]:
    """Removes a document; `document_not_found` if there is none."""
    return Call(Request("DELETE", _document(id)), _nothing)


def remove_many(ids: Iterable[Id]) -> Call[types.Removed]:
    """Removes the stored documents among these ids."""
    return _posted("/remove", {"ids": _ids(ids)})


def remove_where(**conditions: Unpack[types.RemoveDocumentsQuery]) -> Call[types.Removed]:
    """Removes every document that meets the conditions, of which at least one is needed."""
    return Call(Request("DELETE", "/documents", params(**conditions)), json.loads)


def get(id: Id, **options: Unpack[types.GetDocumentQuery]) -> Call[types.StoredDocument]:
    """A stored document; `include` adds its `sketch`, its `shingles`, or both."""
    return _got(_document(id), **options)


def get_many(
    ids: Iterable[Id], **options: Unpack[types.FetchDocumentsQuery]
) -> Call[types.Fetched]:
    """The stored documents among these ids, in their order, and the ids that are not stored."""
    return _posted("/fetch", {"ids": _ids(ids)}, **options)


def change(id: Id, **changes: Unpack[types.DocumentChange]) -> Call[types.Added]:
    """Changes `metadata` or `expires_at` of a stored document and leaves its content as it is.

    The change is a merge patch: `metadata={"lang": "en", "draft": None}` sets one field and removes
    another, and `metadata=None` removes all.
    """
    return Call(Request("PATCH", _document(id), body=encode(changes)), json.loads)


def compare(
    a: Union[Id, types.Probe],
    b: Union[Id, types.Probe],
    **options: Unpack[types.ComparePostedQuery],
) -> Call[types.Comparison]:
    """The Jaccard similarity of two documents, each the id of a stored one or a probe."""
    sides = {"a": a, "b": b}
    pair = {
        name: side if isinstance(side, Mapping) else {"id": checked_id(side)}
        for name, side in sides.items()
    }
    return _posted("/resemblance", pair, **options)


def collapse(
    ids: Optional[Iterable[Id]] = None,
    *,
    hits: Optional[Iterable[types.Hit]] = None,
    **options: Unpack[types.CollapseQuery],
) -> Call[types.Collapsed]:
    """Keeps the highest-ranked of each group of near-duplicates in a ranked list.

    The list has `ids` of stored documents, or `hits` with ids or texts; the answer names hits by
    their positions.
    """
    if hits is None:
        return _posted("/collapse", {"ids": _ids(ids or [])}, **options)
    if ids is not None:
        raise TypeError("give either ids or hits")
    return _posted("/collapse", {"hits": list(hits)}, **options)


def pairs(**options: Unpack[types.PairsQuery]) -> Stream[types.FoundPair]:
    """Every pair of near-duplicates, while the server finds them."""
    return streamed(Request("GET", "/pairs", params(**options)))


def clusters(**options: Unpack[types.ClustersQuery]) -> Stream[types.Cluster]:
    """All clusters of near-duplicates, by their representatives."""
    return streamed(Request("GET", "/clusters", params(**options)))


def cluster_of(id: Id, **options: Unpack[types.ClustersQuery]) -> Call[types.Cluster]:
    """The cluster of a stored document: it alone if it has no near-duplicates."""
    query = params(id=id, **options)
    return Call(Request("GET", "/clusters", query), lambda body: _values(body)[0])


def changes(**options: Unpack[types.ChangesQuery]) -> Call[Changes]:
    """The documents that were stored or removed since the `position` of an earlier answer.

    Without `since` the answer has the position of now alone. `wait_s` is how long to wait if
    nothing has happened; `changes_gone` means that all documents must be read again.
    """
    wait_s = options.get("wait_s") or 0
    return Call(Request("GET", "/changes", params(**options), wait_s=wait_s), _changes)


def _changes(body: bytes) -> Changes:
    *lines, end = _values(body)
    return {"changes": lines, "position": end["position"]}


def export(**options: Unpack[types.ExportDocumentsQuery]) -> Stream[types.ExportedLine]:
    """Every document from one consistent view, as it can be inserted again."""
    return streamed(Request("GET", "/export", params(**options)))


def ids(
    *,
    after: Optional[Id] = None,
    page: int = 1000,
    **conditions: Unpack[types.RemoveDocumentsQuery],
) -> Stream[str]:
    """The ids of all documents that meet the conditions, in byte order, those after `after`.

    `page` is how many a request brings.
    """

    def exchange(patience_s: float) -> Exchange[None]:
        last: Optional[Id] = after
        while True:
            got = _got("/documents", after=last, limit=page, **conditions)
            answer = yield from got.result(patience_s)
            yield from map(Give, answer["ids"])
            last = answer.get("next")
            if last is None:
                return

    return Stream(exchange)


def count(**conditions: Unpack[types.RemoveDocumentsQuery]) -> Call[int]:
    """The number of documents that meet the conditions; without any, of all documents."""
    query = params(count=True, limit=1, **conditions)
    return Call(Request("GET", "/documents", query), lambda body: json.loads(body)["count"])


def bulk(
    documents: Any,
    *,
    progress: Optional[OnProgress] = None,
    patience_s: float = 60.0,
    **options: Unpack[types.AddDocumentsQuery],
) -> Stream[BulkResult]:
    """Inserts any number of documents, in requests of at most 512 documents or 1 MiB.

    Yields a result for each document while it goes on; a refused one has the status `error`.
    Nothing is sent before the first result is taken, and not all is sent before the last is.

    `documents` is an iterable of dictionaries, or of rows as `akin_search.documents` takes them,
    whose columns are those of a document; for `AsyncClient` also an asynchronous iterable.
    `progress` is called after each request. `patience_s` is how long to wait, in sum and without
    progress, before tries of a request that was refused for the time being or whose connection
    failed.
    """
    request = Request("POST", "/documents", params(**options), media=NDJSON)
    return Stream(Bulk(request, progress, patience_s).exchange, documents)


def collections() -> Call[List[str]]:
    """The names of all collections that the key covers."""
    return Call(Request("GET", "/collections", in_collection=False), _names)


def create_collection(
    name: str, settings: Optional[types.Settings] = None
) -> Call[types.Collection]:
    """Creates a collection, or finds it with these settings; else `collection_exists`."""
    body = encode(settings or {})
    request = Request("PUT", _collection(name), body=body, in_collection=False)
    return Call(request, json.loads)


def request(
    method: str,
    path: str,
    *,
    params: Optional[Mapping[str, str]] = None,
    json: Any = None,
) -> Call[Any]:
    """Any other call that is answered by JSON, by its path, such as `GET /openapi.json`."""
    body = None if json is None else encode(json)
    return Call(Request(method, path, params or {}, body, in_collection=False), _any)


def _got(path: str, **query: Any) -> Call[Any]:
    return Call(Request("GET", path, params(**query)), json.loads)


def _posted(path: str, body: Any, **query: Any) -> Call[Any]:
    return Call(Request("POST", path, params(**query), encode(body)), json.loads)


def _content(**contents: Any) -> Dict[str, Any]:
    given = _given(contents)
    if len(given) != 1:
        what = " and ".join(sorted(given)) or "none"
        raise TypeError(f"exactly one of {', '.join(contents)} is needed, not {what}")
    for name, value in given.items():
        if is_missing(value):
            raise ValueError(f"{name} is {value!r}, a missing value of pandas")
    if isinstance(given.get("tokens"), (str, bytes)):
        raise TypeError("a set of tokens is needed, not a string: that would be a text")
    checked_id(given.get("id"))
    return given


def _ids(ids: Iterable[Id]) -> List[Id]:
    """A string is an iterable of strings, too, but of no ids."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"a list of ids is needed, not a single {type(ids).__name__}")
    return [checked_id(id) for id in ids]


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _document(id: Id) -> str:
    return "/documents/" + quote(str(checked_id(id)), safe="")


def _collection(name: str) -> str:
    return "/collections/" + quote(name, safe="")


def _values(lines: bytes) -> List[Any]:
    return [json.loads(line) for line in lines.splitlines()]


def _names(content: bytes) -> List[str]:
    return [entry["name"] for entry in json.loads(content)["collections"]]


def _any(content: bytes) -> Any:
    return json.loads(content) if content else None


def _nothing(content: bytes) -> None:
    del content
