// Written by clients/generate.py from openapi.yaml.

/** The options of `add_documents`. */
export interface AddDocumentsQuery {
  /**
   * Which text of HTML is taken: by default `text`, the visible text, without navigation; or
   * `main`, the main content, as in a browser's reader view; of a page without an article its
   * text. In JSON it may stand beside `html` instead.
   */
  extract?: Extract | null;
  /** Look for near-duplicates of each document. */
  check?: boolean | null;
  /**
   * `skip`: do not store a new document that has a near-duplicate. A document whose id is
   * stored is replaced. By default `keep`.
   */
  onDuplicate?: OnDuplicate | null;
  /** The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a near-duplicate; by default the collection's. Other
   * documents have a `threshold` instead.
   */
  points?: number | null;
  /**
   * Look for stored documents that share passages with each document, in a collection with
   * `passages.words`.
   */
  passages?: boolean | null;
  /**
   * `skip`: do not store a new document that shares passages as `containment_min` says. By
   * default `keep`.
   */
  onContained?: OnDuplicate | null;
  /**
   * The least share of words in passages: of the document's words, or of the stored document's
   * (`of`).
   */
  containmentMin?: Threshold | null;
  /**
   * Whose words `containment_min` is a share of; by default `probe`, the document that is
   * added.
   */
  of?: ContainedOf | null;
}

export type AddStatus = "created" | "replaced" | "unchanged" | "skipped";

/** The result of an addition. */
export interface Added {
  id: Id;
  status: AddStatus;
  /** The near-duplicates that were stored before it. */
  duplicates: Match[];
  /** The number of its distinct shingles. */
  shingles: number;
  /**
   * What was done that its sender may not expect: `whole_document`, the text has no shingle, so
   * the whole of it is its only one.
   */
  notes: Note[];
  /**
   * Of a document that replaced a stored version of itself: what changed. Absent if the stored
   * version is damaged.
   */
  previous?: Previous;
  /**
   * The name of its cluster, in a collection that keeps them; absent while they are being
   * built, and of a document that was skipped.
   */
  cluster?: string;
  /** There, and true, if there are more near-duplicates than `duplicates` has room for. */
  more?: boolean;
  /**
   * There, and true, if a work limit was hit while looking for near-duplicates: some may be
   * missing.
   */
  truncated?: boolean;
  /**
   * By `passages`: the documents that share passages with it. Absent of a document that was
   * skipped for its near-duplicates.
   */
  passages?: AddedPassages;
}

/** The result of a document, or an array with a result for each document. */
export type AddedAnswer = Added | ResultLine[];

export interface AddedLine extends Added {
  /** The line of the document, or its position in the array, from 1. */
  line: number;
}

/**
 * The documents that share passages with a document that is added: all that arrived before it,
 * the documents that share the most words first, then by their longest run of equal words, then
 * by their age.
 */
export interface AddedPassages {
  /** The document that is added is the `probe`. */
  matches: PassageMatch[];
  guarantee: PassageGuarantee;
  /** There are more matches than `limits.duplicates_max`. */
  more: boolean;
  /**
   * A limit was hit, or a damaged text is not in the index: documents or passages may be
   * missing.
   */
  truncated: boolean;
}

/**
 * The near-duplicates of a probe: `resemblance` falling, then by id, within the groups of the
 * first 40 candidates and of the next 40, 80, 160 … candidates.
 */
export interface Answer {
  /**
   * Distinct sets that share a key with the probe; or, if it was a scan, all documents, or with
   * `k` all distinct sets.
   */
  candidates: number;
  /** There are more matches than `limit`; with `k` never true. */
  more: boolean;
  /** A work limit was hit: some matches may be missing. */
  truncated: boolean;
  mode: Mode;
  /**
   * Whether the candidates share a key of the sketch with the probe (`keys`), one of the first
   * elements (`prefix`) or a run of words (`passages`), or are all documents (`scan`).
   */
  found_by: FoundBy;
  matches: Match[];
  took_us: number;
  /** The chance to find a document whose similarity is exactly the threshold. */
  expected_recall?: number;
  /**
   * The similarity from which `expected_recall` holds. Less similar documents may be among the
   * matches, and others may be missing. In mode `estimated` 0: the matches are the highest
   * estimates of all documents.
   */
  floor?: number;
  /** The fewest points of a match. */
  points?: number;
  /**
   * Unless `truncated` is true, every document that reaches the threshold and has a run of so
   * many words of the probe is found. Further documents may be missing.
   */
  guarantee?: PassageGuarantee;
  /** With `of=probe`: the chances to find a document that has the whole probe, edited. */
  chances?: PassageChance[];
  /** The lowest Jaccard similarity of a match. */
  threshold?: number;
}

/** An answer to a probe; an array of answers to an array of probes, in the order of the probes. */
export type Answers = Answer | ProbeAnswer[];

/** Where the next call goes on. */
export interface ChangesEnd {
  /** The `since` of the next call. */
  position: string;
}

/** A line of the feed: a change, or last of all where the next call goes on. */
export type ChangesLine = DocumentChanged | ChangesEnd;

/** The options of `changes`. */
export interface ChangesQuery {
  /** The `position` of an earlier answer. Without it the answer has the position of now alone. */
  since?: string | null;
  /** The most operations that are read for an answer; and as many changes of clusters. */
  limit?: number | null;
  /** How many seconds the answer waits for something to happen, if nothing has. */
  waitS?: number | null;
  /** Also tell the documents whose cluster changed, in a collection with `clusters.threshold`. */
  clusters?: boolean | null;
}

/**
 * A cluster of near-duplicates. It is written piece by piece, as it may be as large as the
 * collection.
 */
export interface Cluster {
  /** The cluster's name, which depends on its representative only. */
  cluster: string;
  /** The lowest id of the cluster in byte order. */
  representative: Id;
  /** The number of members. */
  size: number;
  /** In byte order of their ids, so the representative is first. */
  members: ClusterMember[];
}

/** Figures of the clusters. */
export interface ClusterCounts {
  state: ClustersState;
  /** Clusters of at least two documents. */
  clusters: number;
  /** Documents in them. */
  documents: number;
  /** Their memory. */
  bytes: number;
}

/**
 * A line of all clusters. The last line may say which documents may be missing in their
 * clusters.
 */
export type ClusterLine = Cluster | IncompleteLine;

export interface ClusterMember {
  id: Id;
  /**
   * The Jaccard similarity to the representative: the exact value, or the estimate in mode
   * `estimated`. It may be below the threshold with `linkage=single`, where a chain of
   * near-duplicates connects the two.
   */
  resemblance: number;
}

/** The clusters that a collection keeps. */
export interface ClusterSettings {
  /**
   * The lowest Jaccard similarity of two documents that are connected in a cluster. Without it
   * no clusters are kept.
   */
  threshold?: Threshold | null;
}

/** The options of `clusters`. */
export interface ClustersQuery {
  /**
   * The lowest Jaccard similarity of a pair; by default the collection's threshold, and for
   * clusters its `clusters.threshold` if it has one.
   */
  threshold?: Threshold | null;
  /**
   * `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
   * `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
   * `verified`, and `exact` where the kind is `prefix`.
   */
  mode?: Mode | null;
  /** By default `single`. */
  linkage?: Linkage | null;
  /** Without `id`: the fewest documents of a cluster, by default 2. */
  minSize?: number | null;
}

