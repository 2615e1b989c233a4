"""What is sent to the server and what it answers, as plain dictionaries.

Written by clients/generate.py from openapi.yaml.
Answers are passed on as they came: fields that newer servers add are kept.
"""

from __future__ import annotations

import typing
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence, Union

from typing_extensions import NotRequired, TypeAlias, TypedDict


class AddDocumentsQuery(TypedDict):
    """The options of `add_documents`."""

    extract: NotRequired[Optional[Extract]]
    """Which text of HTML is taken: by default `text`, the visible text, without navigation; or
    `main`, the main content, as in a browser's reader view; of a page without an article its
    text. In JSON it may stand beside `html` instead.
    """
    check: NotRequired[Optional[bool]]
    """Look for near-duplicates of each document."""
    on_duplicate: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that has a near-duplicate. A document whose id is
    stored is replaced. By default `keep`.
    """
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold."""
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a near-duplicate; by default the collection's. Other
    documents have a `threshold` instead.
    """
    passages: NotRequired[Optional[bool]]
    """Look for stored documents that share passages with each document, in a collection with
    `passages.words`.
    """
    on_contained: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that shares passages as `containment_min` says. By
    default `keep`.
    """
    containment_min: NotRequired[Optional[Threshold]]
    """The least share of words in passages: of the document's words, or of the stored document's
    (`of`).
    """
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default `probe`, the document that is
    added.
    """


AddStatus: TypeAlias = Literal["created", "replaced", "unchanged", "skipped"]


class Added(TypedDict):
    """The result of an addition."""

    id: Id
    status: AddStatus
    duplicates: list[Match]
    """The near-duplicates that were stored before it."""
    shingles: int
    """The number of its distinct shingles."""
    notes: list[Note]
    """What was done that its sender may not expect: `whole_document`, the text has no shingle,
    so the whole of it is its only one.
    """
    previous: NotRequired[Previous]
    """Of a document that replaced a stored version of itself: what changed. Absent if the stored
    version is damaged.
    """
    cluster: NotRequired[str]
    """The name of its cluster, in a collection that keeps them; absent while they are being
    built, and of a document that was skipped.
    """
    more: NotRequired[bool]
    """There, and true, if there are more near-duplicates than `duplicates` has room for."""
    truncated: NotRequired[bool]
    """There, and true, if a work limit was hit while looking for near-duplicates: some may be
    missing.
    """
    passages: NotRequired[AddedPassages]
    """By `passages`: the documents that share passages with it. Absent of a document that was
    skipped for its near-duplicates.
    """


class AddedLine(Added):
    line: int
    """The line of the document, or its position in the array, from 1."""


class ErrorLine(TypedDict):
    line: int
    status: ErrorStatus
    problem: Problem


class CountedErrors(TypedDict):
    """The last result, if the problems of failed documents would have taken more bytes than the
    documents and a further MiB.
    """

    status: CountedStatus
    first_line: int
    """The first and the last document that failed without a result of its own; those in between
    that have no result failed, too.
    """
    last_line: int
    errors: int
    """The number of documents that failed without a result of their own."""
    codes: dict[str, int]
    """Their number by the code of their problem."""


ResultLine: TypeAlias = Union[AddedLine, ErrorLine, CountedErrors]
"""The result of one document of a bulk import."""


AddedAnswer: TypeAlias = Union[Added, list[ResultLine]]
"""The result of a document, or an array with a result for each document."""


class AddedPassages(TypedDict):
    """The documents that share passages with a document that is added: all that arrived before
    it, the documents that share the most words first, then by their longest run of equal
    words, then by their age.
    """

    matches: list[PassageMatch]
    """The document that is added is the `probe`."""
    guarantee: PassageGuarantee
    more: bool
    """There are more matches than `limits.duplicates_max`."""
    truncated: bool
    """A limit was hit, or a damaged text is not in the index: documents or passages may be
    missing.
    """


class Answer(TypedDict):
    """The near-duplicates of a probe: `resemblance` falling, then by id, within the groups of
    the first 40 candidates and of the next 40, 80, 160 … candidates.
    """

    candidates: int
    """Distinct sets that share a key with the probe; or, if it was a scan, all documents, or
    with `k` all distinct sets.
    """
    more: bool
    """There are more matches than `limit`; with `k` never true."""
    truncated: bool
    """A work limit was hit: some matches may be missing."""
    mode: Mode
    found_by: FoundBy
    """Whether the candidates share a key of the sketch with the probe (`keys`), one of the first
    elements (`prefix`) or a run of words (`passages`), or are all documents (`scan`).
    """
    matches: list[Match]
    took_us: int
    expected_recall: NotRequired[float]
    """The chance to find a document whose similarity is exactly the threshold."""
    floor: NotRequired[float]
    """The similarity from which `expected_recall` holds. Less similar documents may be among the
    matches, and others may be missing. In mode `estimated` 0: the matches are the highest
    estimates of all documents.
    """
    points: NotRequired[int]
    """The fewest points of a match."""
    guarantee: NotRequired[PassageGuarantee]
    """Unless `truncated` is true, every document that reaches the threshold and has a run of so
    many words of the probe is found. Further documents may be missing.
    """
    chances: NotRequired[list[PassageChance]]
    """With `of=probe`: the chances to find a document that has the whole probe, edited."""
    threshold: NotRequired[float]
    """The lowest Jaccard similarity of a match."""


class FailedProbe(TypedDict):
    error: Problem


ProbeAnswer: TypeAlias = Union[Answer, FailedProbe]
"""The answer to a probe of several probes: its near-duplicates, or why it could not be
looked up.
"""


Answers: TypeAlias = Union[Answer, list[ProbeAnswer]]
"""An answer to a probe; an array of answers to an array of probes, in the order of the
probes.
"""


class ChangesEnd(TypedDict):
    """Where the next call goes on."""

    position: str
    """The `since` of the next call."""


class DocumentStored(TypedDict):
    id: Id
    stored_at: Time
    change: Literal["stored"]


class DocumentRemoved(TypedDict):
    """Also if it expired."""

    id: Id
    change: Literal["removed"]


class DocumentClustered(TypedDict):
    """The document is in the cluster of this name now. It may have been before."""

    id: Id
    cluster: str
    change: Literal["clustered"]


DocumentChanged: TypeAlias = Union[DocumentStored, DocumentRemoved, DocumentClustered]
"""A document was stored, removed, or has another cluster."""


ChangesLine: TypeAlias = Union[DocumentChanged, ChangesEnd]
"""A line of the feed: a change, or last of all where the next call goes on."""


class ChangesQuery(TypedDict):
    """The options of `changes`."""

    since: NotRequired[Optional[str]]
    """The `position` of an earlier answer. Without it the answer has the position of now alone."""
    limit: NotRequired[Optional[int]]
    """The most operations that are read for an answer; and as many changes of clusters."""
    wait_s: NotRequired[Optional[int]]
    """How many seconds the answer waits for something to happen, if nothing has."""
    clusters: NotRequired[Optional[bool]]
    """Also tell the documents whose cluster changed, in a collection with `clusters.threshold`."""


class Cluster(TypedDict):
    """A cluster of near-duplicates. It is written piece by piece, as it may be as large as the
    collection.
    """

    cluster: str
    """The cluster's name, which depends on its representative only."""
    representative: Id
    """The lowest id of the cluster in byte order."""
    size: int
    """The number of members."""
    members: list[ClusterMember]
    """In byte order of their ids, so the representative is first."""


class ClusterCounts(TypedDict):
    """Figures of the clusters."""

    state: ClustersState
    clusters: int
    """Clusters of at least two documents."""
    documents: int
    """Documents in them."""
    bytes: int
    """Their memory."""


