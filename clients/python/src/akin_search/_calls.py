"""The calls of the HTTP API, once for both clients: each function builds what is sent."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote
from uuid import uuid4
from warnings import warn

from . import types
from ._bulk import Bulk, OnProgress
from ._exchange import NDJSON, Call, Exchange, Give, Request, Stream, encode, params, timestamp
from .errors import IncompleteWarning

Time = Union[str, datetime]


def insert(
    id: Optional[str] = None,
    text: Optional[str] = None,
    *,
    tokens: Optional[Collection[types.Token]] = None,
    fields: Optional[Mapping[str, str]] = None,
    signature: Optional[Sequence[int]] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    expires_at: Optional[Time] = None,
    check: Optional[bool] = None,
    on_duplicate: Optional[types.OnDuplicate] = None,
    threshold: Optional[float] = None,
    points: Optional[int] = None,
    passages: Optional[bool] = None,
    on_contained: Optional[types.OnDuplicate] = None,
    containment_min: Optional[float] = None,
    of: Optional[types.ContainedOf] = None,
) -> Call[types.Added]:
    """Adds a document, or replaces the one with this id. It is on disk when this returns.

    Give exactly one of `text`, `tokens` (a ready-made set), `fields` (a record) and `signature`.
    The answer lists the near-duplicates that were there before; with `on_duplicate="skip"` a new
    document that has one is not stored, and a document whose id is stored is replaced. In a
    collection with `passages.words`, `passages=True` tells which documents share passages with it,
    and `on_contained="skip"` does not store a new document of which at least `containment_min` is
    in one of them. Without an id it gets a random one.
    """
    document = {
        # Made here, so that a document whose answer was lost can be sent again.
        "id": str(uuid4()) if id is None else id,
        "metadata": metadata,
        "expires_at": None if expires_at is None else timestamp(expires_at),
        **_content(text=text, tokens=tokens, fields=fields, signature=signature),
    }
    query = params(
        check=check,
        on_duplicate=on_duplicate,
        threshold=threshold,
        points=points,
        passages=passages,
        on_contained=on_contained,
        containment_min=containment_min,
        of=of,
    )
    return Call(Request("POST", "/documents", query, encode(_given(document))), json.loads)


def query(
    text: Optional[str] = None,
    *,
    id: Optional[str] = None,
    tokens: Optional[Collection[types.Token]] = None,
    fields: Optional[Mapping[str, str]] = None,
    signature: Optional[Sequence[int]] = None,
    k: Optional[int] = None,
    measure: Optional[types.Measure] = None,
    of: Optional[types.ContainedOf] = None,
    threshold: Optional[float] = None,
    points: Optional[int] = None,
    limit: Optional[int] = None,
    mode: Optional[types.Mode] = None,
    filter: Optional[str] = None,
    stored_after: Optional[Time] = None,
    stored_before: Optional[Time] = None,
    offset: Optional[int] = None,
    include: Optional[Sequence[str]] = None,
) -> Call[types.Answer]:
    """Finds the near-duplicates of a text, a set, a record, or of the stored document `id`.

    With `k` it finds the k most similar documents, however unlike they are, and no `threshold`,
    `points`, `limit` or `offset` may be given. With `measure="containment"` it finds the documents
    that contain the probe, or with `of="match"` the documents that the probe contains, in
    collections with the setting `passages.words`.
    `filter` is a condition on metadata, such as `@.lang == "en" && @.year >= 2020`; `include` says
    what matches have besides their scores: `text`, `metadata` or both; by default neither.
    """
    probe = {
        **_content(id=id, text=text, tokens=tokens, fields=fields, signature=signature),
        "k": k,
        "measure": measure,
        "of": of,
        "threshold": threshold,
        "points": points,
        "limit": limit,
        "mode": mode,
        "filter": filter,
        "stored_after": None if stored_after is None else timestamp(stored_after),
        "stored_before": None if stored_before is None else timestamp(stored_before),
    }
    options = params(offset=offset, include=include)
    return Call(Request("POST", "/similar", options, encode(_given(probe))), json.loads)


def query_many(
    probes: Sequence[types.Probe],
    *,
    k: Optional[int] = None,
    measure: Optional[types.Measure] = None,
    of: Optional[types.ContainedOf] = None,
    threshold: Optional[float] = None,
    limit: Optional[int] = None,
    mode: Optional[types.Mode] = None,
    filter: Optional[str] = None,
    include: Optional[Sequence[str]] = None,
) -> Call[List[Union[types.Answer, types.FailedProbe]]]:
    """Looks up several probes in one request: an answer for each, in their order.

    A probe that cannot be looked up is answered by `{"error": …}`, also if the call has cost too
    much before it (`request_too_costly`).
    """
    options = params(
        k=k,
        measure=measure,
        of=of,
        threshold=threshold,
        limit=limit,
        mode=mode,
        filter=filter,
        include=include,
    )
    return Call(Request("POST", "/similar", options, encode(list(probes))), json.loads)


def passages(
    text: Optional[str] = None,
    *,
    id: Optional[str] = None,
    words_min: Optional[int] = None,
    containment_min: Optional[float] = None,
    of: Optional[types.ContainedOf] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    filter: Optional[str] = None,
    stored_after: Optional[Time] = None,
    stored_before: Optional[Time] = None,
    include: Optional[Sequence[str]] = None,
) -> Call[types.PassageAnswer]:
    """Finds the stored documents that share passages with a text, or with the stored document `id`.

    The collection needs the setting `passages.words`. The places of passages are slices of the
    texts: `text[start:end]`. `containment_min` is the least share of the probe's words in passages,
    or with `of="match"` of the match's words; `include=["metadata"]` adds the metadata of matches.
    """
    options = params(
        words_min=words_min,
        containment_min=containment_min,
        of=of,
        limit=limit,
        offset=offset,
        filter=filter,
        stored_after=stored_after,
        stored_before=stored_before,
        include=include,
    )
    body = encode(_content(id=id, text=text))
    return Call(Request("POST", "/passages", options, body), json.loads)


class PassageMatches(Stream[types.PassageMatch]):
    """Matches of a search for passages, a page at a time."""

    def exchange(self, patience_s: float) -> Exchange[None]:
        query, offset = dict(self.request.params), 0
        while True:
            request = Request(
                "POST", "/passages", {**query, "offset": str(offset)}, self.request.body
            )
            answer = yield from Call(request, json.loads).result(patience_s)
            for match in answer["matches"]:
                yield Give(match)
            if not answer["more"]:
                break
            offset += len(answer["matches"])
        if answer["truncated"]:
            warn(IncompleteWarning({"truncated": True}), stacklevel=2)


def passage_matches(
    text: Optional[str] = None,
    *,
    id: Optional[str] = None,
    words_min: Optional[int] = None,
    containment_min: Optional[float] = None,
    of: Optional[types.ContainedOf] = None,
    filter: Optional[str] = None,
    stored_after: Optional[Time] = None,
    stored_before: Optional[Time] = None,
    include: Optional[Sequence[str]] = None,
    page: int = 1000,
) -> Stream[types.PassageMatch]:
    """All matches of `passages`, `page` of them a request.

    A search that was truncated ends with an `IncompleteWarning`. The server returns the first
    10,000 matches (`limit_max`) and refuses to go on beyond them.
    """
    call = passages(
        text,
        id=id,
        words_min=words_min,
        containment_min=containment_min,
        of=of,
        limit=page,
        filter=filter,
        stored_after=stored_after,
        stored_before=stored_before,
        include=include,
    )
    return PassageMatches(call.request)


def remove(id: str) -> Call[None]:
    """Removes a document; `document_not_found` if there is none."""
    return Call(Request("DELETE", _document(id)), _nothing)


def remove_where(
    *,
    filter: Optional[str] = None,
    stored_after: Optional[Time] = None,
    stored_before: Optional[Time] = None,
) -> Call[types.Removed]:
    """Removes every document that meets the conditions, of which at least one is needed."""
    query = params(filter=filter, stored_after=stored_after, stored_before=stored_before)
    return Call(Request("DELETE", "/documents", query), json.loads)


def get(id: str, *, include: Optional[Sequence[str]] = None) -> Call[types.StoredDocument]:
    """A stored document; `include` adds its `sketch`, its `shingles`, or both."""
    return Call(Request("GET", _document(id), params(include=include)), json.loads)


def get_many(ids: Iterable[str], *, include: Optional[Sequence[str]] = None) -> Call[types.Fetched]:
    """The stored documents among these ids, in their order, and the ids that are not stored."""
    body = encode({"ids": _ids(ids)})
    return Call(Request("POST", "/fetch", params(include=include), body), json.loads)


def change(id: str, **changes: Any) -> Call[types.Added]:
    """Changes `metadata` or `expires_at` of a stored document and leaves its content as it is.

    The change is a merge patch: `metadata={"lang": "en", "draft": None}` sets one field and removes
    another, and `metadata=None` removes all.
    """
    return Call(Request("PATCH", _document(id), body=encode(changes)), json.loads)


def compare(
    a: Union[str, types.Probe],
    b: Union[str, types.Probe],
    *,
    explain: Optional[bool] = None,
    measures: Optional[Sequence[str]] = None,
) -> Call[types.Comparison]:
    """The Jaccard similarity of two documents, each the id of a stored one or a probe."""
    pair = {
        name: {"id": side} if isinstance(side, str) else side for name, side in (("a", a), ("b", b))
    }
    query = params(explain=explain, measures=measures)
    return Call(Request("POST", "/resemblance", query, encode(pair)), json.loads)


def collapse(ids: Iterable[str], *, threshold: Optional[float] = None) -> Call[types.Collapsed]:
    """Keeps the highest-ranked of each group of near-duplicates in a ranked list of ids."""
    body = encode(_given({"ids": _ids(ids), "threshold": threshold}))
    return Call(Request("POST", "/collapse", body=body), json.loads)


def pairs(
    *, threshold: Optional[float] = None, mode: Optional[types.Mode] = None
) -> Stream[types.Pair]:
    """Every pair of near-duplicates, while the server finds them."""
    return Stream(Request("GET", "/pairs", params(threshold=threshold, mode=mode)))


def clusters(
    *,
    threshold: Optional[float] = None,
    mode: Optional[types.Mode] = None,
    linkage: Optional[types.Linkage] = None,
    min_size: Optional[int] = None,
) -> Stream[types.Cluster]:
    """All clusters of near-duplicates, by their representatives."""
    query = params(threshold=threshold, mode=mode, linkage=linkage, min_size=min_size)
    return Stream(Request("GET", "/clusters", query))


def cluster_of(
    id: str,
    *,
    threshold: Optional[float] = None,
    mode: Optional[types.Mode] = None,
    linkage: Optional[types.Linkage] = None,
) -> Call[types.Cluster]:
    """The cluster of a stored document: it alone if it has no near-duplicates."""
    query = params(id=id, threshold=threshold, mode=mode, linkage=linkage)
    return Call(Request("GET", "/clusters", query), _first_line)


def _first_line(body: bytes) -> Any:
    return json.loads(body.split(b"\n", 1)[0])


def export(
    *,
    order: Optional[types.Order] = None,
    on_damaged: Optional[types.OnDamaged] = None,
) -> Stream[types.ExportedDocument]:
    """Every document from one consistent view, as it can be inserted again."""
    query = params(order=order, on_damaged=on_damaged)
    return Stream(Request("GET", "/export", query))


class Ids(Stream[str]):
    """Ids in byte order, a page at a time."""

    def exchange(self, patience_s: float) -> Exchange[None]:
        query = dict(self.request.params)
        while True:
            page = Call(Request("GET", "/documents", query), json.loads)
            answer = yield from page.result(patience_s)
            for id in answer["ids"]:
                yield Give(id)
            if answer.get("next") is None:
                return
            query["after"] = answer["next"]


def ids(*, after: Optional[str] = None, page: int = 1000) -> Stream[str]:
    """All ids in byte order, those after `after`; `page` of them a request."""
    return Ids(Request("GET", "/documents", params(after=after, limit=page)))


def bulk(
    documents: Any,
    *,
    check: Optional[bool] = None,
    on_duplicate: Optional[types.OnDuplicate] = None,
    threshold: Optional[float] = None,
    points: Optional[int] = None,
    passages: Optional[bool] = None,
    on_contained: Optional[types.OnDuplicate] = None,
    containment_min: Optional[float] = None,
    of: Optional[types.ContainedOf] = None,
    progress: Optional[OnProgress] = None,
    patience_s: float = 60.0,
) -> Stream[types.BulkResult]:
    """Inserts any number of documents, in requests of at most 512 documents or 1 MiB.

    Yields a result for each document while it goes on; a refused one has the status `error`.
    Nothing is sent before the first result is taken, and not all is sent before the last is.

    `documents` is an iterable of dictionaries, or of rows as `akin_search.documents` takes them,
    whose columns are those of a document; for `AsyncClient` also an asynchronous iterable.
    `progress` is called after each request. `patience_s` is how long to wait, in sum and without progress,
    before tries of a request that was refused for the time being or whose connection failed.
    """
    query = params(
        check=check,
        on_duplicate=on_duplicate,
        threshold=threshold,
        points=points,
        passages=passages,
        on_contained=on_contained,
        containment_min=containment_min,
        of=of,
    )
    return Bulk(Request("POST", "/documents", query, media=NDJSON), documents, progress, patience_s)


def stats() -> Call[Dict[str, Any]]:
    """Figures of the collection and of the process."""
    return Call(Request("GET", "/stats"), json.loads)


def collections() -> Call[List[str]]:
    """The names of all collections that the key covers."""
    return Call(Request("GET", "/collections", in_collection=False), _names)


def create_collection(
    name: str, settings: Optional[Mapping[str, Any]] = None
) -> Call[types.Collection]:
    """Creates a collection, or finds it with these settings; else `collection_exists`."""
    body = encode(settings or {})
    request = Request("PUT", _collection(name), body=body, in_collection=False)
    return Call(request, json.loads)


def describe_collection(name: str) -> Call[types.Collection]:
    """A collection's settings and size."""
    return Call(Request("GET", _collection(name), in_collection=False), json.loads)