/** How far the clusters have come. */
export type ClustersState = "building" | "updating" | "current" | "over_limit";

/** The kind of a problem, in a word that stays the same between versions. */
export type Code
  = "malformed_json"
  | "malformed_text"
  | "invalid_parameter"
  | "unreadable_body"
  | "malformed_request"
  | "invalid_host"
  | "key_required"
  | "invalid_key"
  | "not_permitted"
  | "foreign_origin"
  | "document_not_found"
  | "collection_not_found"
  | "reindex_not_found"
  | "route_not_found"
  | "method_not_allowed"
  | "body_timeout"
  | "collection_exists"
  | "collection_required"
  | "too_many_collections"
  | "reindex_under_way"
  | "reindex_of_default"
  | "changes_gone"
  | "body_too_large"
  | "document_too_large"
  | "unsupported_media_type"
  | "unsupported_encoding"
  | "host_not_served"
  | "invalid_document"
  | "invalid_request"
  | "empty_document"
  | "too_many_shingles"
  | "metadata_too_large"
  | "text_not_kept"
  | "wrong_content"
  | "unknown_field"
  | "field_too_large"
  | "unsupported_mode"
  | "passages_off"
  | "request_too_costly"
  | "text_required"
  | "texts_too_long"
  | "too_many_requests"
  | "document_damaged"
  | "internal"
  | "unsupported_by_backend"
  | "not_ready"
  | "out_of_service"
  | "collection_unavailable"
  | "overloaded"
  | "memory_budget_exhausted"
  | "timed_out"
  | "insufficient_storage";

/** The options of `collapse`. */
export interface CollapseQuery {
  /** By default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * The number of hits at the front of the list that earlier pages have kept: they are not
   * compared with each other and are not in `kept`, and the hits after them join their groups.
   * The list of the next page is all hits that were kept so far, then the hits that are neither
   * kept nor in `groups`.
   */
  offset?: number | null;
  /** The most hits in `kept`; by default all. The rest of the list still joins their groups. */
  limit?: number | null;
}

/** A ranked list without the near-duplicates of higher-ranked hits. */
export interface Collapsed {
  /** In their order, with those that have nothing to compare; without the hits before `offset`. */
  kept: HitName[];
  /**
   * The kept hits that have near-duplicates in the list, in their order, also those before
   * `offset`.
   */
  groups: CollapsedGroup[];
  /**
   * The hits that have nothing to compare, in their order: their ids are not stored, and they
   * have no text of which a shingle can be made.
   */
  unknown: HitName[];
  /** More were kept than `limit`, and are left out. */
  more: boolean;
  threshold: number;
  took_us: number;
}

/** A kept hit and the hits that it stands for. */
export interface CollapsedGroup {
  representative: HitName;
  /** In their order, at least one. They need not resemble each other. */
  members: CollapsedMember[];
}

export interface CollapsedMember {
  hit: HitName;
  /** The exact Jaccard similarity to the representative. */
  resemblance: number;
}

/** A collection: its settings and size. */
export interface Collection {
  documents: number;
  /** Distinct sets; equal sets are indexed once. */
  distinct_sets?: number;
  keys?: number;
  /** Entries of all keys. */
  postings?: number;
  /** The entries of the key that has most. */
  postings_longest?: number;
  /** Memory of the index and of the ids. */
  index_bytes?: number;
  /** On disk, without snapshots and the write-ahead log. */
  database_bytes?: number;
  name: string;
  /** As text: a command shows the settings of a server of another version, too. */
  settings: Settings;
  /** `postings_longest` divided by the average entries of a key; absent while there are none. */
  postings_skew?: number;
}

export interface CollectionEntry {
  name: string;
}

/** The names of collections. */
export interface Collections {
  collections: CollectionEntry[];
  /**
   * Collections that could not be opened when the server started. Calls on them are answered
   * 503 `collection_unavailable`.
   */
  unavailable?: CollectionEntry[];
}

/** The options of `compare_posted`. */
export interface ComparePostedQuery {
  /** Add the shared and differing passages, and the bands with keys that both documents have. */
  explain?: boolean | null;
  /** Add further measures: one of the names of `Measures`, or several with commas between. */
  measures?: ("edit" | "lcs" | "hamming" | "cosine" | "euclidean")[] | null;
}

/** The options of `compare_stored`. */
export interface CompareStoredQuery {
  /** The id of a stored document. */
  a?: Id | null;
  /** The id of another. */
  b?: Id | null;
  /** Add the shared and differing passages, and the bands with keys that both documents have. */
  explain?: boolean | null;
  /** Add further measures: one of the names of `Measures`, or several with commas between. */
  measures?: ("edit" | "lcs" | "hamming" | "cosine" | "euclidean")[] | null;
}

/** A field of two records. */
export interface ComparedField {
  field: string;
  /** Its normalised value in the first record; absent if that lacks the field. */
  a?: string;
  /** Its normalised value in the second record; absent if that lacks the field. */
  b?: string;
  /** Absent if one of the records lacks the field. */
  points?: number;
}

/** The estimated and the exact Jaccard similarity (resemblance) of two documents. */
export interface Comparison {
  /**
   * The probability that two documents of this resemblance share a key that a lookup at the
   * collection's threshold probes; of records 1 if they share a key, else 0. Absent where
   * candidates are found otherwise (`kind = "prefix"`).
   */
  probability_candidate?: number;
  /**
   * The probability that a lookup of one at the collection's threshold reports the other: 0
   * below the threshold.
   */
  probability_reported: number;
  /** On request, by `measures`. */
  measures?: Measures;
  /** On request, by `explain`. */
  explanation?: Explanation;
  took_us: number;
  exact?: ExactResemblance;
  containment?: PairContainment;
  /** The points of all fields. */
  points?: number;
  /** The points of each field that both have. */
  field_points?: Record<string, number>;
  kind: "sets" | "signatures" | "records";
  /** By the sketches. */
  estimated?: Estimate;
}

/** Which of two texts is contained in the other. */
export type ContainedOf = "probe" | "match";

/** By the measure `cosine`: the cosine similarity of the counts of shingles as vectors. */
export interface CosineMeasure {
  /** the cosine of the angle between them */
  similarity: number;
  /** degrees between them, 0 to 90 */
  angle_degrees: number;
}

/**
 * The last result, if the problems of failed documents would have taken more bytes than the
 * documents and a further MiB.
 */
export interface CountedErrors {
  status: CountedStatus;
  /**
   * The first and the last document that failed without a result of its own; those in between
   * that have no result failed, too.
   */
  first_line: number;
  last_line: number;
  /** The number of documents that failed without a result of their own. */
  errors: number;
  /** Their number by the code of their problem. */
  codes: Record<string, number>;
}

export type CountedStatus = "errors_counted";

/** The chance to find a document by its Jaccard similarity, and the costs of the scheme. */
export interface Curve {
  kind: SchemeKind;
  /** Keys of a document. */
  bands: number;
  /** Slots of a key. */
  rows: number;
  /** Slots of a sketch. */
  slots: number;
  threshold: number;
  /** Keys that a lookup at the threshold probes. */
  keys_probed: number;
  /** A candidate with fewer agreeing slots is not checked exactly. */
  agreeing_min: number;
  /** The chance to find a document with a similarity of exactly the threshold. */
  expected_recall: number;
  /** The share that is missed, on average over similarities from the threshold to 1. */
  false_negatives: number;
  /** The share that is checked in vain, on average over similarities from 0 to the threshold. */
  false_positives: number;
  /** Memory of the index for a document, computed from its layout. */
  bytes_per_document: number;
  /**
   * Memory of the collection's index for a document. Only for the collection's own scheme, and
   * only if there are documents.
   */
  measured_bytes_per_document?: number;
  /** At 0, 0.01, …, 1. */
  points: CurvePoint[];
  took_us: number;
}

