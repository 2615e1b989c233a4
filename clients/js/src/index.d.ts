/** How candidates are found and scored. */
export type Mode = "verified" | "estimated" | "exact";
/** An element of a ready-made set, or one with how often it occurs. */
export type Token = string | [string, number];
export type Metadata = Record<string, unknown>;

export interface Content {
  text?: string;
  tokens?: Token[];
  /** Of a record. */
  fields?: Record<string, string>;
  /** MinHash values. Beyond 2^53 they lose digits. */
  signature?: number[];
}

/** Has exactly one of `text`, `tokens`, `fields` and `signature`. */
export interface Document extends Content {
  /** By default a random one. */
  id?: string;
  metadata?: Metadata;
  expires_at?: string;
}

/** What a lookup searches for: exactly one of `id` (of a stored document), `text`, … */
export interface Probe extends Content {
  id?: string;
}

export interface Match {
  id: string;
  resemblance: number;
  keys_shared: number;
  estimated?: number;
  interval?: [number, number];
  exact?: number;
  containment?: { of_probe: number; of_match: number };
  shared?: number;
  union?: number;
  metadata?: Metadata;
  text?: string;
  points?: number;
  field_points?: Record<string, number>;
}

export interface Added {
  id: string;
  status: "created" | "replaced" | "unchanged" | "skipped";
  /** The near-duplicates that were stored before it. */
  duplicates: Match[];
  shingles: number;
  notes: string[];
  more?: boolean;
  truncated?: boolean;
  /** By `passages` or `onContained`: the documents that share passages with it. */
  passages?: Pick<PassageAnswer, "matches" | "guarantee" | "more" | "truncated">;
}

/** An error, as RFC 9457 has it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stays the same between versions. */
  code: string;
  request_id: string;
  errors?: { pointer: string; detail: string }[];
}

/** The result of one document of many; `line` is its place in the input, from 1. */
export type BulkResult =
  | (Added & { line: number })
  | { line: number; id: string; status: "error"; problem: Problem };

export interface Progress {
  documents: number;
  created: number;
  replaced: number;
  unchanged: number;
  skipped: number;
  failed: number;
  retries: number;
}

export interface Answer {
  matches: Match[];
  candidates: number;
  more: boolean;
  truncated: boolean;
  /** Absent with `measure: "containment"`. */
  expected_recall?: number;
  /** By containment: documents with a run of so many words of the probe are sure to be found. */
  guarantee?: { words: number };
  /** By containment: the chances to find a document that has the whole probe, edited. */
  chances?: { kept: number; probability: number }[];
  /** Absent with `k`. */
  threshold?: number;
  /** With `k`: the similarity from which `expected_recall` holds. */
  floor?: number;
  mode: Mode;
  found_by: string;
  took_us: number;
}

/** A part of a text in code points: `[...text].slice(start, end).join("")`. */
export interface PassagePlace {
  start: number;
  end: number;
  words: number;
}

export interface PassageMatch {
  id: string;
  words_shared: number;
  longest: number;
  containment: { of_probe: number; of_match: number };
  passages: { probe: PassagePlace; match: PassagePlace; words_equal: number }[];
  metadata?: Metadata;
}

export interface PassageAnswer {
  matches: PassageMatch[];
  probe: { words: number };
  guarantee: { words: number; best_effort_from?: number };
  chances: { kept: number; probability: number }[];
  more: boolean;
  truncated: boolean;
  took_us: number;
}

export interface StoredDocument extends Content {
  id: string;
  metadata?: Metadata;
  expires_at?: string;
  stored_at: string;
  shingles: number;
  fingerprint: string;
  notes: string[];
  included?: { sketch?: string; shingles?: string[] };
}

export interface Comparison {
  estimated?: { value: number; standard_error: number; interval: [number, number] };
  exact?: { value: number; intersection: number; union: number };
  containment?: { a_in_b: number; b_in_a: number };
  probability_reported: number;
  measures?: Record<string, Record<string, number>>;
  explanation?: { a: Passages; b: Passages; bands_shared: number[] };
  took_us: number;
}

/** Byte ranges of the text in UTF-8. */
export interface Passages {
  shared: [number, number][];
  differing: [number, number][];
  /** Only where `shingles.ignore` leaves shingles out. */
  ignored?: [number, number][];
}

