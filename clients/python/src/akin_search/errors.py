"""What the client raises."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

RETRIED_STATUS = frozenset({429, 503})


class AkinError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(AkinError):
    """The server was not reached, or the connection ended before the answer did."""


class ServerFailed(AkinError):
    """`Server` did not start: the command is not installed, or it ended with an error."""


class CommandFailed(AkinError):
    """A command of akin ended with an error, or is not installed."""


class IncompleteWarning(UserWarning):
    """Some documents were not compared with all candidates, so results may be missing.

    Of pairs and clusters, `incomplete` has the number of these documents, some of their ids and an
    example, as in docs/http-api.md. Of a search for passages it is `{"truncated": True}`.
    """

    def __init__(self, incomplete: Dict[str, Any]) -> None:
        self.incomplete = incomplete
        if incomplete.get("truncated"):
            super().__init__("a limit ended the search early: passages may be missing")
            return
        super().__init__(
            f"{incomplete.get('documents')} documents were not compared with all candidates: "
            f"mode='exact' compares them ({incomplete.get('ids')})"
        )


class ProblemError(AkinError):
    """The server refused a request; `code` says why and stays the same between versions."""

    def __init__(self, problem: Dict[str, Any], retry_after_s: Optional[float] = None) -> None:
        self.code: str = problem.get("code", "unknown")
        self.status: int = problem.get("status", 0)
        self.title: str = problem.get("title", "")
        self.detail: str = problem.get("detail", "")
        self.request_id: Optional[str] = problem.get("request_id")
        self.errors: List[Dict[str, str]] = problem.get("errors", [])
        self.problem = problem
        self.retry_after_s = retry_after_s
        super().__init__(f"{self.code}: {self.detail or self.title}")

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in RETRIED_STATUS

    @classmethod
    def parse(cls, status: int, content: bytes, retry_after: Optional[str]) -> ProblemError:
        """Reads the body of an error, which a proxy in between may have written."""
        try:
            problem = json.loads(content)
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or "code" not in problem:
            start = content[:200].decode("utf-8", "replace")
            detail = f"the answer has status {status} and is no problem of akin's: {start}"
            problem = {"code": "unknown", "detail": detail}
        problem["status"] = status
        return cls(problem, _seconds(retry_after))


def _seconds(retry_after: Optional[str]) -> Optional[float]:
    """akin sends seconds; a date, as proxies may send, counts as absent."""
    try:
        return max(0.0, float(retry_after)) if retry_after is not None else None
    except ValueError:
        return None