export interface CurvePoint {
  similarity: number;
  /** The probability of sharing a key that a lookup probes. */
  candidate: number;
  /** The probability of being a candidate with a sketch that agrees enough to be checked. */
  found: number;
}

/** The options of `curve`. */
export interface CurveQuery {
  /** By default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * The wanted chance to find a document with a similarity of exactly the threshold: draws the
   * curve of the scheme that akin would choose for it.
   */
  recall?: number | null;
  /** The number of keys, all of which are looked up; with `rows`. */
  bands?: number | null;
  /** Slots of a key; with `bands`. */
  rows?: number | null;
}

export interface DamagedDocument {
  /** As far as it can be read. */
  id: string;
  problem: Problem;
}

/** A running discovery. */
export interface Discovery {
  threshold: number;
  mode: Mode;
  started_at: Time;
  stage: Stage;
  /** Steps of this stage that are done. */
  done: number;
  /** Steps of this stage; 0 while unknown. */
  total: number;
  /** Pairs or clusters sent so far. */
  found: number;
  linkage?: Linkage;
  kind: "pairs" | "clusters";
}

/**
 * A document: it has exactly one of `text`, `html`, `tokens`, `fields` and `signature`. The
 * options, from `check` on, are not stored; they may stand in the query instead.
 */
export interface Document {
  /** By default the server makes a UUIDv7. */
  id?: GivenId | null;
  text?: string | null;
  /** A page, whose text is extracted and stored in place of `text`. */
  html?: string | null;
  /** Beside `html`: which text of the page, by default `text`. */
  extract?: Extract | null;
  /** The elements of a ready-made set. */
  tokens?: Token[] | null;
  /** Of a record, in a collection that declares these fields. */
  fields?: Fields | null;
  /**
   * MinHash values, in a collection whose `sketch.method` is `foreign`: as many as its
   * `sketch.slots`.
   */
  signature?: number[] | null;
  /** Returned as it came. */
  metadata?: Record<string, any> | null;
  /**
   * In the future. From then on the document is no longer returned, and its id can be reused.
   * By default documents expire as the collection's `store.ttl_s` says, or never.
   */
  expires_at?: Time | Date | null;
  /** Look for near-duplicates of each document. */
  check?: boolean | null;
  /**
   * `skip`: do not store a new document that has a near-duplicate. A document whose id is
   * stored is replaced. By default `keep`.
   */
  on_duplicate?: OnDuplicate | null;
  /** The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a near-duplicate; by default the collection's. Other
   * documents have a `threshold` instead.
   */
  points?: number | null;
  /**
   * Look for stored documents that share passages with each document, in a collection with
   * `passages.words`.
   */
  passages?: boolean | null;
  /**
   * `skip`: do not store a new document that shares passages as `containment_min` says. By
   * default `keep`.
   */
  on_contained?: OnDuplicate | null;
  /**
   * The least share of words in passages: of the document's words, or of the stored document's
   * (`of`).
   */
  containment_min?: Threshold | null;
  /**
   * Whose words `containment_min` is a share of; by default `probe`, the document that is
   * added.
   */
  of?: ContainedOf | null;
}

/** The changes of a document. Absent fields stay unchanged. */
export interface DocumentChange {
  /** A merge patch (RFC 7396): a field that is `null` is removed; `null` removes all. */
  metadata?: Record<string, any> | null;
  /** `null`: as the collection's `store.ttl_s` says, or never. */
  expires_at?: Time | Date | null;
}

/** A document was stored, removed, or has another cluster. */
export type DocumentChanged = DocumentStored | DocumentRemoved | DocumentClustered;

/** The document is in the cluster of this name now. It may have been before. */
export interface DocumentClustered {
  id: Id;
  cluster: string;
  change: "clustered";
}

/** Also if it expired. */
export interface DocumentRemoved {
  id: Id;
  change: "removed";
}

export interface DocumentStored {
  id: Id;
  stored_at: Time;
  change: "stored";
}

/** One document, or an array of them. */
export type Documents = Document | Document[];

/** By the measure `edit`: the edit distance (Levenshtein distance) of the texts. */
export interface EditMeasure {
  /** characters to insert, delete or exchange */
  distance: number;
}

/**
 * Groups of words or whole values that mean the same in a field, as "Bill" and "William" do.
 * The first member of a group replaces the other members.
 */
export type Equivalents = string[][];

export interface ErrorLine {
  line: number;
  status: ErrorStatus;
  problem: Problem;
}

export type ErrorStatus = "error";

/** An estimate of the Jaccard similarity (resemblance) from the slots that agree. */
export interface Estimate {
  /** 0..=1. Accidental agreements of b-bit slots are subtracted. */
  value: number;
  standard_error: number;
  /** The 95 % interval (Wilson's, modified near 0 and 1), accidental agreements subtracted. */
  interval: [number, number];
  /** Number of slots that agree. */
  agreeing: number;
  /** Number of slots compared. */
  slots: number;
}

/** By the measure `euclidean`: the Euclidean distance of the counts of shingles as vectors. */
export interface EuclideanMeasure {
  /** the length of their difference */
  distance: number;
}

export interface ExactResemblance {
  value: number;
  intersection: number;
  union: number;
  /**
   * The similarity of the bags of shingles, with repetitions: Σmin of the counts / (Σa + Σb),
   * at most ½. Absent where counts are not known: of documents stored without their texts,
   * unless the collection's sets are multisets.
   */
  bag?: number;
  /** The Jaccard similarity of the bags: Σmin / Σmax of the counts, at most 1. */
  bag_max_union?: number;
}

/** Where two texts are alike. */
export interface Explanation {
  a: Passages;
  b: Passages;
  /** The bands with equal keys. */
  bands_shared: number[];
  /** Of records only, which have no passages: every field of either record. */
  fields?: ComparedField[];
}

/** The options of `export_documents`. */
export interface ExportDocumentsQuery {
  /** By default `stored`. */
  order?: Order | null;
  /** By default `fail`. */
  onDamaged?: OnDamaged | null;
}

/** A document as it was posted, and can be posted again. */
export interface ExportedDocument {
  text?: string;
  tokens?: Token[];
  fields?: Record<string, string>;
  signature?: number[];
  id: Id;
  metadata?: Record<string, any>;
  /** Absent if it never expires. */
  expires_at?: Time;
}

/** A line of an export. */
export type ExportedLine = ExportedDocument | DamagedDocument;

/** Which text of an HTML page is read. */
export type Extract = "text" | "main";

export interface FailedProbe {
  error: Problem;
}

/** The options of `fetch_documents`. */
export interface FetchDocumentsQuery {
  /** `sketch` (needs the action `admin`), `shingles`, or both with a comma between. */
  include?: ("sketch" | "shingles")[] | null;
}

/** The documents that are stored, in the order of the ids. */
export interface Fetched {
  /** The ids that are not stored, in their order. */
  unknown: Id[];
  /** The ids of documents that cannot be read whole: `GET /documents/{id}` says why. */
  damaged?: Id[];
  documents: StoredDocument[];
}