export interface Collapsed {
  kept: string[];
  groups: { representative: string; members: { id: string; resemblance: number }[] }[];
  unknown: string[];
  threshold: number;
  took_us: number;
}

export interface Pair {
  a: string;
  b: string;
  resemblance: number;
  estimated?: number;
  exact?: number;
  containment?: { a_in_b: number; b_in_a: number };
}

export interface Cluster {
  cluster: string;
  representative: string;
  size: number;
  members: { id: string; resemblance: number }[];
}

export interface Collection {
  name: string;
  settings: Record<string, any>;
  documents: number;
  index_bytes: number;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface DiscoveryOptions extends CallOptions {
  /**
   * Called if some documents were not compared with all candidates, so that pairs or clusters may
   * be missing; by default a warning on the console.
   */
  onIncomplete?: (incomplete: { documents: number; ids: string[] }) => void;
}

/** Conditions on documents. */
export interface Conditions {
  /** On metadata, such as `@.lang == "en" && @.year >= 2020`. */
  filter?: string;
  storedAfter?: Date | string;
  storedBefore?: Date | string;
}

export interface CheckOptions {
  check?: boolean;
  /** `skip`: a new document that has a near-duplicate is not stored; a stored id is replaced. */
  onDuplicate?: "keep" | "skip";
  threshold?: number;
  points?: number;
  /** Tell which documents share passages with it, in a collection with `passages.words`. */
  passages?: boolean;
  /** `skip`: a new document of which `containmentMin` is in passages is not stored. */
  onContained?: "keep" | "skip";
  containmentMin?: number;
  of?: "probe" | "match";
}

export interface LookupOptions extends Conditions {
  /** The k most similar documents, without `threshold`, `points`, `limit` and `offset`. */
  k?: number;
  /** By default `resemblance`; `containment` needs the setting `passages.words`. */
  measure?: "resemblance" | "containment";
  /** With `measure: "containment"`, what is contained in the other: by default the `probe`. */
  of?: "probe" | "match";
  threshold?: number;
  points?: number;
  limit?: number;
  /** Matches to leave out before the first. */
  offset?: number;
  mode?: Mode;
  /** What matches have besides their scores; by default nothing. */
  include?: ("text" | "metadata")[];
}

/** Which passages and documents are found. */
export interface PassageSearch extends Conditions {
  wordsMin?: number;
  /** The least share of the probe's words in passages, or with `of: "match"` of the match's. */
  containmentMin?: number;
  of?: "probe" | "match";
  include?: "metadata"[];
}

export interface PassageOptions extends PassageSearch {
  limit?: number;
  /** Matches to leave out before the first. */
  offset?: number;
}

export interface BulkOptions extends CheckOptions {
  /** Called after each request. */
  progress?: (progress: Progress) => void;
  /** How long to wait, in sum and without progress, before further tries: 60,000. */
  patienceMs?: number;
}

export interface ClientOptions {
  /** By default that in AKIN_URL, else http://127.0.0.1:2546. */
  url?: string;
  /** By default that in AKIN_API_KEY. */
  key?: string;
  collection?: string;
  /**
   * How long a call waits, in sum, for a server that refuses it for the time being (429, 503) or is
   * not there: 10,000.
   */
  patienceMs?: number;
  /** Instead of the platform's. */
  fetch?: typeof globalThis.fetch;
}

/** A client of akin. Every call may be aborted by a `signal`. */
export class Client {
  constructor(options?: ClientOptions);
  readonly url: string;
  /** The collection that calls act on. */
  readonly name: string;

  /** A client of this collection. */
  collection(name: string): Client;

  /** Adds a document, or replaces the one with its id. It is on disk when this resolves. */
  insert(document: Document, options?: CheckOptions & CallOptions): Promise<Added>;

  /** Finds the near-duplicates of a text, or of what the probe names. */
  query(probe: string | Probe, options?: LookupOptions & CallOptions): Promise<Answer>;

  /** Looks up several probes in one request: an answer for each, in their order. */
  queryMany(
    probes: Probe[],
    options?: LookupOptions & CallOptions,
  ): Promise<(Answer | { error: Problem })[]>;

  /**
   * Finds the stored documents that share passages with a text, or with the stored document `id`,
   * in a collection with `passages.words`.
   */
  passages(
    probe: string | { id: string } | { text: string },
    options?: PassageOptions & CallOptions,
  ): Promise<PassageAnswer>;