class IncompleteLine(TypedDict):
    """The last line of an answer for which not all candidates were compared."""

    incomplete: Incomplete


ClusterLine: TypeAlias = Union[Cluster, IncompleteLine]
"""A line of all clusters. The last line may say which documents may be missing in their
clusters.
"""


class ClusterMember(TypedDict):
    id: Id
    resemblance: float
    """The Jaccard similarity to the representative: the exact value, or the estimate in mode
    `estimated`. It may be below the threshold with `linkage=single`, where a chain of
    near-duplicates connects the two.
    """


class ClusterSettings(TypedDict):
    """The clusters that a collection keeps."""

    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of two documents that are connected in a cluster. Without it
    no clusters are kept.
    """


class ClustersQuery(TypedDict):
    """The options of `clusters`."""

    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of a pair; by default the collection's threshold, and for
    clusters its `clusters.threshold` if it has one.
    """
    mode: NotRequired[Optional[Mode]]
    """`verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
    `verified`, and `exact` where the kind is `prefix`.
    """
    linkage: NotRequired[Optional[Linkage]]
    """By default `single`."""
    min_size: NotRequired[Optional[int]]
    """Without `id`: the fewest documents of a cluster, by default 2."""


ClustersState: TypeAlias = Literal["building", "updating", "current", "over_limit"]
"""How far the clusters have come."""


Code: TypeAlias = Literal[
    "malformed_json",
    "malformed_text",
    "invalid_parameter",
    "unreadable_body",
    "malformed_request",
    "invalid_host",
    "key_required",
    "invalid_key",
    "not_permitted",
    "foreign_origin",
    "document_not_found",
    "collection_not_found",
    "reindex_not_found",
    "route_not_found",
    "method_not_allowed",
    "body_timeout",
    "collection_exists",
    "collection_required",
    "too_many_collections",
    "reindex_under_way",
    "reindex_of_default",
    "changes_gone",
    "body_too_large",
    "document_too_large",
    "unsupported_media_type",
    "unsupported_encoding",
    "host_not_served",
    "invalid_document",
    "invalid_request",
    "empty_document",
    "too_many_shingles",
    "metadata_too_large",
    "text_not_kept",
    "wrong_content",
    "unknown_field",
    "field_too_large",
    "unsupported_mode",
    "passages_off",
    "request_too_costly",
    "text_required",
    "texts_too_long",
    "too_many_requests",
    "document_damaged",
    "internal",
    "unsupported_by_backend",
    "not_ready",
    "out_of_service",
    "collection_unavailable",
    "overloaded",
    "memory_budget_exhausted",
    "timed_out",
    "insufficient_storage",
]
"""The kind of a problem, in a word that stays the same between versions."""


class CollapseQuery(TypedDict):
    """The options of `collapse`."""

    threshold: NotRequired[Optional[Threshold]]
    """By default the collection's threshold."""
    offset: NotRequired[Optional[int]]
    """The number of hits at the front of the list that earlier pages have kept: they are not
    compared with each other and are not in `kept`, and the hits after them join their groups.
    The list of the next page is all hits that were kept so far, then the hits that are
    neither kept nor in `groups`.
    """
    limit: NotRequired[Optional[int]]
    """The most hits in `kept`; by default all. The rest of the list still joins their groups."""


class Collapsed(TypedDict):
    """A ranked list without the near-duplicates of higher-ranked hits."""

    kept: list[HitName]
    """In their order, with those that have nothing to compare; without the hits before `offset`."""
    groups: list[CollapsedGroup]
    """The kept hits that have near-duplicates in the list, in their order, also those before
    `offset`.
    """
    unknown: list[HitName]
    """The hits that have nothing to compare, in their order: their ids are not stored, and they
    have no text of which a shingle can be made.
    """
    more: bool
    """More were kept than `limit`, and are left out."""
    threshold: float
    took_us: int


class CollapsedGroup(TypedDict):
    """A kept hit and the hits that it stands for."""

    representative: HitName
    members: list[CollapsedMember]
    """In their order, at least one. They need not resemble each other."""


class CollapsedMember(TypedDict):
    hit: HitName
    resemblance: float
    """The exact Jaccard similarity to the representative."""


class Collection(TypedDict):
    """A collection: its settings and size."""

    documents: int
    distinct_sets: NotRequired[int]
    """Distinct sets; equal sets are indexed once."""
    keys: NotRequired[int]
    postings: NotRequired[int]
    """Entries of all keys."""
    postings_longest: NotRequired[int]
    """The entries of the key that has most."""
    index_bytes: NotRequired[int]
    """Memory of the index and of the ids."""
    database_bytes: NotRequired[int]
    """On disk, without snapshots and the write-ahead log."""
    name: str
    settings: Settings
    """As text: a command shows the settings of a server of another version, too."""
    postings_skew: NotRequired[float]
    """`postings_longest` divided by the average entries of a key; absent while there are none."""


class CollectionEntry(TypedDict):
    name: str


class Collections(TypedDict):
    """The names of collections."""

    collections: list[CollectionEntry]
    unavailable: NotRequired[list[CollectionEntry]]
    """Collections that could not be opened when the server started. Calls on them are answered
    503 `collection_unavailable`.
    """


class ComparePostedQuery(TypedDict):
    """The options of `compare_posted`."""

    explain: NotRequired[Optional[bool]]
    """Add the shared and differing passages, and the bands with keys that both documents have."""
    measures: NotRequired[
        Optional[typing.Collection[Literal["edit", "lcs", "hamming", "cosine", "euclidean"]]]
    ]
    """Add further measures: one of the names of `Measures`, or several with commas between."""


class CompareStoredQuery(TypedDict):
    """The options of `compare_stored`."""

    a: NotRequired[Optional[Id]]
    """The id of a stored document."""
    b: NotRequired[Optional[Id]]
    """The id of another."""
    explain: NotRequired[Optional[bool]]
    """Add the shared and differing passages, and the bands with keys that both documents have."""
    measures: NotRequired[
        Optional[typing.Collection[Literal["edit", "lcs", "hamming", "cosine", "euclidean"]]]
    ]
    """Add further measures: one of the names of `Measures`, or several with commas between."""


class ComparedField(TypedDict):
    """A field of two records."""

    field: str
    a: NotRequired[str]
    """Its normalised value in the first record; absent if that lacks the field."""
    b: NotRequired[str]
    """Its normalised value in the second record; absent if that lacks the field."""
    points: NotRequired[int]
    """Absent if one of the records lacks the field."""


class Comparison(TypedDict):
    """The estimated and the exact Jaccard similarity (resemblance) of two documents."""

    probability_candidate: NotRequired[float]
    """The probability that two documents of this resemblance share a key that a lookup at the
    collection's threshold probes; of records 1 if they share a key, else 0. Absent where
    candidates are found otherwise (`kind = "prefix"`).
    """
    probability_reported: float
    """The probability that a lookup of one at the collection's threshold reports the other: 0
    below the threshold.
    """
    measures: NotRequired[Measures]
    """On request, by `measures`."""
    explanation: NotRequired[Explanation]
    """On request, by `explain`."""
    took_us: int
    exact: NotRequired[ExactResemblance]
    containment: NotRequired[PairContainment]
    points: NotRequired[int]
    """The points of all fields."""
    field_points: NotRequired[dict[str, int]]
    """The points of each field that both have."""
    kind: Literal["sets", "signatures", "records"]
    estimated: NotRequired[Estimate]
    """By the sketches."""


ContainedOf: TypeAlias = Literal["probe", "match"]
"""Which of two texts is contained in the other."""


class CosineMeasure(TypedDict):
    """By the measure `cosine`: the cosine similarity of the counts of shingles as vectors."""

    similarity: float
    """the cosine of the angle between them"""
    angle_degrees: float
    """degrees between them, 0 to 90"""