/** An invalid field of a body. */
export interface FieldError {
  /** Where in the body, as a JSON pointer (RFC 6901); empty for the whole of it. */
  pointer: string;
  detail: string;
}

/** The fields of a record: an object of strings in which no name comes twice. */
export type Fields = Record<string, string>;

/** A difference of spelling that can be ignored. */
export type Fold = "line_end_hyphens" | "turkic_case" | "marks" | "digits" | "lookalikes";

/** How the candidates of a lookup were found. */
export type FoundBy = "keys" | "passages" | "prefix" | "scan";

/** Two near-duplicates. */
export interface FoundPair {
  /** The id that is lower in byte order. */
  a: Id;
  b: Id;
  /** The Jaccard similarity: the same as `exact`. */
  resemblance: number;
  exact?: number;
  containment?: PairContainment;
  /** Shingles that both have. */
  shared?: number;
  /** Shingles that either has. */
  union?: number;
  /** The points of all fields. */
  points?: number;
  /** The points of each field that both have. */
  field_points?: Record<string, number>;
  /** The estimate from the sketches. */
  estimated?: number;
  /** The 95 % interval of the estimate. */
  interval?: number[];
}

/** The options of `get_document`. */
export interface GetDocumentQuery {
  /** `sketch` (needs the action `admin`), `shingles`, or both with a comma between. */
  include?: ("sketch" | "shingles")[] | null;
}

/** An id as a client may write it: an integer means its decimal digits. Answers have strings. */
export type GivenId = Id | number;

/** By the measure `hamming`: the Hamming distance of the sets of shingles. */
export interface HammingMeasure {
  /** shingles that only one of them has */
  distance: number;
}

/** A hit of any store: it has an `id`, a `text`, or both. */
export interface Hit {
  /** A stored document is compared by its stored sketch and set. */
  id?: GivenId | null;
  /** Compared if there is no id, or no document with this id. */
  text?: string | null;
}

/** A hit of the list: its id in a list of `ids`, its position from 0 in a list of `hits`. */
export type HitName = Id | number;

/** The client's name for a document: 1..=1024 bytes of UTF-8 without control characters. */
export type Id = string;

/** Ids in byte order. */
export interface Ids {
  /** The `after` of the next page; absent on the last. */
  next?: Id;
  /** By `count=true`: how many documents there are that meet the conditions. */
  count?: number;
  ids: Id[];
}

/** Texts whose shingles are in no set: documents are compared by the other shingles. */
export type IgnoredTexts = string[];

export interface Included {
  /** The slots in order, each little-endian, in hexadecimal. */
  sketch?: string;
  /** The hashed shingles, ascending, each in 16 hexadecimal digits. */
  shingles?: string[];
}

/**
 * Documents that were not compared with all their candidates: so some of their pairs may be
 * missing. In a discovery, too many comparisons were in vain; `mode=exact` compares them all,
 * however long it takes. In kept clusters, a limit was reached, the documents are not linked
 * yet, or a removal may have divided their cluster.
 */
export interface Incomplete {
  /** The number of these documents; documents with equal sets are counted once. */
  documents: number;
  /** The ids of these documents: at most [`Incomplete::IDS_MAX`]. */
  ids: Id[];
  /**
   * One of these documents, and a document that it was not compared with. The shingles that
   * these two share are the template of all these documents.
   */
  example?: Id[];
  /** The number of shingles that the two documents of the example share. */
  shared?: number;
}

/** The last line of an answer for which not all candidates were compared. */
export interface IncompleteLine {
  incomplete: Incomplete;
}

/** By the measure `lcs`: the longest common subsequence of the texts. */
export interface LcsMeasure {
  /** characters in common */
  length: number;
  /** characters to insert or delete */
  distance: number;
}

/** The limits of a collection's calls. */
export interface LimitSettings {
  /** Candidates of a lookup; if there are more, the answer says `truncated`. */
  candidates_max?: number;
  /**
   * Candidates that are checked exactly, in the order of the agreement of their sketches; more
   * only while at least half of them match. If further candidates may match, the answer says
   * `truncated`.
   */
  checked_max?: number;
  /**
   * Documents on which a filter is evaluated in a lookup, in the order of the agreement of
   * their sketches; if there are more, the answer says `truncated`.
   */
  filtered_max?: number;
  /** Near-duplicates in the answer to an added document. */
  duplicates_max?: number;
  /** Shingles of a document: its distinct shingles, or all shingles of a multiset. */
  shingles_max?: number;
  /** Bytes of a document's metadata. */
  metadata_bytes_max?: number;
  /** Bytes of a field of a record. */
  field_bytes_max?: number;
  /** Clusters of more documents are counted in metrics and logged as giant. */
  cluster_members_alarm?: number;
  /** Memory of the clusters that a collection keeps; if they need more, they are dropped. */
  clusters_bytes_max?: number;
  /**
   * Shingles that a `POST /collapse` holds in memory: the sets of texts, and of stored
   * documents that may be near-duplicates of each other; equal sets count once.
   */
  collapse_shingles_max?: number;
  /**
   * Texts that a search for passages compares, the likeliest first: distinct texts, and of long
   * texts the blocks that may have a passage. If there are more, the answer says `truncated`.
   */
  passage_texts_max?: number;
  /**
   * Words of all texts that a search for passages compares; if there are more, the answer says
   * `truncated`.
   */
  passage_words_max?: number;
  /** The product of two texts' lengths in characters, for the measures `edit` and `lcs`. */
  edit_product_max?: number;
}

/**
 * How documents are clustered. `single`: clusters are connected by chains of pairs.
 * `representative`: the similarity of each member to the representative of its cluster is at
 * least the threshold.
 */
export type Linkage = "single" | "representative";

