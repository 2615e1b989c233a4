"""Inserting many documents: requests of bounded size, each document answered exactly once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Union
from uuid import uuid4

from typing_extensions import TypeAlias

from . import types
from ._exchange import (
    Backoff,
    Exchange,
    Give,
    Head,
    Lines,
    Read,
    Request,
    Send,
    Take,
    encode,
    read_all,
)
from .errors import RETRIED_STATUS, AkinError, ConnectionFailed, ProblemError
from .rows import checked_id, is_missing

# The server has as many documents in flight while their results are unread. So a request can be
# sent as a whole before its answer is read.
BATCH_DOCUMENTS_MAX = 512
BATCH_BYTES_MAX = 1 << 20

CONTENTS = frozenset({"text", "html", "tokens", "fields", "signature"})


@dataclass
class Progress:
    """How far a bulk insert is: numbers of documents, bytes of JSON, and tries after a failure."""

    documents: int = 0
    created: int = 0
    replaced: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    bytes: int = 0
    retries: int = 0

    def _count(self, status: str) -> None:
        self.documents += 1
        name = "failed" if status == "error" else status
        setattr(self, name, getattr(self, name, 0) + 1)


OnProgress = Callable[[Progress], None]


class FailedLine(types.ErrorLine):
    """A document of many that was refused."""

    id: str


BulkResult: TypeAlias = Union[types.AddedLine, FailedLine]


@dataclass(frozen=True)
class _Line:
    """A document on its way, with its place in the input."""

    number: int
    id: str
    body: bytes


class Bulk:
    def __init__(self, request: Request, progress: Optional[OnProgress], patience_s: float) -> None:
        self._request = request
        self._patience_s = patience_s
        self._on_progress = progress
        self._progress = Progress()
        self._taken = 0
        self._held: Optional[_Line] = None
        """The document that was too large for the last batch."""
        self._refused: List[FailedLine] = []
        """The documents that are not sent. Their results have their places between the others."""

    def exchange(self, patience_s: float) -> Exchange[None]:
        del patience_s  # that of single calls
        while True:
            batch = yield from self._batch()
            if not batch and not self._refused:
                return
            if batch:
                yield from self._insert(batch, Backoff(self._patience_s))
            yield from self._results_before(self._taken + 1)
            if self._on_progress is not None:
                self._on_progress(self._progress)

    def _batch(self) -> Exchange[List[_Line]]:
        batch: List[_Line] = []
        size = 0
        while len(batch) < BATCH_DOCUMENTS_MAX:
            line = self._held or (yield from self._next())
            if line is None:
                break
            size += len(line.body) + 1
            self._held = line if batch and size > BATCH_BYTES_MAX else None
            if self._held is not None:
                break
            batch.append(line)
        return batch

    def _next(self) -> Exchange[Optional[_Line]]:
        """The next document to send; `None` if there is none before results have to be given."""
        while len(self._refused) < BATCH_DOCUMENTS_MAX:
            document: Optional[Mapping[str, Any]] = yield Take()
            if document is None:
                return None
            self._taken += 1
            line = _line(self._taken, document)
            if isinstance(line, _Line):
                return line
            self._refused.append(line)
        return None

    def _results_before(self, number: int) -> Exchange[None]:
        while self._refused and self._refused[0]["line"] < number:
            self._progress._count("error")
            yield Give(self._refused.pop(0))

    def _insert(self, left: List[_Line], backoff: Backoff) -> Exchange[None]:
        """Sends the documents until each is answered.

        Those whose answer was lost are sent again, which changes nothing if they were stored.
        """
        while True:
            attempt = _Attempt(left)
            failure: Optional[AkinError]
            try:
                failure = yield from self._attempt(attempt)
            except ConnectionFailed as lost:
                failure = lost
            unanswered = attempt.unanswered()
            if not unanswered:
                return
            if len(unanswered) < len(left):
                backoff.reset()
            left = unanswered
            yield backoff.wait(failure or ConnectionFailed("not every document was answered"))
            self._progress.retries += 1

    def _attempt(self, attempt: _Attempt) -> Exchange[Optional[AkinError]]:
        body = b"".join(line.body + b"\n" for line in attempt.lines)
        head: Head = yield Send(replace(self._request, body=body))
        if head.status >= 400:
            return ProblemError.parse(head.status, (yield from read_all()), head.retry_after)
        failure: Optional[AkinError] = None
        lines = Lines()
        while True:
            chunk: bytes = yield Read()
            if not chunk:
                break
            for content in lines.feed(chunk):
                answer = json.loads(content)
                if "line" not in answer:
                    continue  # counts failures without a result: these documents are sent again
                if _is_temporary(answer):
                    failure = ProblemError(answer["problem"])
                    continue
                line = attempt.take(answer["line"])
                yield from self._results_before(line.number)
                self._progress._count(answer["status"])
                self._progress.bytes += len(line.body) + 1
                yield Give(_result(line, answer))
        return failure


class _Attempt:
    """The documents of one request, and which of them are answered."""

    def __init__(self, lines: List[_Line]) -> None:
        self.lines = lines
        self._answered = [False] * len(lines)

    def take(self, number: int) -> _Line:
        if not 1 <= number <= len(self.lines) or self._answered[number - 1]:
            raise ConnectionFailed(f"the server answered a document {number} that was not sent")
        self._answered[number - 1] = True
        return self.lines[number - 1]

    def unanswered(self) -> List[_Line]:
        return [line for line, done in zip(self.lines, self._answered) if not done]


def _is_temporary(answer: Mapping[str, Any]) -> bool:
    return answer["status"] == "error" and answer["problem"].get("status") in RETRIED_STATUS


def _result(line: _Line, answer: Dict[str, Any]) -> Dict[str, Any]:
    """The answer with the document's place in the whole input, and its id if it was refused."""
    return {**answer, "line": line.number, "id": answer.get("id", line.id)}


def _line(number: int, document: Mapping[str, Any]) -> Union[_Line, FailedLine]:
    # A row of a data frame has a value in each column, which may stand for none.
    document = {name: value for name, value in document.items() if not is_missing(value)}
    # Made here, so that a document whose answer was lost can be sent again.
    id = document.setdefault("id", str(uuid4()))
    try:
        line = _Line(number, str(checked_id(id)), encode(document))
    except (TypeError, ValueError) as error:
        raise type(error)(f"document {number} ({id!r}): {error}") from error
    if not CONTENTS.isdisjoint(document):
        return line
    problem: types.Problem = {
        "type": "/docs/problems#invalid_document",
        "title": "The document is invalid",
        "status": 422,
        "detail": "it has no text, html, tokens, fields or signature; None and NaN are none",
        "code": "invalid_document",
        "request_id": "",
    }
    return {"line": number, "id": line.id, "status": "error", "problem": problem}