CountedStatus: TypeAlias = Literal["errors_counted"]


class Curve(TypedDict):
    """The chance to find a document by its Jaccard similarity, and the costs of the scheme."""

    kind: SchemeKind
    bands: int
    """Keys of a document."""
    rows: int
    """Slots of a key."""
    slots: int
    """Slots of a sketch."""
    threshold: float
    keys_probed: int
    """Keys that a lookup at the threshold probes."""
    agreeing_min: int
    """A candidate with fewer agreeing slots is not checked exactly."""
    expected_recall: float
    """The chance to find a document with a similarity of exactly the threshold."""
    false_negatives: float
    """The share that is missed, on average over similarities from the threshold to 1."""
    false_positives: float
    """The share that is checked in vain, on average over similarities from 0 to the threshold."""
    bytes_per_document: float
    """Memory of the index for a document, computed from its layout."""
    measured_bytes_per_document: NotRequired[float]
    """Memory of the collection's index for a document. Only for the collection's own scheme, and
    only if there are documents.
    """
    points: list[CurvePoint]
    """At 0, 0.01, …, 1."""
    took_us: int


class CurvePoint(TypedDict):
    similarity: float
    candidate: float
    """The probability of sharing a key that a lookup probes."""
    found: float
    """The probability of being a candidate with a sketch that agrees enough to be checked."""


class CurveQuery(TypedDict):
    """The options of `curve`."""

    threshold: NotRequired[Optional[Threshold]]
    """By default the collection's threshold."""
    recall: NotRequired[Optional[float]]
    """The wanted chance to find a document with a similarity of exactly the threshold: draws the
    curve of the scheme that akin would choose for it.
    """
    bands: NotRequired[Optional[int]]
    """The number of keys, all of which are looked up; with `rows`."""
    rows: NotRequired[Optional[int]]
    """Slots of a key; with `bands`."""


class DamagedDocument(TypedDict):
    id: str
    """As far as it can be read."""
    problem: Problem


class Discovery(TypedDict):
    """A running discovery."""

    threshold: float
    mode: Mode
    started_at: Time
    stage: Stage
    done: int
    """Steps of this stage that are done."""
    total: int
    """Steps of this stage; 0 while unknown."""
    found: int
    """Pairs or clusters sent so far."""
    linkage: NotRequired[Linkage]
    kind: Literal["pairs", "clusters"]


class Document(TypedDict):
    """A document: it has exactly one of `text`, `html`, `tokens`, `fields` and `signature`. The
    options, from `check` on, are not stored; they may stand in the query instead.
    """

    id: NotRequired[Optional[GivenId]]
    """By default the server makes a UUIDv7."""
    text: NotRequired[Optional[str]]
    html: NotRequired[Optional[str]]
    """A page, whose text is extracted and stored in place of `text`."""
    extract: NotRequired[Optional[Extract]]
    """Beside `html`: which text of the page, by default `text`."""
    tokens: NotRequired[Optional[typing.Collection[Token]]]
    """The elements of a ready-made set."""
    fields: NotRequired[Optional[Fields]]
    """Of a record, in a collection that declares these fields."""
    signature: NotRequired[Optional[typing.Collection[int]]]
    """MinHash values, in a collection whose `sketch.method` is `foreign`: as many as its
    `sketch.slots`.
    """
    metadata: NotRequired[Optional[Mapping[str, Any]]]
    """Returned as it came."""
    expires_at: NotRequired[Optional[Union[Time, datetime]]]
    """In the future. From then on the document is no longer returned, and its id can be reused.
    By default documents expire as the collection's `store.ttl_s` says, or never.
    """
    check: NotRequired[Optional[bool]]
    """Look for near-duplicates of each document."""
    on_duplicate: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that has a near-duplicate. A document whose id is
    stored is replaced. By default `keep`.
    """
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold."""
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a near-duplicate; by default the collection's. Other
    documents have a `threshold` instead.
    """
    passages: NotRequired[Optional[bool]]
    """Look for stored documents that share passages with each document, in a collection with
    `passages.words`.
    """
    on_contained: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that shares passages as `containment_min` says. By
    default `keep`.
    """
    containment_min: NotRequired[Optional[Threshold]]
    """The least share of words in passages: of the document's words, or of the stored document's
    (`of`).
    """
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default `probe`, the document that is
    added.
    """


class DocumentChange(TypedDict):
    """The changes of a document. Absent fields stay unchanged."""

    metadata: NotRequired[Optional[Mapping[str, Any]]]
    """A merge patch (RFC 7396): a field that is `null` is removed; `null` removes all."""
    expires_at: NotRequired[Optional[Union[Time, datetime]]]
    """`null`: as the collection's `store.ttl_s` says, or never."""


Documents: TypeAlias = Union[Document, typing.Collection[Document]]
"""One document, or an array of them."""


class EditMeasure(TypedDict):
    """By the measure `edit`: the edit distance (Levenshtein distance) of the texts."""

    distance: int
    """characters to insert, delete or exchange"""


Equivalents: TypeAlias = typing.Collection[typing.Collection[str]]
"""Groups of words or whole values that mean the same in a field, as "Bill" and "William" do.
The first member of a group replaces the other members.
"""


ErrorStatus: TypeAlias = Literal["error"]


class Estimate(TypedDict):
    """An estimate of the Jaccard similarity (resemblance) from the slots that agree."""

    value: float
    """0..=1. Accidental agreements of b-bit slots are subtracted."""
    standard_error: float
    interval: Sequence[float]
    """The 95 % interval (Wilson's, modified near 0 and 1), accidental agreements subtracted."""
    agreeing: int
    """Number of slots that agree."""
    slots: int
    """Number of slots compared."""


class EuclideanMeasure(TypedDict):
    """By the measure `euclidean`: the Euclidean distance of the counts of shingles as vectors."""

    distance: float
    """the length of their difference"""


class ExactResemblance(TypedDict):
    value: float
    intersection: int
    union: int
    bag: NotRequired[float]
    """The similarity of the bags of shingles, with repetitions: Σmin of the counts / (Σa + Σb),
    at most ½. Absent where counts are not known: of documents stored without their texts,
    unless the collection's sets are multisets.
    """
    bag_max_union: NotRequired[float]
    """The Jaccard similarity of the bags: Σmin / Σmax of the counts, at most 1."""


class Explanation(TypedDict):
    """Where two texts are alike."""

    a: Passages
    b: Passages
    bands_shared: list[int]
    """The bands with equal keys."""
    fields: NotRequired[list[ComparedField]]
    """Of records only, which have no passages: every field of either record."""


class ExportDocumentsQuery(TypedDict):
    """The options of `export_documents`."""

    order: NotRequired[Optional[Order]]
    """By default `stored`."""
    on_damaged: NotRequired[Optional[OnDamaged]]
    """By default `fail`."""


class ExportedDocument(TypedDict):
    """A document as it was posted, and can be posted again."""

    text: NotRequired[str]
    tokens: NotRequired[list[Token]]
    fields: NotRequired[dict[str, str]]
    signature: NotRequired[list[int]]
    id: Id
    metadata: NotRequired[dict[str, Any]]
    expires_at: NotRequired[Time]
    """Absent if it never expires."""


ExportedLine: TypeAlias = Union[ExportedDocument, DamagedDocument]
"""A line of an export."""


Extract: TypeAlias = Literal["text", "main"]
"""Which text of an HTML page is read."""


class FetchDocumentsQuery(TypedDict):
    """The options of `fetch_documents`."""

    include: NotRequired[Optional[typing.Collection[Literal["sketch", "shingles"]]]]
    """`sketch` (needs the action `admin`), `shingles`, or both with a comma between."""