/** The options of `list_documents`. */
export interface ListDocumentsQuery {
  /** The last id of the previous page: the `next` of its answer. */
  after?: Id | null;
  /** The most ids of a page. */
  limit?: number | null;
  /** Whether the documents are counted, too, which examines all of them if there are conditions. */
  count?: boolean | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/** The score by which documents match. */
export type LookupMeasure = "resemblance" | "containment";

/**
 * A document to compare: it has exactly one of `id` (of a stored document), `text`, `tokens`,
 * `fields` and `signature`. A document to look up may have an `html` instead, or an `id` and
 * one of the others, which is looked up if the id is not stored.
 */
export interface LookupProbe {
  id?: GivenId | null;
  text?: string | null;
  /** A page, whose text is extracted in place of `text`. */
  html?: string | null;
  /** Beside `html`: which text of the page, by default `text`. */
  extract?: Extract | null;
  tokens?: Token[] | null;
  fields?: Fields | null;
  signature?: number[] | null;
  /** Ignored, so that documents can be sent as they are. */
  metadata?: any;
  /** Ignored. */
  expires_at?: any;
  /**
   * The number of matches: the most similar documents, however unlike they are, instead of the
   * documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
   * given with it, and `mode` must not be `exact`.
   */
  k?: number | null;
  /**
   * The score by which documents match: `resemblance`, or `containment`, the share of the
   * shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
   * and find documents that share a run of so many words with the probe.
   */
  measure?: LookupMeasure | null;
  /** With `measure=containment`: what is contained in the other, the `probe` or the `match`. */
  of?: ContainedOf | null;
  /**
   * The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
   * lowest containment; by default the collection's threshold.
   */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a match; by default the collection's. Other documents have
   * a `threshold` instead.
   */
  points?: number | null;
  /** The most matches that are returned. */
  limit?: number | null;
  /**
   * Matches to leave out before the first that is returned. Pages of one lookup have every
   * match once, unless documents are written between the calls.
   */
  offset?: number | null;
  /**
   * `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
   * `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
   * match is missed. By default `verified`, and `exact` where the kind is `prefix`.
   */
  mode?: Mode | null;
  /**
   * The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
   * `highlights` (the parts of its text that the probe shares), or several with commas between.
   * By default none.
   */
  include?: string[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  stored_after?: Time | Date | null;
  /** Stored earlier than this time. */
  stored_before?: Time | Date | null;
}

/** A near-duplicate of a probe. */
export interface Match {
  text?: string;
  tokens?: Token[];
  fields?: Record<string, string>;
  signature?: number[];
  id: Id;
  /** Keys that the match shares with the probe; elements, if these found it. */
  keys_shared: number;
  /** By `include=metadata`. */
  metadata?: Record<string, any>;
  /**
   * By `include=highlights`: the parts of the match's text that are covered by shingles of the
   * probe, in Unicode code points, each `[from, to)`: the slice `text[from:to]` of Python.
   * Absent if the match has no text, or the call has done as much work before as it may.
   */
  highlights?: number[][];
  /** The Jaccard similarity: the same as `exact`. */
  resemblance: number;
  exact?: number;
  containment?: MatchContainment;
  /** Shingles that both have. */
  shared?: number;
  /** Shingles that either has. */
  union?: number;
  /** The points of all fields. */
  points?: number;
  /** The points of each field that both have. */
  field_points?: Record<string, number>;
  /** The estimate from the sketches. */
  estimated?: number;
  /** The 95 % interval of the estimate. */
  interval?: number[];
}

/** How much of a probe and of a match the other has. */
export interface MatchContainment {
  /** The share of the probe's shingles that the match has. */
  of_probe: number;
  /** The share of the match's shingles that the probe has. */
  of_match: number;
}

/** The requested measures. */
export interface Measures {
  edit?: EditMeasure;
  lcs?: LcsMeasure;
  hamming?: HammingMeasure;
  cosine?: CosineMeasure;
  euclidean?: EuclideanMeasure;
}

/** How candidates are found and scored. */
export type Mode = "verified" | "estimated" | "exact";

/** The normalisation of a text before it is cut into words. */
export type Normalize = "nfkc" | "nfc" | "none";

/** Special treatment of a document that its sender may not expect. */
export type Note = "whole_document";

/**
 * How an export with damaged documents ends. `fail`: the connection is closed without the end
 * of the body. `report`: as any other, so that only the lines with a `problem` say what is
 * missing.
 */
export type OnDamaged = "fail" | "report";

/**
 * What to do with a new document that has a near-duplicate, or that is contained. A document
 * whose id is stored replaces the stored document.
 */
export type OnDuplicate = "keep" | "skip";

/**
 * The order of an export. `stored`: as documents were stored, the fastest. `id`: by the bytes
 * of their ids, so that equal collections are exported alike.
 */
export type Order = "stored" | "id";

/**
 * Two probes to compare. Options may stand in the query instead; an option that stands in both
 * must have the same value.
 */
export interface Pair {
  a: Probe;
  b: Probe;
  /** Add the shared and differing passages, and the bands with keys that both documents have. */
  explain?: boolean | null;
  /** Add further measures: one of the names of `Measures`, or several with commas between. */
  measures?: string[] | null;
}

/** How much of the documents of a pair the other has. */
export interface PairContainment {
  /** The share of a's shingles that b has. */
  a_in_b: number;
  /** The share of b's shingles that a has. */
  b_in_a: number;
}

/** A line of all pairs. The last line may say which pairs may be missing. */
export type PairLine = FoundPair | IncompleteLine;

/** The options of `pairs`. */
export interface PairsQuery {
  /**
   * The lowest Jaccard similarity of a pair; by default the collection's threshold, and for
   * clusters its `clusters.threshold` if it has one.
   */
  threshold?: Threshold | null;
  /**
   * `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
   * `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
   * `verified`, and `exact` where the kind is `prefix`.
   */
  mode?: Mode | null;
}

/**
 * The documents that share passages with a probe: the documents that share the most words
 * first, then by their longest run of equal words, then by their age.
 */
export interface PassageAnswer {
  matches: PassageMatch[];
  probe: PassageProbe;
  guarantee: PassageGuarantee;
  /** The chances to find a passage of `words_min` words that was edited. */
  chances: PassageChance[];
  /** There are more matches than `limit`. */
  more: boolean;
  /**
   * A limit was hit, or a damaged text is not in the index: documents or passages may be
   * missing.
   */
  truncated: boolean;
  took_us: number;
}

/** The chance that a passage of `words_min` words is found. */
export interface PassageChance {
  /** The probability with which each word was kept. */
  kept: number;
  /**
   * The computed probability that the passage is compared. It is returned if `words_min` of its
   * words are equal.
   */
  probability: number;
}

/** Words in runs of equal words of the passages, as shares of all words of a text. */
export interface PassageContainment {
  /** `words_shared`, divided by the probe's words. */
  of_probe: number;
  /** The same of the match: its words in runs, each once, divided by all its words. */
  of_match: number;
}

/** What an answer that is not `truncated` is sure to have. */
export interface PassageGuarantee {
  /** Every document that has a run of so many words of the probe is found, with all these words. */
  words: number;
  /**
   * With a `words_min` below the guarantee: passages from so many words up to the guarantee are
   * found by chance only.
   */
  best_effort_from?: number;
}

/** The size of an index of passages. */
export interface PassageIndex {
  /** Distinct sequences of words: equal texts, and equal blocks of long texts, are indexed once. */
  sequences: number;
  postings: number;
  /** The postings of the key that has most. */
  postings_longest: number;
  /** Its memory, which is a part of `index_bytes`. */
  bytes: number;
}

/** A document that shares passages with the probe. */
export interface PassageMatch {
  id: Id;
  /**
   * Words of the probe in runs of equal words of the passages. Each counts once, in however
   * many runs and passages it is; the words between the runs of a passage do not count.
   */
  words_shared: number;
  /** Words of the longest run of equal words. */
  longest: number;
  containment: PassageContainment;
  /** The passages with the most equal words first. */
  passages: SharedPassage[];
  /** By `include=metadata`. */
  metadata?: Record<string, any>;
}

/**
 * A part of a text as it was sent, in Unicode code points: the slice `text[start:end]` of
 * Python.
 */
export interface PassagePlace {
  start: number;
  end: number;
  /** Its words. */
  words: number;
}

export interface PassageProbe {
  /** Its words. */
  words: number;
}

/**
 * A text, or the `id` of a stored document. Options may stand in the query instead; an option
 * that stands in both must have the same value.
 */
export interface PassageProbeBody {
  id?: GivenId | null;
  text?: string | null;
  /**
   * The fewest equal words of a passage; by default `passages.words` of the collection. Shorter
   * passages are found by chance only, as `chances` says. A text of fewer words is found if it
   * is shared as a whole.
   */
  words_min?: number | null;
  /** The least share of words in passages: of the probe, or of the match (`of`). */
  containment_min?: number | null;
  /** Whose words `containment_min` is a share of; by default the probe's. */
  of?: ContainedOf | null;
  /** The most documents that are returned. */
  limit?: number | null;
  /**
   * Documents to leave out before the first that is returned. Pages of one search have every
   * document once, unless documents are written between the calls.
   */
  offset?: number | null;
  /** `metadata`: the metadata of each document. */
  include?: string[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  stored_after?: Time | Date | null;
  /** Stored earlier than this time. */
  stored_before?: Time | Date | null;
}

/** The index of passages that a collection has. */
export interface PassageSettings {
  /**
   * Every run of so many equal words is found: 13 to 100. With 0, the default, there is no
   * index of passages.
   */
  words?: number;
}

/**
 * Parts of a text in Unicode code points, each `[from, to)`: the slice `text[from:to]` of
 * Python. Differing parts overlap no other part.
 */
export interface Passages {
  shared: number[][];
  differing: number[][];
  /**
   * Ranges of shingles that `shingles.ignore` leaves out of the set. Shingles of words on both
   * sides of an end of such a range count, so up to a shingle less a word may be shared, too.
   */
  ignored?: number[][];
}

/** The options of `passages_of_posted`. */
export interface PassagesOfPostedQuery {
  /**
   * The fewest equal words of a passage; by default `passages.words` of the collection. Shorter
   * passages are found by chance only, as `chances` says. A text of fewer words is found if it
   * is shared as a whole.
   */
  wordsMin?: number | null;
  /** The least share of words in passages: of the probe, or of the match (`of`). */
  containmentMin?: number | null;
  /** Whose words `containment_min` is a share of; by default the probe's. */
  of?: ContainedOf | null;
  /** The most documents that are returned. */
  limit?: number | null;
  /**
   * Documents to leave out before the first that is returned. Pages of one search have every
   * document once, unless documents are written between the calls.
   */
  offset?: number | null;
  /** `metadata`: the metadata of each document. */
  include?: "metadata"[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/** The options of `passages_of_stored`. */
export interface PassagesOfStoredQuery {
  /**
   * The fewest equal words of a passage; by default `passages.words` of the collection. Shorter
   * passages are found by chance only, as `chances` says. A text of fewer words is found if it
   * is shared as a whole.
   */
  wordsMin?: number | null;
  /** The least share of words in passages: of the probe, or of the match (`of`). */
  containmentMin?: number | null;
  /** Whose words `containment_min` is a share of; by default the probe's. */
  of?: ContainedOf | null;
  /** The most documents that are returned. */
  limit?: number | null;
  /**
   * Documents to leave out before the first that is returned. Pages of one search have every
   * document once, unless documents are written between the calls.
   */
  offset?: number | null;
  /** `metadata`: the metadata of each document. */
  include?: "metadata"[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/**
 * A stored version that was replaced, and what the new version changed. If neither content nor
 * metadata changed, the expiry did.
 */
export interface Previous {
  stored_at: Time;
  /** Whether the text, the tokens or the fields changed, were it by a character. */
  content_changed: boolean;
  metadata_changed: boolean;
  /**
   * The Jaccard similarity of the two versions: the same as `exact`. Absent of records and of
   * signatures.
   */
  resemblance?: number;
  exact?: number;
  /** The new version is the probe, the replaced version the match. */
  containment?: MatchContainment;
}

/**
 * A document to compare: it has exactly one of `id` (of a stored document), `text`, `tokens`,
 * `fields` and `signature`. A document to look up may have an `html` instead, or an `id` and
 * one of the others, which is looked up if the id is not stored.
 */
export interface Probe {
  id?: GivenId | null;
  text?: string | null;
  /** A page, whose text is extracted in place of `text`. */
  html?: string | null;
  /** Beside `html`: which text of the page, by default `text`. */
  extract?: Extract | null;
  tokens?: Token[] | null;
  fields?: Fields | null;
  signature?: number[] | null;
  /** Ignored, so that documents can be sent as they are. */
  metadata?: any;
  /** Ignored. */
  expires_at?: any;
}

/**
 * The answer to a probe of several probes: its near-duplicates, or why it could not be looked
 * up.
 */
export type ProbeAnswer = Answer | FailedProbe;

/** A probe, or an array of probes. */
export type Probes = LookupProbe | LookupProbe[];

/** An error, as RFC 9457 has it. */
export interface Problem {
  /** Where the code is documented, as an address on this server. */
  type: string;
  /** The same for every problem of this code. */
  title: string;
  status: number;
  /** The fault of this request. */
  detail: string;
  code: Code;
  /** The `x-request-id` of the response. */
  request_id: string;
  /** Each bad field. */
  errors?: FieldError[];
  /** With `not_ready`, while the server starts. */
  progress?: ProgressReply;
}

/** How much of the index a start has restored. */
export interface ProgressReply {
  /** Documents restored so far. */
  done: number;
  /** Documents to restore; 0 while unknown. */
  total: number;
}

/** The options of `put_document`. */
export interface PutDocumentQuery {
  /**
   * Which text of HTML is taken: by default `text`, the visible text, without navigation; or
   * `main`, the main content, as in a browser's reader view; of a page without an article its
   * text. In JSON it may stand beside `html` instead.
   */
  extract?: Extract | null;
  /** Look for near-duplicates of each document. */
  check?: boolean | null;
  /**
   * `skip`: do not store a new document that has a near-duplicate. A document whose id is
   * stored is replaced. By default `keep`.
   */
  onDuplicate?: OnDuplicate | null;
  /** The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a near-duplicate; by default the collection's. Other
   * documents have a `threshold` instead.
   */
  points?: number | null;
  /**
   * Look for stored documents that share passages with each document, in a collection with
   * `passages.words`.
   */
  passages?: boolean | null;
  /**
   * `skip`: do not store a new document that shares passages as `containment_min` says. By
   * default `keep`.
   */
  onContained?: OnDuplicate | null;
  /**
   * The least share of words in passages: of the document's words, or of the stored document's
   * (`of`).
   */
  containmentMin?: Threshold | null;
  /**
   * Whose words `containment_min` is a share of; by default `probe`, the document that is
   * added.
   */
  of?: ContainedOf | null;
}

/** A ranked list: either `ids` or `hits`. Options may stand in the query instead. */
export interface Ranked {
  /**
   * Stored documents. The first ranks highest. An id that comes again counts at its first
   * place.
   */
  ids?: GivenId[] | null;
  /**
   * Stored documents and texts. The first ranks highest. A hit with an id that comes again is
   * left out.
   */
  hits?: Hit[] | null;
  /** By default the collection's threshold. */
  threshold?: Threshold | null;
  /**
   * The number of hits at the front of the list that earlier pages have kept: they are not
   * compared with each other and are not in `kept`, and the hits after them join their groups.
   * The list of the next page is all hits that were kept so far, then the hits that are neither
   * kept nor in `groups`.
   */
  offset?: number | null;
  /** The most hits in `kept`; by default all. The rest of the list still joins their groups. */
  limit?: number | null;
}

export interface Readiness {
  status: string;
  /** Collections that could not be opened when the server started; absent if all could. */
  unavailable?: number;
}

/** Recall and precision of lookups, measured on a random sample. */
export interface Recall {
  threshold: number;
  /** Documents drawn at random and looked up. */
  sampled: number;
  /**
   * Sampled documents that do not count, since they have over a thousand near-duplicates or
   * their lookup was `truncated`.
   */
  left_out: number;
  /** All documents, with which each sampled document was compared. */
  documents: number;
  /**
   * Pairs of a sampled document and another document with a similarity of at least the
   * threshold.
   */
  pairs: number;
  /** The share of the pairs that was found; absent if there are none. */
  recall?: number;
  /** Pairs of sets that differ. */
  pairs_unequal: number;
  /**
   * The share of these pairs that was found. Equal sets are always found, so `recall` hides
   * missed pairs where most pairs are equal.
   */
  recall_unequal?: number;
  /**
   * The share of the found pairs with a similarity of at least the threshold; absent if none
   * was found.
   */
  precision?: number;
  /**
   * The chance to find a document with a similarity of exactly the threshold. A document with a
   * higher similarity is found more surely.
   */
  expected_recall: number;
  took_us: number;
}

/** The options of `recall`. */
export interface RecallQuery {
  /**
   * How many documents are drawn at random; by default 200, or as many as the cost of a request
   * allows.
   */
  sample?: number | null;
  /** By default the collection's threshold. */
  threshold?: Threshold | null;
}

/** How the index was recovered at the start. */
export interface Recovery {
  source: RecoverySource;
  /** The last operation contained in the snapshot that was loaded. */
  snapshot_sequence?: number;
  /** Number of operations replayed from the log after the snapshot. */
  replayed: number;
  took_ms: number;
}

/**
 * How the index was restored: `empty` (no documents), `snapshot` (a snapshot and the log), or
 * `rebuilt` (from the stored sketches).
 */
export type RecoverySource = "empty" | "snapshot" | "rebuilt";

/** How far a reindex is, or how it ended. */
export interface Reindex {
  /** `running`; `done`: the collection has the new settings; `failed`: it is as it was. */
  state: ReindexState;
  /** Documents that the new collection has so far. */
  documents_done: number;
  /** Documents that the collection had when this began; more may have come since. */
  documents_total: number;
  settings: Settings;
  started_at: Time;
  /** Absent while it is running. */
  ended_at?: Time;
  /** Why it failed. */
  failure?: ReindexFailure;
}

export interface ReindexFailure {
  code: Code;
  detail: string;
}

export type ReindexState = "running" | "done" | "failed";

/** The options of `remove_documents`. */
export interface RemoveDocumentsQuery {
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/** The outcome of a removal by conditions. */
export interface Removed {
  /** Documents that met the conditions. */
  matched: number;
  /**
   * Documents removed: fewer than `matched` if other requests removed or replaced matching
   * documents first.
   */
  removed: number;
  took_us: number;
}

/** The result of one document of a bulk import. */
export type ResultLine = AddedLine | ErrorLine | CountedErrors;

/**
 * The source of keys. `bands`: consecutive slots of the sketch (MinHash LSH). `random_rows`:
 * slots drawn at random. `prefix`: the first elements of the set itself, so that lookups miss
 * nothing. `fields`: the fields of a record.
 */
export type SchemeKind = "bands" | "random_rows" | "prefix" | "fields";

/**
 * How keys are made. `kind`, `threshold_min`, `bands`, `rows`, `fields` and `field_sketches`
 * determine the stored data: fixed for a collection's life.
 */
export interface SchemeSettings {
  kind?: SchemeKind;
  /** The threshold of calls that give none. */
  threshold?: Threshold;
  /** The wanted probability to find a document with a similarity of exactly the threshold. */
  recall?: number;
  /**
   * The lowest threshold of lookups by keys: documents are indexed under the fewest keys that
   * reach `recall` there, or all there are, and lookups below it are refused. By default
   * documents are indexed under all keys, and lookups at any threshold say which recall to
   * expect.
   */
  threshold_min?: Threshold | null;
  /**
   * Keys that a document is indexed under. By default the keys of `threshold_min`; without it
   * as many bands as the sketch has slots for, or 125 keys of random rows.
   */
  bands?: number | null;
  /**
   * Slots of a key. By default the most, up to 4, with which the bands reach `recall` at
   * `threshold_min`, without it at `threshold`, or 3 random rows.
   */
  rows?: number | null;
  /**
   * The lowest threshold for which lookups in mode `exact` have an index; below it they scan
   * every set. By default there is no index for exact lookups; with the kind `prefix` it serves
   * thresholds from `threshold` up.
   */
  exact_from?: Threshold | null;
  /** For the kind `fields`: the names of the fields that records may have. */
  fields?: string[];
  /** For the kind `fields`: find records by fields that are nearly equal, too. */
  field_sketches?: boolean;
  /**
   * For the kind `fields`: the points from which records count as near-duplicates, for calls
   * that give none; at most 100 for each field, by default 80.
   */
  points?: number | null;
  /**
   * For the kind `fields`: the points that an edit costs; d edits cost d² times as much. By
   * default 4.
   */
  penalty?: number | null;
}

/**
 * A collection's settings. `shingles`, `sketch`, `scheme.kind`, `scheme.bands`, `scheme.rows`,
 * `scheme.fields`, `scheme.field_sketches` and `store.text` decide the stored data and are
 * fixed for the life of the collection.
 */
export interface Settings {
  shingles?: ShingleSettings;
  sketch?: SketchSettings;
  scheme?: SchemeSettings;
  store?: StoreSettings;
  clusters?: ClusterSettings;
  passages?: PassageSettings;
  limits?: LimitSettings;
}

/** A part of the probe, and the part of the match that equals it, or nearly. */
export interface SharedPassage {
  probe: PassagePlace;
  match: PassagePlace;
  /**
   * Pairs of equal words, in order: a word of either part is in one pair at most. So where one
   * of the texts repeats words that the other has once, `words_shared` can be more.
   */
  words_equal: number;
}

/** How texts are cut into shingles. Determines the stored data: fixed for a collection's life. */
export interface ShingleSettings {
  unit?: ShingleUnit;
  /** How many units make a shingle. */
  size?: number;
  /** Ignore the difference between upper and lower case. */
  lowercase?: boolean;
  /**
   * Unicode normalisation of texts and fields before they are cut. Ready-made tokens are never
   * normalised.
   */
  normalize?: Normalize;
  /** Differences of spelling that do not count. Ready-made tokens are never changed. */
  fold?: Fold[];
  /**
   * Count repetitions: each occurrence of a shingle is an element of its own, so the Jaccard
   * similarity is that of bags, Σmin / Σmax of the counts.
   */
  multiset?: boolean;
  /** For the unit `stopword`: the words that shingles begin with. */
  stopwords?: StopWords;
  /** Texts whose shingles do not count, such as menus and notices. */
  ignore?: IgnoredTexts;
  /** For the unit `field`: groups of words and whole values that mean the same. */
  equivalents?: Equivalents;
}

/** The units of which shingles are made. */
export type ShingleUnit = "word" | "character" | "stopword" | "token" | "field";

/** The options of `similar_to_posted`. */
export interface SimilarToPostedQuery {
  /**
   * Which text of HTML is taken: by default `text`, the visible text, without navigation; or
   * `main`, the main content, as in a browser's reader view; of a page without an article its
   * text. In JSON it may stand beside `html` instead.
   */
  extract?: Extract | null;
  /**
   * The number of matches: the most similar documents, however unlike they are, instead of the
   * documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
   * given with it, and `mode` must not be `exact`.
   */
  k?: number | null;
  /**
   * The score by which documents match: `resemblance`, or `containment`, the share of the
   * shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
   * and find documents that share a run of so many words with the probe.
   */
  measure?: LookupMeasure | null;
  /** With `measure=containment`: what is contained in the other, the `probe` or the `match`. */
  of?: ContainedOf | null;
  /**
   * The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
   * lowest containment; by default the collection's threshold.
   */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a match; by default the collection's. Other documents have
   * a `threshold` instead.
   */
  points?: number | null;
  /** The most matches that are returned. */
  limit?: number | null;
  /**
   * Matches to leave out before the first that is returned. Pages of one lookup have every
   * match once, unless documents are written between the calls.
   */
  offset?: number | null;
  /**
   * `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
   * `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
   * match is missed. By default `verified`, and `exact` where the kind is `prefix`.
   */
  mode?: Mode | null;
  /**
   * The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
   * `highlights` (the parts of its text that the probe shares), or several with commas between.
   * By default none.
   */
  include?: ("text" | "metadata" | "highlights")[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/** The options of `similar_to_stored`. */
export interface SimilarToStoredQuery {
  /**
   * The number of matches: the most similar documents, however unlike they are, instead of the
   * documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
   * given with it, and `mode` must not be `exact`.
   */
  k?: number | null;
  /**
   * The score by which documents match: `resemblance`, or `containment`, the share of the
   * shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
   * and find documents that share a run of so many words with the probe.
   */
  measure?: LookupMeasure | null;
  /** With `measure=containment`: what is contained in the other, the `probe` or the `match`. */
  of?: ContainedOf | null;
  /**
   * The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
   * lowest containment; by default the collection's threshold.
   */
  threshold?: Threshold | null;
  /**
   * Of records, the fewest points of a match; by default the collection's. Other documents have
   * a `threshold` instead.
   */
  points?: number | null;
  /** The most matches that are returned. */
  limit?: number | null;
  /**
   * Matches to leave out before the first that is returned. Pages of one lookup have every
   * match once, unless documents are written between the calls.
   */
  offset?: number | null;
  /**
   * `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
   * `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
   * match is missed. By default `verified`, and `exact` where the kind is `prefix`.
   */
  mode?: Mode | null;
  /**
   * The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
   * `highlights` (the parts of its text that the probe shares), or several with commas between.
   * By default none.
   */
  include?: ("text" | "metadata" | "highlights")[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  storedAfter?: Time | Date | null;
  /** Stored earlier than this time. */
  storedBefore?: Time | Date | null;
}

/**
 * `fast32`: one-permutation MinHash whose empty slots are filled by 32-bit hashes.
 * `permutations`: textbook MinHash, one hash per shingle and slot, much slower. `foreign`:
 * documents are signatures that clients compute.
 */
export type SketchMethod = "fast32" | "permutations" | "foreign";

/**
 * How the MinHash sketch of a set is computed. Decides the stored data: fixed for the life of a
 * collection.
 */
export interface SketchSettings {
  /** Number of MinHash slots of a sketch; more slots estimate better. */
  slots?: number;
  /** Bits kept of each slot: 8, 16 or 32. */
  bits?: number;
  /**
   * Seed of all hash functions. A collection without a given seed gets a random seed, which is
   * kept secret: anyone with the seed can make unlike documents look alike.
   */
  seed?: number | null;
  method?: SketchMethod;
}

/** A complete snapshot. */
export interface Snapshot {
  /** The last operation in it. */
  sequence: number;
  created_at: Time;
  bytes: number;
  documents: number;
}

export interface Snapshots {
  snapshots: Snapshot[];
}

/**
 * The stage of a join; each stage counts its own steps. `reading`: documents; `counting`:
 * occurrences of elements; `filing`: sets by keys; `joining`: sets that share keys; `giving`:
 * results.
 */
export type Stage = "reading" | "counting" | "filing" | "joining" | "giving";

/**
 * Statistics of the collection and the process. A number that the backend does not know is
 * absent.
 */
export interface Stats {
  documents: number;
  /** Distinct sets; equal sets are indexed once. */
  distinct_sets?: number;
  keys?: number;
  /** Entries of all keys. */
  postings?: number;
  /** The entries of the key that has most. */
  postings_longest?: number;
  /** Memory of the index and of the ids. */
  index_bytes?: number;
  /** On disk, without snapshots and the write-ahead log. */
  database_bytes?: number;
  /** The part of `index_bytes` that is for ids. */
  ids_bytes?: number;
  /** The index of passages, in a collection that has one. */
  passages?: PassageIndex;
  wal_bytes?: number;
  /** Operations since the newest snapshot, which a start would replay. */
  log_rows?: number;
  /** The last operation applied. */
  sequence?: number;
  recovery?: Recovery;
  last_snapshot?: Snapshot;
  /** `index_bytes` divided by `documents`; absent while there are none. */
  bytes_per_document?: number;
  /** The kept clusters, in a collection that keeps clusters. */
  clusters?: ClusterCounts;
  /** Running discoveries, the oldest first. */
  discoveries: Discovery[];
  uptime_s: number;
  version: string;
  started_at: Time;
  settings: Settings;
}

export interface Status {
  status: string;
}

/**
 * The stop words of a language, by its ISO 639-1 code, or the words of a list.
 *
 * Most languages have the lists of the Snowball stemmers as NLTK keeps them; the remaining
 * languages have the lists of stopwords-iso.
 */
export type StopWords = string | string[];

/** Stored parts of a document, and its time to live. */
export interface StoreSettings {
  /** Keep the text (or tokens) itself, to give it back and to explain matches. */
  text?: boolean;
  /** Seconds until a document without `expires_at` expires. By default it never does. */
  ttl_s?: number | null;
}

/** A document as stored. */
export interface StoredDocument extends ExportedDocument {
  stored_at: Time;
  /** Its distinct shingles, or the values of its signature. */
  shingles: number;
  /** A hash of all its shingles, in 16 hexadecimal digits: equal sets have equal fingerprints. */
  fingerprint: string;
  notes: Note[];
  /**
   * The name of its cluster, in a collection that keeps them; absent while they are being
   * built.
   */
  cluster?: string;
  /** On request, by `include`. */
  included?: Included;
}

/**
 * A Jaccard similarity (resemblance) from which documents count as near-duplicates: above 0, at
 * most 1.
 */
export type Threshold = number;

/** A time as RFC 3339 has it, to the millisecond. Finer parts of a client's time are cut off. */
export type Time = string;

/** An element of a ready-made set, or one with how often it occurs. */
export type Token = string | [string | number, string | number];

/**
 * The documents to remove: the documents with these ids, or the documents that meet all
 * conditions.
 */
export interface Unwanted {
  ids?: GivenId[] | null;
  /**
   * A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
   * which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
   * strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
   * tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
   * `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
   * selectors, or filters within filters. A value that is absent equals nothing, and is not
   * less or greater than anything; a document without metadata counts as a document with `{}`.
   */
  filter?: string | null;
  /** Stored later than this time. */
  stored_after?: Time | Date | null;
  /** Stored earlier than this time. */
  stored_before?: Time | Date | null;
}

/** Which documents are wanted. `include` may stand in the query instead. */
export interface Wanted {
  /** An id that comes again counts once. */
  ids: GivenId[];
  /** `sketch` (needs the action `admin`), `shingles`, or both with a comma between. */
  include?: string[] | null;
}
