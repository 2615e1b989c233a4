"""What is sent to the server and what it answers, as plain dictionaries.

The server's `/openapi.yaml` describes every field. Fields that newer servers add are kept: answers
are passed on as they came.
"""

from __future__ import annotations

import typing
from typing import Any, Dict, List, Literal, Mapping, Sequence, Tuple, Union

from typing_extensions import NotRequired, Required, TypeAlias, TypedDict

Mode: TypeAlias = Literal["verified", "estimated", "exact"]
Measure: TypeAlias = Literal["resemblance", "containment"]
Linkage: TypeAlias = Literal["single", "representative"]
Order: TypeAlias = Literal["stored", "id"]
OnDamaged: TypeAlias = Literal["fail", "report"]
OnDuplicate: TypeAlias = Literal["keep", "skip"]
ContainedOf: TypeAlias = Literal["probe", "match"]
Token: TypeAlias = Union[str, Tuple[str, int], List[Any]]
"""An element of a ready-made set, or one with how often it occurs."""


class Document(TypedDict, total=False):
    """Has exactly one of `text`, `tokens`, `fields` and `signature`."""

    id: str
    text: str
    tokens: typing.Collection[Token]
    fields: Mapping[str, str]
    signature: Sequence[int]
    metadata: Mapping[str, Any]
    expires_at: str


class Probe(TypedDict, total=False):
    """What a lookup searches for; has exactly one of the first five."""

    id: str
    text: str
    tokens: typing.Collection[Token]
    fields: Mapping[str, str]
    signature: Sequence[int]
    k: int
    measure: Measure
    of: ContainedOf
    threshold: float
    points: int
    limit: int
    mode: Mode
    filter: str
    stored_after: str
    stored_before: str


class Match(TypedDict):
    id: str
    resemblance: float
    keys_shared: int
    estimated: NotRequired[float]
    interval: NotRequired[List[float]]
    exact: NotRequired[float]
    containment: NotRequired[Dict[str, float]]
    shared: NotRequired[int]
    union: NotRequired[int]
    metadata: NotRequired[Dict[str, Any]]
    text: NotRequired[str]
    tokens: NotRequired[List[Token]]
    fields: NotRequired[Dict[str, str]]
    signature: NotRequired[List[int]]
    points: NotRequired[int]
    field_points: NotRequired[Dict[str, int]]


class Problem(TypedDict, total=False):
    """An error, as RFC 9457 has it; `code` stays the same between versions."""

    type: Required[str]
    title: Required[str]
    status: Required[int]
    detail: Required[str]
    code: Required[str]
    request_id: str
    errors: List[Dict[str, str]]


class Added(TypedDict):
    id: str
    status: Literal["created", "replaced", "unchanged", "skipped"]
    duplicates: List[Match]
    shingles: int
    notes: List[str]
    more: NotRequired[bool]
    truncated: NotRequired[bool]
    passages: NotRequired[AddedPassages]


class AddedLine(Added):
    """The result of one document of many; `line` is its place in the input, from 1."""

    line: int


class FailedLine(TypedDict):
    """A document of many that was refused."""

    line: int
    id: str
    status: Literal["error"]
    problem: Problem


BulkResult: TypeAlias = Union[AddedLine, FailedLine]


class Answer(TypedDict):
    matches: List[Match]
    candidates: int
    more: bool
    truncated: bool
    mode: Mode
    found_by: str
    took_us: int
    expected_recall: NotRequired[float]
    guarantee: NotRequired[Dict[str, int]]
    chances: NotRequired[List[Dict[str, float]]]
    threshold: NotRequired[float]
    floor: NotRequired[float]
    points: NotRequired[int]


class FailedProbe(TypedDict):
    error: Problem


class PassagePlace(TypedDict):
    """A part of a text: `text[start:end]`."""

    start: int
    end: int
    words: int


class SharedPassage(TypedDict):
    probe: PassagePlace
    match: PassagePlace
    words_equal: int


class PassageMatch(TypedDict):
    id: str
    words_shared: int
    longest: int
    containment: Dict[str, float]
    passages: List[SharedPassage]
    metadata: NotRequired[Dict[str, Any]]


class AddedPassages(TypedDict):
    """The documents that share passages with a document that is added, the `probe`."""

    matches: List[PassageMatch]
    guarantee: Dict[str, int]
    more: bool
    truncated: bool


class PassageAnswer(TypedDict):
    matches: List[PassageMatch]
    probe: Dict[str, int]
    guarantee: Dict[str, int]
    chances: List[Dict[str, float]]
    more: bool
    truncated: bool
    took_us: int


class StoredDocument(TypedDict):
    id: str
    stored_at: str
    shingles: int
    fingerprint: str
    notes: List[str]
    text: NotRequired[str]
    tokens: NotRequired[List[Token]]
    fields: NotRequired[Dict[str, str]]
    signature: NotRequired[List[int]]
    metadata: NotRequired[Dict[str, Any]]
    expires_at: NotRequired[str]
    included: NotRequired[Dict[str, Any]]


class Fetched(TypedDict):
    documents: List[StoredDocument]
    unknown: List[str]


class ExportedDocument(TypedDict):
    id: str
    text: NotRequired[str]
    tokens: NotRequired[List[Token]]
    fields: NotRequired[Dict[str, str]]
    metadata: NotRequired[Dict[str, Any]]
    expires_at: NotRequired[str]
    problem: NotRequired[Problem]


class Removed(TypedDict):
    matched: int
    removed: int
    took_us: int


class Comparison(TypedDict):
    probability_reported: float
    took_us: int
    estimated: NotRequired[Dict[str, Any]]
    exact: NotRequired[Dict[str, Any]]
    containment: NotRequired[Dict[str, float]]
    probability_candidate: NotRequired[float]
    points: NotRequired[int]
    field_points: NotRequired[Dict[str, int]]
    measures: NotRequired[Dict[str, Any]]
    explanation: NotRequired[Dict[str, Any]]


class Pair(TypedDict):
    a: str
    b: str
    resemblance: float
    estimated: NotRequired[float]
    interval: NotRequired[List[float]]
    exact: NotRequired[float]
    containment: NotRequired[Dict[str, float]]
    shared: NotRequired[int]
    union: NotRequired[int]


class Member(TypedDict):
    id: str
    resemblance: float


class Cluster(TypedDict):
    cluster: str
    representative: str
    size: int
    members: List[Member]


class Group(TypedDict):
    representative: str
    members: List[Member]


class Collapsed(TypedDict):
    kept: List[str]
    groups: List[Group]
    unknown: List[str]
    threshold: float
    took_us: int


class Collection(TypedDict):
    name: str
    settings: Dict[str, Any]
    documents: int
    distinct_sets: int
    index_bytes: int
    database_bytes: int