class Fetched(TypedDict):
    """The documents that are stored, in the order of the ids."""

    unknown: list[Id]
    """The ids that are not stored, in their order."""
    damaged: NotRequired[list[Id]]
    """The ids of documents that cannot be read whole: `GET /documents/{id}` says why."""
    documents: list[StoredDocument]


class FieldError(TypedDict):
    """An invalid field of a body."""

    pointer: str
    """Where in the body, as a JSON pointer (RFC 6901); empty for the whole of it."""
    detail: str


Fields: TypeAlias = Mapping[str, str]
"""The fields of a record: an object of strings in which no name comes twice."""


Fold: TypeAlias = Literal["line_end_hyphens", "turkic_case", "marks", "digits", "lookalikes"]
"""A difference of spelling that can be ignored."""


FoundBy: TypeAlias = Literal["keys", "passages", "prefix", "scan"]
"""How the candidates of a lookup were found."""


class FoundPair(TypedDict):
    """Two near-duplicates."""

    a: Id
    """The id that is lower in byte order."""
    b: Id
    resemblance: float
    """The Jaccard similarity: the same as `exact`."""
    exact: NotRequired[float]
    containment: NotRequired[PairContainment]
    shared: NotRequired[int]
    """Shingles that both have."""
    union: NotRequired[int]
    """Shingles that either has."""
    points: NotRequired[int]
    """The points of all fields."""
    field_points: NotRequired[dict[str, int]]
    """The points of each field that both have."""
    estimated: NotRequired[float]
    """The estimate from the sketches."""
    interval: NotRequired[list[float]]
    """The 95 % interval of the estimate."""


class GetDocumentQuery(TypedDict):
    """The options of `get_document`."""

    include: NotRequired[Optional[typing.Collection[Literal["sketch", "shingles"]]]]
    """`sketch` (needs the action `admin`), `shingles`, or both with a comma between."""


Id: TypeAlias = str
"""The client's name for a document: 1..=1024 bytes of UTF-8 without control characters."""


GivenId: TypeAlias = Union[Id, int]
"""An id as a client may write it: an integer means its decimal digits. Answers have strings."""


class HammingMeasure(TypedDict):
    """By the measure `hamming`: the Hamming distance of the sets of shingles."""

    distance: int
    """shingles that only one of them has"""


class Hit(TypedDict):
    """A hit of any store: it has an `id`, a `text`, or both."""

    id: NotRequired[Optional[GivenId]]
    """A stored document is compared by its stored sketch and set."""
    text: NotRequired[Optional[str]]
    """Compared if there is no id, or no document with this id."""


HitName: TypeAlias = Union[Id, int]
"""A hit of the list: its id in a list of `ids`, its position from 0 in a list of `hits`."""


class Ids(TypedDict):
    """Ids in byte order."""

    next: NotRequired[Id]
    """The `after` of the next page; absent on the last."""
    count: NotRequired[int]
    """By `count=true`: how many documents there are that meet the conditions."""
    ids: list[Id]


IgnoredTexts: TypeAlias = typing.Collection[str]
"""Texts whose shingles are in no set: documents are compared by the other shingles."""


class Included(TypedDict):
    sketch: NotRequired[str]
    """The slots in order, each little-endian, in hexadecimal."""
    shingles: NotRequired[list[str]]
    """The hashed shingles, ascending, each in 16 hexadecimal digits."""


class Incomplete(TypedDict):
    """Documents that were not compared with all their candidates: so some of their pairs may be
    missing. In a discovery, too many comparisons were in vain; `mode=exact` compares them
    all, however long it takes. In kept clusters, a limit was reached, the documents are not
    linked yet, or a removal may have divided their cluster.
    """

    documents: int
    """The number of these documents; documents with equal sets are counted once."""
    ids: list[Id]
    """The ids of these documents: at most [`Incomplete::IDS_MAX`]."""
    example: NotRequired[list[Id]]
    """One of these documents, and a document that it was not compared with. The shingles that
    these two share are the template of all these documents.
    """
    shared: NotRequired[int]
    """The number of shingles that the two documents of the example share."""


class LcsMeasure(TypedDict):
    """By the measure `lcs`: the longest common subsequence of the texts."""

    length: int
    """characters in common"""
    distance: int
    """characters to insert or delete"""


class LimitSettings(TypedDict):
    """The limits of a collection's calls."""

    candidates_max: NotRequired[int]
    """Candidates of a lookup; if there are more, the answer says `truncated`."""
    checked_max: NotRequired[int]
    """Candidates that are checked exactly, in the order of the agreement of their sketches; more
    only while at least half of them match. If further candidates may match, the answer says
    `truncated`.
    """
    filtered_max: NotRequired[int]
    """Documents on which a filter is evaluated in a lookup, in the order of the agreement of
    their sketches; if there are more, the answer says `truncated`.
    """
    duplicates_max: NotRequired[int]
    """Near-duplicates in the answer to an added document."""
    shingles_max: NotRequired[int]
    """Shingles of a document: its distinct shingles, or all shingles of a multiset."""
    metadata_bytes_max: NotRequired[int]
    """Bytes of a document's metadata."""
    field_bytes_max: NotRequired[int]
    """Bytes of a field of a record."""
    cluster_members_alarm: NotRequired[int]
    """Clusters of more documents are counted in metrics and logged as giant."""
    clusters_bytes_max: NotRequired[int]
    """Memory of the clusters that a collection keeps; if they need more, they are dropped."""
    collapse_shingles_max: NotRequired[int]
    """Shingles that a `POST /collapse` holds in memory: the sets of texts, and of stored
    documents that may be near-duplicates of each other; equal sets count once.
    """
    passage_texts_max: NotRequired[int]
    """Texts that a search for passages compares, the likeliest first: distinct texts, and of
    long texts the blocks that may have a passage. If there are more, the answer says
    `truncated`.
    """
    passage_words_max: NotRequired[int]
    """Words of all texts that a search for passages compares; if there are more, the answer says
    `truncated`.
    """
    edit_product_max: NotRequired[int]
    """The product of two texts' lengths in characters, for the measures `edit` and `lcs`."""


Linkage: TypeAlias = Literal["single", "representative"]
"""How documents are clustered. `single`: clusters are connected by chains of pairs.
`representative`: the similarity of each member to the representative of its cluster is at
least the threshold.
"""


class ListDocumentsQuery(TypedDict):
    """The options of `list_documents`."""

    after: NotRequired[Optional[Id]]
    """The last id of the previous page: the `next` of its answer."""
    limit: NotRequired[Optional[int]]
    """The most ids of a page."""
    count: NotRequired[Optional[bool]]
    """Whether the documents are counted, too, which examines all of them if there are
    conditions.
    """
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


LookupMeasure: TypeAlias = Literal["resemblance", "containment"]
"""The score by which documents match."""