  /** All matches of `passages`, `page` of them a request. */
  passageMatches(
    probe: string | { id: string } | { text: string },
    options?: PassageSearch & {
      page?: number;
      /** Called if a limit ended the search early; by default a warning on the console. */
      onIncomplete?: (incomplete: { truncated: true }) => void;
    } & CallOptions,
  ): AsyncGenerator<PassageMatch, void, undefined>;

  get(id: string, options?: { include?: string[] } & CallOptions): Promise<StoredDocument>;

  /** The stored documents among these ids, in their order, and the ids that are not stored. */
  getMany(
    ids: Iterable<string>,
    options?: CallOptions,
  ): Promise<{ documents: StoredDocument[]; unknown: string[] }>;

  /** Changes metadata or expiry by a merge patch and leaves the content as it is. */
  change(
    id: string,
    changes: { metadata?: Metadata | null; expires_at?: string | null },
    options?: CallOptions,
  ): Promise<Added>;

  /** The cluster of a stored document: it alone if it has no near-duplicates. */
  clusterOf(
    id: string,
    options?: {
      threshold?: number;
      mode?: Mode;
      linkage?: "single" | "representative";
    } & CallOptions,
  ): Promise<Cluster>;

  /** Removes a document; rejects with `document_not_found` if there is none. */
  remove(id: string, options?: CallOptions): Promise<void>;

  /** Removes every document that meets the conditions, of which at least one is needed. */
  removeWhere(
    conditions: Conditions & CallOptions,
  ): Promise<{ matched: number; removed: number; took_us: number }>;

  /** Compares two documents, each the id of a stored one or a probe. */
  compare(
    a: string | Probe,
    b: string | Probe,
    options?: { explain?: boolean; measures?: string[] } & CallOptions,
  ): Promise<Comparison>;

  /** Keeps the highest-ranked of each group of near-duplicates in a ranked list of ids. */
  collapse(
    ids: Iterable<string>,
    options?: { threshold?: number } & CallOptions,
  ): Promise<Collapsed>;

  /** Every pair of near-duplicates, while the server finds them. */
  pairs(
    options?: { threshold?: number; mode?: Mode } & DiscoveryOptions,
  ): AsyncGenerator<Pair, void, undefined>;

  /** All clusters of near-duplicates. */
  clusters(
    options?: {
      threshold?: number;
      mode?: Mode;
      linkage?: "single" | "representative";
      minSize?: number;
    } & DiscoveryOptions,
  ): AsyncGenerator<Cluster, void, undefined>;

  /** Every document, from one consistent view. */
  export(
    options?: { order?: "stored" | "id" } & CallOptions,
  ): AsyncGenerator<Document & { id: string; problem?: Problem }, void, undefined>;

  /** All ids in byte order, `page` of them a request. */
  ids(
    options?: { after?: string; page?: number } & CallOptions,
  ): AsyncGenerator<string, void, undefined>;

  /**
   * Inserts any number of documents, in requests of at most 512 documents or 1 MiB, and yields a
   * result for each; a refused one has the status `error`. Nothing is sent before the first result
   * is taken. What was refused for the time being, or lost with a connection, is sent again.
   */
  bulk(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: BulkOptions & CallOptions,
  ): AsyncGenerator<BulkResult, void, undefined>;

  stats(options?: CallOptions): Promise<Record<string, any>>;

  /** The names of all collections that the key covers. */
  collections(options?: CallOptions): Promise<string[]>;

  /** Creates a collection, or finds it with these settings; else `collection_exists`. */
  createCollection(
    name: string,
    settings?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<Collection>;
  describeCollection(name: string, options?: CallOptions): Promise<Collection>;
  removeCollection(name: string, options?: CallOptions): Promise<void>;

  /** Any other call that is answered by JSON, such as `POST /snapshots`. */
  request(
    method: string,
    path: string,
    options?: { query?: Record<string, unknown>; body?: unknown } & CallOptions,
  ): Promise<any>;
}

/** The base of all errors of this package. */
export class AkinError extends Error {}

/** The server was not reached, or the connection ended before the answer did. */
export class ConnectionFailed extends AkinError {}

/** The server refused a request. */
export class ProblemError extends AkinError {
  constructor(problem: Problem, retryAfterS?: number);
  readonly problem: Problem;
  /** Stays the same between versions. */
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly requestId?: string;
  readonly retryAfterS?: number;
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;
}
