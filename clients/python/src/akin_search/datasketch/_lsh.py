"""`MinHashLSH` over a collection of akin."""

from __future__ import annotations

import uuid
import warnings
import weakref
from collections import Counter
from itertools import islice
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Tuple,
    cast,
)

from typing_extensions import Self

from .. import types
from ..client import Client
from ..errors import AkinError, ProblemError
from ._keys import id_of, key_of
from ._minhash import Sketchable, content
from ._sessions import DeletionSession, InsertionSession, Key, Keys, check

LIMIT_MAX = 10_000
PROBES_MAX = 100
SLOTS_MAX = 1024
ROWS_MAX = 32
FETCHED_MAX = 200
# datasketch has no limits: those of the collection are as high as servers allow by default.
LIMITS: types.LimitSettings = {"candidates_max": 1_000_000, "checked_max": LIMIT_MAX}


class MinHashLSH(Generic[Key]):
    """datasketch's `MinHashLSH`, over a collection of akin.

    `threshold` and `num_perm` are as there; `weights`, `prepickle` and `hashfunc` are accepted and
    have no effect, as akin chooses for the wanted recall at the threshold (`recall`). `params`
    fixes bands and rows; `b` and `r` are those of the collection.

    Without `collection` the index has a collection of its own, which is removed when the index is
    closed, or at the end of the program. With one it is kept, and whoever names it shares it, as
    with the storage `redis` there; `storage_config["basename"]` names one, too.

    Ids in akin are strings: the key `"a"` has the id `a`, and the key `17` the id `py:17`. With
    `key_type`, which makes a key of its own `str()`, as in `MinHashLSH(key_type=int)`, it is `17`.

    What is pickled is the URL and the collection's name, not the documents nor the key of the API:
    who unpickles it takes that from the environment. An index that was pickled is kept until
    `close()`.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: Tuple[float, float] = (0.5, 0.5),
        params: Optional[Tuple[int, int]] = None,
        storage_config: Optional[Mapping[str, Any]] = None,
        prepickle: Optional[bool] = None,
        hashfunc: Optional[Callable[[bytes], bytes]] = None,
        *,
        client: Optional[Client] = None,
        collection: Optional[str] = None,
        key_type: Optional[Callable[[str], Key]] = None,
        recall: float = 0.99,
    ) -> None:
        del prepickle, hashfunc
        _check_options(threshold, num_perm, weights, params)
        basename = (storage_config or {}).get("basename")
        name = collection or (basename.decode() if isinstance(basename, bytes) else basename)
        self.h = num_perm
        self.threshold = threshold
        self.keys = Keys(self)
        self._key_type = key_type
        self._params = params
        self._recall = recall
        self._signatures: Optional[bool] = None
        self._queries: List[Dict[str, Any]] = []
        self._root = client or Client()
        self._client = self._root.collection(name or f"lsh-{uuid.uuid4().hex}")
        self._shared = name is not None
        self._removal = None if name else weakref.finalize(self, _remove, self._client)

    @property
    def b(self) -> int:
        """The bands that documents are filed under. A lookup goes by as many as `recall` needs."""
        return self._bands()[0]

    @property
    def r(self) -> int:
        """The rows of a band."""
        return self._bands()[1]

    def insert(self, key: Key, minhash: Sketchable, check_duplication: bool = True) -> None:
        """Adds a set; `ValueError` if there is the key. Returns when it is on disk.

        Another program may insert the key between the check and the insert: then the later one
        replaces the earlier. `check_duplication=False` saves a request.
        """
        if check_duplication and key in self:
            raise ValueError("The given key already exists")
        document = self._document(key, minhash)
        self._client.insert(check=False, **document)

    def query(self, minhash: Sketchable) -> List[Key]:
        """The keys of the sets with at least the threshold's Jaccard similarity, the most first."""
        return self._query_all([minhash])[0]

    def remove(self, key: Key) -> None:
        """Removes a set; `ValueError` if there is none of this key."""
        try:
            self._client.remove(self._id(key))
        except ProblemError as problem:
            if problem.code in ("document_not_found", "collection_not_found"):
                raise ValueError("The given key does not exist") from problem
            raise

    def __contains__(self, key: Key) -> bool:
        try:
            self._client.get(self._id(key))
        except ProblemError as problem:
            if problem.code in ("document_not_found", "collection_not_found"):
                return False
            raise
        return True

    def is_empty(self) -> bool:
        return len(self.keys) == 0

    def insertion_session(self, buffer_size: int = 50_000) -> InsertionSession[Key]:
        """Inserts many in few requests; all are on disk when the `with` block ends."""
        return InsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50_000) -> DeletionSession[Key]:
        """As there. Each removal is a request of its own, made at once."""
        del buffer_size
        return DeletionSession(self)

    def merge(self, other: MinHashLSH[Key], check_overlap: bool = False) -> None:
        """Inserts all sets, or all signatures, of another index of such."""
        if not other._is_created():
            return
        if check_overlap and any(key in self for key in other.keys):
            raise ValueError("The keys are overlapping, duplicate key exists.")
        self._create(bool(other._signatures))
        check(self._client.bulk(other._client.export(), check=False))

    def add_to_query_buffer(self, minhash: Sketchable) -> None:
        self._queries.append(content(minhash, self.h))

    def collect_query_buffer(self) -> List[Key]:
        """The keys that all buffered queries return."""
        queries, self._queries = self._queries, []
        results = self._look_up(queries)
        if not results:
            return []
        first, *others = results
        return [key for key in first if all(key in keys for keys in others)]

    def get_counts(self) -> List[Dict[str, int]]:
        """For each band, how many sets have the same values there. Reads the sketches of all."""
        return self._counts(self._client.ids())

    def get_subset_counts(self, *keys: Key) -> List[Dict[str, int]]:
        """As `get_counts`, of these keys only."""
        return self._counts(dict.fromkeys(map(self._id, keys)))

    def close(self) -> None:
        """Removes the index's own collection; one that was named is kept."""
        if self._removal is not None:
            self._removal.detach()
            _remove(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        if self._removal is not None:
            self._removal.detach()
        self._shared = True
        connected = ("keys", "_root", "_client", "_removal")
        state = {name: value for name, value in vars(self).items() if name not in connected}
        where = {"url": self._root.url, "collection": self._client.name}
        return {**state, **where, "is_own": self._removal is not None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        url, collection, is_own = (state.pop(name) for name in ("url", "collection", "is_own"))
        self.__dict__.update(state)
        self.keys = Keys(self)
        self._root = Client(url)
        self._client = self._root.collection(collection)
        self._removal = weakref.finalize(self, _remove, self._client) if is_own else None
        if self._removal is not None:
            self._removal.detach()

    def _query_all(self, minhashes: List[Sketchable]) -> List[List[Key]]:
        return self._look_up([content(minhash, self.h) for minhash in minhashes])

    def _look_up(self, contents: List[Dict[str, Any]]) -> List[List[Key]]:
        if not self._is_created():
            return [[] for _ in contents]
        for item in contents:
            self._expect("signature" in item)
        results: List[List[Key]] = []
        for start in range(0, len(contents), PROBES_MAX):
            probes = cast(List[types.LookupProbe], contents[start : start + PROBES_MAX])
            answers = self._client.query_many(
                probes,
                threshold=self.threshold,
                limit=LIMIT_MAX,
                mode="estimated" if self._signatures else None,
            )
            results.extend(map(self._keys_of, answers))
        return results

    def _keys_of(self, answer: types.ProbeAnswer) -> List[Key]:
        if "error" in answer:
            raise ProblemError(dict(cast(types.FailedProbe, answer)["error"]))
        if answer["more"] or answer["truncated"]:
            warnings.warn("a limit was hit: not all keys are returned", stacklevel=4)
        return [self._key(match["id"]) for match in answer["matches"]]

    def _id(self, key: Key) -> str:
        return id_of(key, self._key_type)

    def _key(self, id: str) -> Key:
        return cast(Key, key_of(id, self._key_type))

    def _document(self, key: Key, minhash: Sketchable) -> Dict[str, Any]:
        given = content(minhash, self.h)
        self._create("signature" in given)
        return {"id": self._id(key), **given}

    def _expect(self, signatures: bool) -> None:
        if self._signatures not in (None, signatures):
            kinds = "signatures, not sets" if self._signatures else "sets, not signatures"
            raise TypeError(f"this index is one of {kinds}")

    def _create(self, signatures: bool) -> None:
        if not self._is_created():
            self._root.create_collection(self._client.name, self._settings(signatures))
            self._signatures = signatures
        self._expect(signatures)

    def _settings(self, signatures: bool) -> types.Settings:
        scheme: types.SchemeSettings = {"threshold": self.threshold, "recall": self._recall}
        if self._params is not None:
            scheme["bands"], scheme["rows"] = self._params
        sketch: types.SketchSettings = {"slots": self._slots(signatures)}
        if signatures:
            sketch = {**sketch, "method": "foreign", "bits": 32}
        return {"sketch": sketch, "scheme": scheme, "limits": LIMITS}

    def _slots(self, signatures: bool) -> int:
        """Sketches of akin's own have a multiple of 4 slots."""
        return self.h if signatures else max(16, -(-self.h // 4) * 4)

    def _bands(self) -> Tuple[int, int]:
        if self._is_created():
            return _bands_of(self._client)
        if self._params is not None:
            return self._params
        # What the first insert will make, unless it is of a signature.
        trial = self._root.collection(f"lsh-{uuid.uuid4().hex}")
        self._root.create_collection(trial.name, self._settings(False))
        try:
            return _bands_of(trial)
        finally:
            _remove(trial)

    def _counts(self, ids: Iterable[str]) -> List[Dict[str, int]]:
        bands, rows = self._bands()
        counts: List[Dict[str, int]] = [Counter() for _ in range(bands)]
        if not self._is_created():
            return counts
        found = self._root.describe_collection(self._client.name)
        digits = found["settings"]["sketch"]["bits"] // 4 * rows
        rest = iter(ids)
        while batch := list(islice(rest, FETCHED_MAX)):
            for document in self._client.get_many(batch, include=["sketch"])["documents"]:
                sketch = document["included"]["sketch"]
                for band, count in enumerate(counts):
                    count[sketch[band * digits : (band + 1) * digits]] += 1
        return counts

    def _is_created(self) -> bool:
        """Learns what the collection is made of, which may be another program's."""
        if self._signatures is not None or not self._shared:
            return self._signatures is not None
        try:
            found = self._root.describe_collection(self._client.name)
        except ProblemError as problem:
            if problem.code != "collection_not_found":
                raise
            return False
        self._signatures = found["settings"]["sketch"].get("method") == "foreign"
        return True


def _remove(client: Client) -> None:
    """Runs at the end of the program, too, when the server may be gone."""
    client.patience_s = 0
    try:
        client.remove_collection(client.name)
    except AkinError:
        pass


def _bands_of(client: Client) -> Tuple[int, int]:
    curve = client.curve()
    if curve["kind"] != "bands":
        raise TypeError(f"a collection of the kind {curve['kind']!r} has no bands")
    return curve["bands"], curve["rows"]


def _check_options(
    threshold: float,
    num_perm: int,
    weights: Tuple[float, float],
    params: Optional[Tuple[int, int]],
) -> None:
    if not 0.0 < threshold <= 1.0:
        raise ValueError("threshold must be above 0.0, and at most 1.0")
    if not 2 <= num_perm <= SLOTS_MAX:
        raise ValueError(f"num_perm must be 2 to {SLOTS_MAX}, not {num_perm}")
    if any(not 0.0 <= weight <= 1.0 for weight in weights):
        raise ValueError("Weight must be in [0.0, 1.0]")
    if sum(weights) != 1.0:
        raise ValueError("Weights must sum to 1.0")
    if params is None:
        return
    b, r = params
    if b < 2 or not 1 <= r <= ROWS_MAX:
        raise ValueError(f"params must be 2 bands or more of 1 to {ROWS_MAX} rows, not {b} of {r}")
    if b * r > num_perm:
        raise ValueError(
            f"The product of b and r in params is {b} * {r} = {b * r} -- it must be at most "
            f"num_perm {num_perm}. Did you forget to specify num_perm?"
        )