class LookupProbe(TypedDict):
    """A document to compare: it has exactly one of `id` (of a stored document), `text`,
    `tokens`, `fields` and `signature`. A document to look up may have an `html` instead, or
    an `id` and one of the others, which is looked up if the id is not stored.
    """

    id: NotRequired[Optional[GivenId]]
    text: NotRequired[Optional[str]]
    html: NotRequired[Optional[str]]
    """A page, whose text is extracted in place of `text`."""
    extract: NotRequired[Optional[Extract]]
    """Beside `html`: which text of the page, by default `text`."""
    tokens: NotRequired[Optional[typing.Collection[Token]]]
    fields: NotRequired[Optional[Fields]]
    signature: NotRequired[Optional[typing.Collection[int]]]
    metadata: NotRequired[Any]
    """Ignored, so that documents can be sent as they are."""
    expires_at: NotRequired[Any]
    """Ignored."""
    k: NotRequired[Optional[int]]
    """The number of matches: the most similar documents, however unlike they are, instead of the
    documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
    given with it, and `mode` must not be `exact`.
    """
    measure: NotRequired[Optional[LookupMeasure]]
    """The score by which documents match: `resemblance`, or `containment`, the share of the
    shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
    and find documents that share a run of so many words with the probe.
    """
    of: NotRequired[Optional[ContainedOf]]
    """With `measure=containment`: what is contained in the other, the `probe` or the `match`."""
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
    lowest containment; by default the collection's threshold.
    """
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a match; by default the collection's. Other documents
    have a `threshold` instead.
    """
    limit: NotRequired[Optional[int]]
    """The most matches that are returned."""
    offset: NotRequired[Optional[int]]
    """Matches to leave out before the first that is returned. Pages of one lookup have every
    match once, unless documents are written between the calls.
    """
    mode: NotRequired[Optional[Mode]]
    """`verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
    match is missed. By default `verified`, and `exact` where the kind is `prefix`.
    """
    include: NotRequired[Optional[typing.Collection[str]]]
    """The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
    `highlights` (the parts of its text that the probe shares), or several with commas
    between. By default none.
    """
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class Match(TypedDict):
    """A near-duplicate of a probe."""

    text: NotRequired[str]
    tokens: NotRequired[list[Token]]
    fields: NotRequired[dict[str, str]]
    signature: NotRequired[list[int]]
    id: Id
    keys_shared: int
    """Keys that the match shares with the probe; elements, if these found it."""
    metadata: NotRequired[dict[str, Any]]
    """By `include=metadata`."""
    highlights: NotRequired[list[list[int]]]
    """By `include=highlights`: the parts of the match's text that are covered by shingles of the
    probe, in Unicode code points, each `[from, to)`: the slice `text[from:to]` of Python.
    Absent if the match has no text, or the call has done as much work before as it may.
    """
    resemblance: float
    """The Jaccard similarity: the same as `exact`."""
    exact: NotRequired[float]
    containment: NotRequired[MatchContainment]
    shared: NotRequired[int]
    """Shingles that both have."""
    union: NotRequired[int]
    """Shingles that either has."""
    points: NotRequired[int]
    """The points of all fields."""
    field_points: NotRequired[dict[str, int]]
    """The points of each field that both have."""
    estimated: NotRequired[float]
    """The estimate from the sketches."""
    interval: NotRequired[list[float]]
    """The 95 % interval of the estimate."""


class MatchContainment(TypedDict):
    """How much of a probe and of a match the other has."""

    of_probe: float
    """The share of the probe's shingles that the match has."""
    of_match: float
    """The share of the match's shingles that the probe has."""


class Measures(TypedDict):
    """The requested measures."""

    edit: NotRequired[EditMeasure]
    lcs: NotRequired[LcsMeasure]
    hamming: NotRequired[HammingMeasure]
    cosine: NotRequired[CosineMeasure]
    euclidean: NotRequired[EuclideanMeasure]


Mode: TypeAlias = Literal["verified", "estimated", "exact"]
"""How candidates are found and scored."""


Normalize: TypeAlias = Literal["nfkc", "nfc", "none"]
"""The normalisation of a text before it is cut into words."""


Note: TypeAlias = Literal["whole_document"]
"""Special treatment of a document that its sender may not expect."""


OnDamaged: TypeAlias = Literal["fail", "report"]
"""How an export with damaged documents ends. `fail`: the connection is closed without the
end of the body. `report`: as any other, so that only the lines with a `problem` say what
is missing.
"""


OnDuplicate: TypeAlias = Literal["keep", "skip"]
"""What to do with a new document that has a near-duplicate, or that is contained. A document
whose id is stored replaces the stored document.
"""


Order: TypeAlias = Literal["stored", "id"]
"""The order of an export. `stored`: as documents were stored, the fastest. `id`: by the
bytes of their ids, so that equal collections are exported alike.
"""


class Pair(TypedDict):
    """Two probes to compare. Options may stand in the query instead; an option that stands in
    both must have the same value.
    """

    a: Probe
    b: Probe
    explain: NotRequired[Optional[bool]]
    """Add the shared and differing passages, and the bands with keys that both documents have."""
    measures: NotRequired[Optional[typing.Collection[str]]]
    """Add further measures: one of the names of `Measures`, or several with commas between."""


class PairContainment(TypedDict):
    """How much of the documents of a pair the other has."""

    a_in_b: float
    """The share of a's shingles that b has."""
    b_in_a: float
    """The share of b's shingles that a has."""


PairLine: TypeAlias = Union[FoundPair, IncompleteLine]
"""A line of all pairs. The last line may say which pairs may be missing."""