def remove_collection(name: str) -> Call[None]:
    """Removes a collection and its documents."""
    return Call(Request("DELETE", _collection(name), in_collection=False), _nothing)


def request(
    method: str,
    path: str,
    *,
    params: Optional[Mapping[str, str]] = None,
    json: Any = None,
) -> Call[Any]:
    """Any other call that is answered by JSON, by its path, such as `POST /snapshots`."""
    body = None if json is None else encode(json)
    return Call(Request(method, path, params or {}, body, in_collection=False), _any)


def _content(**contents: Any) -> Dict[str, Any]:
    given = _given(contents)
    if len(given) != 1:
        what = " and ".join(sorted(given)) or "none"
        raise TypeError(f"exactly one of {', '.join(contents)} is needed, not {what}")
    if isinstance(given.get("tokens"), (str, bytes)):
        raise TypeError("a set of tokens is needed, not a string: that would be a text")
    return given


def _ids(ids: Iterable[str]) -> List[str]:
    """A string is an iterable of strings, too, but of no ids."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"a list of ids is needed, not a single {type(ids).__name__}")
    return list(ids)


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _document(id: str) -> str:
    return "/documents/" + quote(id, safe="")


def _collection(name: str) -> str:
    return "/collections/" + quote(name, safe="")


def _names(content: bytes) -> List[str]:
    return [entry["name"] for entry in json.loads(content)["collections"]]


def _any(content: bytes) -> Any:
    return json.loads(content) if content else None


def _nothing(content: bytes) -> None:
    del content