class PairsQuery(TypedDict):
    """The options of `pairs`."""

    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of a pair; by default the collection's threshold, and for
    clusters its `clusters.threshold` if it has one.
    """
    mode: NotRequired[Optional[Mode]]
    """`verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
    `verified`, and `exact` where the kind is `prefix`.
    """


class PassageAnswer(TypedDict):
    """The documents that share passages with a probe: the documents that share the most words
    first, then by their longest run of equal words, then by their age.
    """

    matches: list[PassageMatch]
    probe: PassageProbe
    guarantee: PassageGuarantee
    chances: list[PassageChance]
    """The chances to find a passage of `words_min` words that was edited."""
    more: bool
    """There are more matches than `limit`."""
    truncated: bool
    """A limit was hit, or a damaged text is not in the index: documents or passages may be
    missing.
    """
    took_us: int


class PassageChance(TypedDict):
    """The chance that a passage of `words_min` words is found."""

    kept: float
    """The probability with which each word was kept."""
    probability: float
    """The computed probability that the passage is compared. It is returned if `words_min` of
    its words are equal.
    """


class PassageContainment(TypedDict):
    """Words in runs of equal words of the passages, as shares of all words of a text."""

    of_probe: float
    """`words_shared`, divided by the probe's words."""
    of_match: float
    """The same of the match: its words in runs, each once, divided by all its words."""


class PassageGuarantee(TypedDict):
    """What an answer that is not `truncated` is sure to have."""

    words: int
    """Every document that has a run of so many words of the probe is found, with all these
    words.
    """
    best_effort_from: NotRequired[int]
    """With a `words_min` below the guarantee: passages from so many words up to the guarantee
    are found by chance only.
    """


class PassageIndex(TypedDict):
    """The size of an index of passages."""

    sequences: int
    """Distinct sequences of words: equal texts, and equal blocks of long texts, are indexed
    once.
    """
    postings: int
    postings_longest: int
    """The postings of the key that has most."""
    bytes: int
    """Its memory, which is a part of `index_bytes`."""


class PassageMatch(TypedDict):
    """A document that shares passages with the probe."""

    id: Id
    words_shared: int
    """Words of the probe in runs of equal words of the passages. Each counts once, in however
    many runs and passages it is; the words between the runs of a passage do not count.
    """
    longest: int
    """Words of the longest run of equal words."""
    containment: PassageContainment
    passages: list[SharedPassage]
    """The passages with the most equal words first."""
    metadata: NotRequired[dict[str, Any]]
    """By `include=metadata`."""


class PassagePlace(TypedDict):
    """A part of a text as it was sent, in Unicode code points: the slice `text[start:end]` of
    Python.
    """

    start: int
    end: int
    words: int
    """Its words."""


class PassageProbe(TypedDict):
    words: int
    """Its words."""


class PassageProbeBody(TypedDict):
    """A text, or the `id` of a stored document. Options may stand in the query instead; an
    option that stands in both must have the same value.
    """

    id: NotRequired[Optional[GivenId]]
    text: NotRequired[Optional[str]]
    words_min: NotRequired[Optional[int]]
    """The fewest equal words of a passage; by default `passages.words` of the collection.
    Shorter passages are found by chance only, as `chances` says. A text of fewer words is
    found if it is shared as a whole.
    """
    containment_min: NotRequired[Optional[float]]
    """The least share of words in passages: of the probe, or of the match (`of`)."""
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default the probe's."""
    limit: NotRequired[Optional[int]]
    """The most documents that are returned."""
    offset: NotRequired[Optional[int]]
    """Documents to leave out before the first that is returned. Pages of one search have every
    document once, unless documents are written between the calls.
    """
    include: NotRequired[Optional[typing.Collection[str]]]
    """`metadata`: the metadata of each document."""
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class PassageSettings(TypedDict):
    """The index of passages that a collection has."""

    words: NotRequired[int]
    """Every run of so many equal words is found: 13 to 100. With 0, the default, there is no
    index of passages.
    """


class Passages(TypedDict):
    """Parts of a text in Unicode code points, each `[from, to)`: the slice `text[from:to]` of
    Python. Differing parts overlap no other part.
    """

    shared: list[list[int]]
    differing: list[list[int]]
    ignored: NotRequired[list[list[int]]]
    """Ranges of shingles that `shingles.ignore` leaves out of the set. Shingles of words on both
    sides of an end of such a range count, so up to a shingle less a word may be shared, too.
    """


class PassagesOfPostedQuery(TypedDict):
    """The options of `passages_of_posted`."""

    words_min: NotRequired[Optional[int]]
    """The fewest equal words of a passage; by default `passages.words` of the collection.
    Shorter passages are found by chance only, as `chances` says. A text of fewer words is
    found if it is shared as a whole.
    """
    containment_min: NotRequired[Optional[float]]
    """The least share of words in passages: of the probe, or of the match (`of`)."""
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default the probe's."""
    limit: NotRequired[Optional[int]]
    """The most documents that are returned."""
    offset: NotRequired[Optional[int]]
    """Documents to leave out before the first that is returned. Pages of one search have every
    document once, unless documents are written between the calls.
    """
    include: NotRequired[Optional[typing.Collection[Literal["metadata"]]]]
    """`metadata`: the metadata of each document."""
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class PassagesOfStoredQuery(TypedDict):
    """The options of `passages_of_stored`."""

    words_min: NotRequired[Optional[int]]
    """The fewest equal words of a passage; by default `passages.words` of the collection.
    Shorter passages are found by chance only, as `chances` says. A text of fewer words is
    found if it is shared as a whole.
    """
    containment_min: NotRequired[Optional[float]]
    """The least share of words in passages: of the probe, or of the match (`of`)."""
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default the probe's."""
    limit: NotRequired[Optional[int]]
    """The most documents that are returned."""
    offset: NotRequired[Optional[int]]
    """Documents to leave out before the first that is returned. Pages of one search have every
    document once, unless documents are written between the calls.
    """
    include: NotRequired[Optional[typing.Collection[Literal["metadata"]]]]
    """`metadata`: the metadata of each document."""
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class Previous(TypedDict):
    """A stored version that was replaced, and what the new version changed. If neither content
    nor metadata changed, the expiry did.
    """

    stored_at: Time
    content_changed: bool
    """Whether the text, the tokens or the fields changed, were it by a character."""
    metadata_changed: bool
    resemblance: NotRequired[float]
    """The Jaccard similarity of the two versions: the same as `exact`. Absent of records and of
    signatures.
    """
    exact: NotRequired[float]
    containment: NotRequired[MatchContainment]
    """The new version is the probe, the replaced version the match."""


class Probe(TypedDict):
    """A document to compare: it has exactly one of `id` (of a stored document), `text`,
    `tokens`, `fields` and `signature`. A document to look up may have an `html` instead, or
    an `id` and one of the others, which is looked up if the id is not stored.
    """

    id: NotRequired[Optional[GivenId]]
    text: NotRequired[Optional[str]]
    html: NotRequired[Optional[str]]
    """A page, whose text is extracted in place of `text`."""
    extract: NotRequired[Optional[Extract]]
    """Beside `html`: which text of the page, by default `text`."""
    tokens: NotRequired[Optional[typing.Collection[Token]]]
    fields: NotRequired[Optional[Fields]]
    signature: NotRequired[Optional[typing.Collection[int]]]
    metadata: NotRequired[Any]
    """Ignored, so that documents can be sent as they are."""
    expires_at: NotRequired[Any]
    """Ignored."""


Probes: TypeAlias = Union[LookupProbe, typing.Collection[LookupProbe]]
"""A probe, or an array of probes."""


class Problem(TypedDict):
    """An error, as RFC 9457 has it."""

    type: str
    """Where the code is documented, as an address on this server."""
    title: str
    """The same for every problem of this code."""
    status: int
    detail: str
    """The fault of this request."""
    code: Code
    request_id: str
    """The `x-request-id` of the response."""
    errors: NotRequired[list[FieldError]]
    """Each bad field."""
    progress: NotRequired[ProgressReply]
    """With `not_ready`, while the server starts."""


class ProgressReply(TypedDict):
    """How much of the index a start has restored."""

    done: int
    """Documents restored so far."""
    total: int
    """Documents to restore; 0 while unknown."""


class PutDocumentQuery(TypedDict):
    """The options of `put_document`."""

    extract: NotRequired[Optional[Extract]]
    """Which text of HTML is taken: by default `text`, the visible text, without navigation; or
    `main`, the main content, as in a browser's reader view; of a page without an article its
    text. In JSON it may stand beside `html` instead.
    """
    check: NotRequired[Optional[bool]]
    """Look for near-duplicates of each document."""
    on_duplicate: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that has a near-duplicate. A document whose id is
    stored is replaced. By default `keep`.
    """
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold."""
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a near-duplicate; by default the collection's. Other
    documents have a `threshold` instead.
    """
    passages: NotRequired[Optional[bool]]
    """Look for stored documents that share passages with each document, in a collection with
    `passages.words`.
    """
    on_contained: NotRequired[Optional[OnDuplicate]]
    """`skip`: do not store a new document that shares passages as `containment_min` says. By
    default `keep`.
    """
    containment_min: NotRequired[Optional[Threshold]]
    """The least share of words in passages: of the document's words, or of the stored document's
    (`of`).
    """
    of: NotRequired[Optional[ContainedOf]]
    """Whose words `containment_min` is a share of; by default `probe`, the document that is
    added.
    """


class Ranked(TypedDict):
    """A ranked list: either `ids` or `hits`. Options may stand in the query instead."""

    ids: NotRequired[Optional[typing.Collection[GivenId]]]
    """Stored documents. The first ranks highest. An id that comes again counts at its first
    place.
    """
    hits: NotRequired[Optional[typing.Collection[Hit]]]
    """Stored documents and texts. The first ranks highest. A hit with an id that comes again is
    left out.
    """
    threshold: NotRequired[Optional[Threshold]]
    """By default the collection's threshold."""
    offset: NotRequired[Optional[int]]
    """The number of hits at the front of the list that earlier pages have kept: they are not
    compared with each other and are not in `kept`, and the hits after them join their groups.
    The list of the next page is all hits that were kept so far, then the hits that are
    neither kept nor in `groups`.
    """
    limit: NotRequired[Optional[int]]
    """The most hits in `kept`; by default all. The rest of the list still joins their groups."""


class Readiness(TypedDict):
    status: str
    unavailable: NotRequired[int]
    """Collections that could not be opened when the server started; absent if all could."""


class Recall(TypedDict):
    """Recall and precision of lookups, measured on a random sample."""

    threshold: float
    sampled: int
    """Documents drawn at random and looked up."""
    left_out: int
    """Sampled documents that do not count, since they have over a thousand near-duplicates or
    their lookup was `truncated`.
    """
    documents: int
    """All documents, with which each sampled document was compared."""
    pairs: int
    """Pairs of a sampled document and another document with a similarity of at least the
    threshold.
    """
    recall: NotRequired[float]
    """The share of the pairs that was found; absent if there are none."""
    pairs_unequal: int
    """Pairs of sets that differ."""
    recall_unequal: NotRequired[float]
    """The share of these pairs that was found. Equal sets are always found, so `recall` hides
    missed pairs where most pairs are equal.
    """
    precision: NotRequired[float]
    """The share of the found pairs with a similarity of at least the threshold; absent if none
    was found.
    """
    expected_recall: float
    """The chance to find a document with a similarity of exactly the threshold. A document with
    a higher similarity is found more surely.
    """
    took_us: int


class RecallQuery(TypedDict):
    """The options of `recall`."""

    sample: NotRequired[Optional[int]]
    """How many documents are drawn at random; by default 200, or as many as the cost of a
    request allows.
    """
    threshold: NotRequired[Optional[Threshold]]
    """By default the collection's threshold."""


class Recovery(TypedDict):
    """How the index was recovered at the start."""

    source: RecoverySource
    snapshot_sequence: NotRequired[int]
    """The last operation contained in the snapshot that was loaded."""
    replayed: int
    """Number of operations replayed from the log after the snapshot."""
    took_ms: int


RecoverySource: TypeAlias = Literal["empty", "snapshot", "rebuilt"]
"""How the index was restored: `empty` (no documents), `snapshot` (a snapshot and the log),
or `rebuilt` (from the stored sketches).
"""


class Reindex(TypedDict):
    """How far a reindex is, or how it ended."""

    state: ReindexState
    """`running`; `done`: the collection has the new settings; `failed`: it is as it was."""
    documents_done: int
    """Documents that the new collection has so far."""
    documents_total: int
    """Documents that the collection had when this began; more may have come since."""
    settings: Settings
    started_at: Time
    ended_at: NotRequired[Time]
    """Absent while it is running."""
    failure: NotRequired[ReindexFailure]
    """Why it failed."""


class ReindexFailure(TypedDict):
    code: Code
    detail: str


ReindexState: TypeAlias = Literal["running", "done", "failed"]


class RemoveDocumentsQuery(TypedDict):
    """The options of `remove_documents`."""

    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class Removed(TypedDict):
    """The outcome of a removal by conditions."""

    matched: int
    """Documents that met the conditions."""
    removed: int
    """Documents removed: fewer than `matched` if other requests removed or replaced matching
    documents first.
    """
    took_us: int


SchemeKind: TypeAlias = Literal["bands", "random_rows", "prefix", "fields"]
"""The source of keys. `bands`: consecutive slots of the sketch (MinHash LSH). `random_rows`:
slots drawn at random. `prefix`: the first elements of the set itself, so that lookups
miss nothing. `fields`: the fields of a record.
"""


class SchemeSettings(TypedDict):
    """How keys are made. `kind`, `threshold_min`, `bands`, `rows`, `fields` and `field_sketches`
    determine the stored data: fixed for a collection's life.
    """

    kind: NotRequired[SchemeKind]
    threshold: NotRequired[Threshold]
    """The threshold of calls that give none."""
    recall: NotRequired[float]
    """The wanted probability to find a document with a similarity of exactly the threshold."""
    threshold_min: NotRequired[Optional[Threshold]]
    """The lowest threshold of lookups by keys: documents are indexed under the fewest keys that
    reach `recall` there, or all there are, and lookups below it are refused. By default
    documents are indexed under all keys, and lookups at any threshold say which recall to
    expect.
    """
    bands: NotRequired[Optional[int]]
    """Keys that a document is indexed under. By default the keys of `threshold_min`; without it
    as many bands as the sketch has slots for, or 125 keys of random rows.
    """
    rows: NotRequired[Optional[int]]
    """Slots of a key. By default the most, up to 4, with which the bands reach `recall` at
    `threshold_min`, without it at `threshold`, or 3 random rows.
    """
    exact_from: NotRequired[Optional[Threshold]]
    """The lowest threshold for which lookups in mode `exact` have an index; below it they scan
    every set. By default there is no index for exact lookups; with the kind `prefix` it
    serves thresholds from `threshold` up.
    """
    fields: NotRequired[typing.Collection[str]]
    """For the kind `fields`: the names of the fields that records may have."""
    field_sketches: NotRequired[bool]
    """For the kind `fields`: find records by fields that are nearly equal, too."""
    points: NotRequired[Optional[int]]
    """For the kind `fields`: the points from which records count as near-duplicates, for calls
    that give none; at most 100 for each field, by default 80.
    """
    penalty: NotRequired[Optional[int]]
    """For the kind `fields`: the points that an edit costs; d edits cost d² times as much. By
    default 4.
    """


class Settings(TypedDict):
    """A collection's settings. `shingles`, `sketch`, `scheme.kind`, `scheme.bands`,
    `scheme.rows`, `scheme.fields`, `scheme.field_sketches` and `store.text` decide the stored
    data and are fixed for the life of the collection.
    """

    shingles: NotRequired[ShingleSettings]
    sketch: NotRequired[SketchSettings]
    scheme: NotRequired[SchemeSettings]
    store: NotRequired[StoreSettings]
    clusters: NotRequired[ClusterSettings]
    passages: NotRequired[PassageSettings]
    limits: NotRequired[LimitSettings]


class SharedPassage(TypedDict):
    """A part of the probe, and the part of the match that equals it, or nearly."""

    probe: PassagePlace
    match: PassagePlace
    words_equal: int
    """Pairs of equal words, in order: a word of either part is in one pair at most. So where one
    of the texts repeats words that the other has once, `words_shared` can be more.
    """


class ShingleSettings(TypedDict):
    """How texts are cut into shingles. Determines the stored data: fixed for a collection's
    life.
    """

    unit: NotRequired[ShingleUnit]
    size: NotRequired[int]
    """How many units make a shingle."""
    lowercase: NotRequired[bool]
    """Ignore the difference between upper and lower case."""
    normalize: NotRequired[Normalize]
    """Unicode normalisation of texts and fields before they are cut. Ready-made tokens are never
    normalised.
    """
    fold: NotRequired[typing.Collection[Fold]]
    """Differences of spelling that do not count. Ready-made tokens are never changed."""
    multiset: NotRequired[bool]
    """Count repetitions: each occurrence of a shingle is an element of its own, so the Jaccard
    similarity is that of bags, Σmin / Σmax of the counts.
    """
    stopwords: NotRequired[StopWords]
    """For the unit `stopword`: the words that shingles begin with."""
    ignore: NotRequired[IgnoredTexts]
    """Texts whose shingles do not count, such as menus and notices."""
    equivalents: NotRequired[Equivalents]
    """For the unit `field`: groups of words and whole values that mean the same."""


ShingleUnit: TypeAlias = Literal["word", "character", "stopword", "token", "field"]
"""The units of which shingles are made."""


class SimilarToPostedQuery(TypedDict):
    """The options of `similar_to_posted`."""

    extract: NotRequired[Optional[Extract]]
    """Which text of HTML is taken: by default `text`, the visible text, without navigation; or
    `main`, the main content, as in a browser's reader view; of a page without an article its
    text. In JSON it may stand beside `html` instead.
    """
    k: NotRequired[Optional[int]]
    """The number of matches: the most similar documents, however unlike they are, instead of the
    documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
    given with it, and `mode` must not be `exact`.
    """
    measure: NotRequired[Optional[LookupMeasure]]
    """The score by which documents match: `resemblance`, or `containment`, the share of the
    shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
    and find documents that share a run of so many words with the probe.
    """
    of: NotRequired[Optional[ContainedOf]]
    """With `measure=containment`: what is contained in the other, the `probe` or the `match`."""
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
    lowest containment; by default the collection's threshold.
    """
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a match; by default the collection's. Other documents
    have a `threshold` instead.
    """
    limit: NotRequired[Optional[int]]
    """The most matches that are returned."""
    offset: NotRequired[Optional[int]]
    """Matches to leave out before the first that is returned. Pages of one lookup have every
    match once, unless documents are written between the calls.
    """
    mode: NotRequired[Optional[Mode]]
    """`verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
    match is missed. By default `verified`, and `exact` where the kind is `prefix`.
    """
    include: NotRequired[Optional[typing.Collection[Literal["text", "metadata", "highlights"]]]]
    """The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
    `highlights` (the parts of its text that the probe shares), or several with commas
    between. By default none.
    """
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class SimilarToStoredQuery(TypedDict):
    """The options of `similar_to_stored`."""

    k: NotRequired[Optional[int]]
    """The number of matches: the most similar documents, however unlike they are, instead of the
    documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
    given with it, and `mode` must not be `exact`.
    """
    measure: NotRequired[Optional[LookupMeasure]]
    """The score by which documents match: `resemblance`, or `containment`, the share of the
    shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
    and find documents that share a run of so many words with the probe.
    """
    of: NotRequired[Optional[ContainedOf]]
    """With `measure=containment`: what is contained in the other, the `probe` or the `match`."""
    threshold: NotRequired[Optional[Threshold]]
    """The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
    lowest containment; by default the collection's threshold.
    """
    points: NotRequired[Optional[int]]
    """Of records, the fewest points of a match; by default the collection's. Other documents
    have a `threshold` instead.
    """
    limit: NotRequired[Optional[int]]
    """The most matches that are returned."""
    offset: NotRequired[Optional[int]]
    """Matches to leave out before the first that is returned. Pages of one lookup have every
    match once, unless documents are written between the calls.
    """
    mode: NotRequired[Optional[Mode]]
    """`verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
    match is missed. By default `verified`, and `exact` where the kind is `prefix`.
    """
    include: NotRequired[Optional[typing.Collection[Literal["text", "metadata", "highlights"]]]]
    """The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
    `highlights` (the parts of its text that the probe shares), or several with commas
    between. By default none.
    """
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


SketchMethod: TypeAlias = Literal["fast32", "permutations", "foreign"]
"""`fast32`: one-permutation MinHash whose empty slots are filled by 32-bit hashes.
`permutations`: textbook MinHash, one hash per shingle and slot, much slower. `foreign`:
documents are signatures that clients compute.
"""


class SketchSettings(TypedDict):
    """How the MinHash sketch of a set is computed. Decides the stored data: fixed for the life
    of a collection.
    """

    slots: NotRequired[int]
    """Number of MinHash slots of a sketch; more slots estimate better."""
    bits: NotRequired[int]
    """Bits kept of each slot: 8, 16 or 32."""
    seed: NotRequired[Optional[int]]
    """Seed of all hash functions. A collection without a given seed gets a random seed, which is
    kept secret: anyone with the seed can make unlike documents look alike.
    """
    method: NotRequired[SketchMethod]


class Snapshot(TypedDict):
    """A complete snapshot."""

    sequence: int
    """The last operation in it."""
    created_at: Time
    bytes: int
    documents: int


class Snapshots(TypedDict):
    snapshots: list[Snapshot]


Stage: TypeAlias = Literal["reading", "counting", "filing", "joining", "giving"]
"""The stage of a join; each stage counts its own steps. `reading`: documents; `counting`:
occurrences of elements; `filing`: sets by keys; `joining`: sets that share keys;
`giving`: results.
"""


class Stats(TypedDict):
    """Statistics of the collection and the process. A number that the backend does not know is
    absent.
    """

    documents: int
    distinct_sets: NotRequired[int]
    """Distinct sets; equal sets are indexed once."""
    keys: NotRequired[int]
    postings: NotRequired[int]
    """Entries of all keys."""
    postings_longest: NotRequired[int]
    """The entries of the key that has most."""
    index_bytes: NotRequired[int]
    """Memory of the index and of the ids."""
    database_bytes: NotRequired[int]
    """On disk, without snapshots and the write-ahead log."""
    ids_bytes: NotRequired[int]
    """The part of `index_bytes` that is for ids."""
    passages: NotRequired[PassageIndex]
    """The index of passages, in a collection that has one."""
    wal_bytes: NotRequired[int]
    log_rows: NotRequired[int]
    """Operations since the newest snapshot, which a start would replay."""
    sequence: NotRequired[int]
    """The last operation applied."""
    recovery: NotRequired[Recovery]
    last_snapshot: NotRequired[Snapshot]
    bytes_per_document: NotRequired[float]
    """`index_bytes` divided by `documents`; absent while there are none."""
    clusters: NotRequired[ClusterCounts]
    """The kept clusters, in a collection that keeps clusters."""
    discoveries: list[Discovery]
    """Running discoveries, the oldest first."""
    uptime_s: int
    version: str
    started_at: Time
    settings: Settings


class Status(TypedDict):
    status: str


StopWords: TypeAlias = Union[str, typing.Collection[str]]
"""The stop words of a language, by its ISO 639-1 code, or the words of a list.

Most languages have the lists of the Snowball stemmers as NLTK keeps them; the remaining
languages have the lists of stopwords-iso.
"""


class StoreSettings(TypedDict):
    """Stored parts of a document, and its time to live."""

    text: NotRequired[bool]
    """Keep the text (or tokens) itself, to give it back and to explain matches."""
    ttl_s: NotRequired[Optional[int]]
    """Seconds until a document without `expires_at` expires. By default it never does."""


class StoredDocument(ExportedDocument):
    """A document as stored."""

    stored_at: Time
    shingles: int
    """Its distinct shingles, or the values of its signature."""
    fingerprint: str
    """A hash of all its shingles, in 16 hexadecimal digits: equal sets have equal fingerprints."""
    notes: list[Note]
    cluster: NotRequired[str]
    """The name of its cluster, in a collection that keeps them; absent while they are being
    built.
    """
    included: NotRequired[Included]
    """On request, by `include`."""


Threshold: TypeAlias = float
"""A Jaccard similarity (resemblance) from which documents count as near-duplicates: above 0,
at most 1.
"""


Time: TypeAlias = str
"""A time as RFC 3339 has it, to the millisecond. Finer parts of a client's time are cut off."""


Token: TypeAlias = Union[str, Sequence[Union[str, int]]]
"""An element of a ready-made set, or one with how often it occurs."""


class Unwanted(TypedDict):
    """The documents to remove: the documents with these ids, or the documents that meet all
    conditions.
    """

    ids: NotRequired[Optional[typing.Collection[GivenId]]]
    filter: NotRequired[Optional[str]]
    """A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    selectors, or filters within filters. A value that is absent equals nothing, and is not
    less or greater than anything; a document without metadata counts as a document with `{}`.
    """
    stored_after: NotRequired[Optional[Union[Time, datetime]]]
    """Stored later than this time."""
    stored_before: NotRequired[Optional[Union[Time, datetime]]]
    """Stored earlier than this time."""


class Wanted(TypedDict):
    """Which documents are wanted. `include` may stand in the query instead."""

    ids: typing.Collection[GivenId]
    """An id that comes again counts once."""
    include: NotRequired[Optional[typing.Collection[str]]]
    """`sketch` (needs the action `admin`), `shingles`, or both with a comma between."""
