import gc
import pickle
import subprocess
import sys
from typing import Any, Callable, Iterator, List

import datasketch
import numpy
import pytest
from server import Reply, Script, Server, problem

import akin_search
from akin_search.datasketch import MinHash, MinHashLSH, signature

A = "the night bus will stop at the old fish market".split()
B = [*A[:-1], "pier"]


def sketch(words: List[str], kind: Callable[..., Any] = MinHash, **options: Any) -> Any:
    made = kind(num_perm=128, **options)
    for word in words:
        made.update(word.encode())
    return made


@pytest.fixture
def client(server: Server) -> Iterator[akin_search.Client]:
    with akin_search.Client(server.url) as client:
        yield client


@pytest.mark.parametrize("of", [datasketch, akin_search.datasketch], ids=["datasketch", "akin"])
def test_both_answer_alike(of: Any, client: akin_search.Client) -> None:
    """The same program with either package; what differs is in docs/from-datasketch.md."""
    options = {"client": client} if of is akin_search.datasketch else {}
    lsh = of.MinHashLSH(threshold=0.5, num_perm=128, **options)
    assert lsh.is_empty() and lsh.query(sketch(A, of.MinHash)) == [] and "a" not in lsh
    with pytest.raises(ValueError, match="does not exist"):
        lsh.remove("a")
    lsh.insert("a", sketch(A, of.MinHash))
    lsh.insert("b", sketch(B, of.MinHash))
    with pytest.raises(ValueError, match="already exists"):
        lsh.insert("a", sketch(B, of.MinHash))
    with pytest.raises(ValueError, match="length 128"):
        lsh.insert("c", of.MinHash(num_perm=64))
    assert sorted(lsh.query(sketch(A, of.MinHash))) == ["a", "b"]
    assert "a" in lsh and "z" not in lsh and not lsh.is_empty()
    assert sorted(lsh.keys) == sorted(lsh.keys.keys()) == ["a", "b"]
    with lsh.insertion_session(buffer_size=40) as session:
        for i in range(100):
            session.insert(f"k{i}", sketch([f"{i}x{k}" for k in range(8)], of.MinHash))
        with pytest.raises(ValueError, match="already exists"):
            session.insert("a", sketch(A, of.MinHash))
    assert lsh.query(sketch([f"7x{k}" for k in range(8)], of.MinHash)) == ["k7"]
    lsh.add_to_query_buffer(sketch(A, of.MinHash))
    lsh.add_to_query_buffer(sketch(B, of.MinHash))
    assert sorted(lsh.collect_query_buffer()) == ["a", "b"]
    with lsh.deletion_session() as deletions:
        deletions.remove("a")
    assert "a" not in lsh and lsh.query(sketch(A, of.MinHash)) == ["b"]
    other = of.MinHashLSH(threshold=0.5, num_perm=128, **options)
    other.insert("o", sketch(["only", "there"], of.MinHash))
    lsh.merge(other, check_overlap=True)
    assert "o" in lsh
    with pytest.raises(ValueError, match="overlapping"):
        lsh.merge(other, check_overlap=True)
    if of is akin_search.datasketch:
        other.close()
        lsh.close()


def test_minhash_as_there() -> None:
    for kind in (MinHash, datasketch.MinHash):
        a, b = sketch(A, kind), sketch(B, kind)
        assert a.jaccard(b) == pytest.approx(7 / 9, abs=0.15)
        assert a.count() == pytest.approx(8 if kind is MinHash else 9, abs=3)
        both = kind.union(a, b)
        c = a.copy()
        c.merge(b)
        assert c == both and len(c) == 128 and c != a
        c.clear()
        assert c.is_empty()
        many = kind.bulk([[b"x", b"y"], [b"z"]], num_perm=128)
        again = list(kind.generator([[b"x", b"y"], [b"z"]], num_perm=128))
        assert [m.jaccard(n) for m, n in zip(many, again)] == [1.0, 1.0]


def test_elements_and_keys(client: akin_search.Client) -> None:
    with MinHashLSH(threshold=0.5, client=client, key_type=int, params=(16, 4)) as lsh:
        bytes_ = {b"\xff\xfe", b"\x00", b"a\nb"}
        lsh.insert(7, bytes_)
        assert lsh.query(bytes_) == [7] and list(lsh.keys) == [7] and 8 not in lsh
        assert lsh.query({"fffe", "x", "y"}) == []
        with pytest.raises(TypeError, match="not a string"):
            lsh.insert(8, "a text")


def test_keys_of_many_types(client: akin_search.Client) -> None:
    keys: List[Any] = ["a", 17, -3, b"\xff", ("a", 3), 2.5, None, "py:17", "py:", numpy.int64(99)]
    with MinHashLSH(threshold=0.5, client=client) as lsh:
        for key in keys:
            lsh.insert(key, {f"{key!r}", "x"})
        with pytest.raises(ValueError, match="already exists"):
            lsh.insert(17, {"y"})
        assert set(lsh.keys) == set(keys) and all(key in lsh for key in keys)
        assert "17" not in lsh and lsh.query({f"{17!r}", "x"}) == [17]
        lsh.remove(("a", 3))
        assert ("a", 3) not in lsh
        own = client.collection(lsh._client.name)
        assert own.get("py:17")["id"] == "py:17" and own.get("a")["id"] == "a"
        own.insert("py:not a literal", tokens=["of another program"])
        assert "py:not a literal" in set(lsh.keys)
        for key in (object(), float("nan"), ("a", frozenset("b"))):
            with pytest.raises(TypeError, match="cannot be restored from its id"):
                lsh.insert(key, {"x"})
    with (
        MinHashLSH(client=client, key_type=str) as strings,
        pytest.raises(TypeError, match="key_t"),
    ):
        strings.insert(5, {"x"})  # type: ignore[arg-type]


def test_bands_rows_and_counts(client: akin_search.Client) -> None:
    with MinHashLSH(threshold=0.5, num_perm=64, params=(16, 4), client=client) as lsh:
        assert (lsh.b, lsh.r, lsh.get_counts()) == (16, 4, [{}] * 16)
        for key, words in {"a": A, "b": B, "c": ["other", "words"]}.items():
            lsh.insert(key, sketch(words, lambda num_perm: MinHash(64)))
        assert (lsh.b, lsh.r) == (16, 4)
        counts = lsh.get_counts()
        assert len(counts) == 16 and all(sum(band.values()) == 3 for band in counts)
        assert any(2 in band.values() for band in counts), "two resemble each other"
        assert all(sum(band.values()) == 1 for band in lsh.get_subset_counts("c"))
    with MinHashLSH(threshold=0.8, client=client) as planned:
        before = (planned.b, planned.r)
        assert client.collections() == ["default"], "what was made to know is removed"
        planned.insert("a", {"x"})
        assert (planned.b, planned.r) == before and planned.b * planned.r == 128


def test_an_index_is_pickled_by_its_name(client: akin_search.Client) -> None:
    lsh = MinHashLSH(threshold=0.5, client=client)
    lsh.insert(7, sketch(A))
    pickled = pickle.dumps(lsh)
    copy = pickle.loads(pickled)
    copy.insert("b", sketch(B))
    assert sorted(map(str, lsh.query(sketch(A)))) == ["7", "b"]
    del lsh, copy
    gc.collect()
    with pickle.loads(pickled) as again:
        assert 7 in again and again.b > 1
    assert client.collections() == ["default"], "only close() removes what was pickled"


def test_what_cannot_be_taken_is_refused(client: akin_search.Client) -> None:
    for wrong in (
        {"threshold": 1.1},
        {"num_perm": 1},
        {"num_perm": 2000},
        {"weights": (0.5, 0.6)},
        {"weights": (-0.5, 1.5)},
        {"params": (33, 4)},
        {"params": (1, 4)},
        {"params": (4, 0)},
        {"num_perm": 256, "params": (4, 33)},
    ):
        with pytest.raises(ValueError):
            MinHashLSH(client=client, **wrong)
    for given in ({"hashvalues": [1, 2]}, {"permutations": ([1], [2])}):
        with pytest.raises(TypeError, match="datasketch.MinHash"):
            MinHash(128, **given)
    with pytest.raises(ValueError, match="different seeds"):
        MinHash(seed=1).merge(MinHash(seed=2))
    with pytest.raises(ValueError, match="different numbers"):
        MinHash(64).jaccard(MinHash(128))
    weighted = datasketch.WeightedMinHashGenerator(10, 128).minhash(range(1, 11))
    with MinHashLSH(client=client) as lsh:
        with pytest.raises(TypeError, match="WeightedMinHash is not supported"):
            lsh.insert("a", weighted)
        with pytest.raises(ValueError, match="length 128"):
            lsh.add_to_query_buffer(MinHash(64))
        assert lsh.collect_query_buffer() == []


def test_an_index_without_a_name_is_removed(client: akin_search.Client, server: Server) -> None:
    lsh = MinHashLSH(client=client)
    lsh.insert("a", {"x", "y"})
    assert len(client.collections()) == 2
    del lsh
    gc.collect()
    assert client.collections() == ["default"]
    program = "from akin_search.datasketch import *; MinHashLSH().insert('a', {'x'})"
    subprocess.run([sys.executable, "-c", program], env={"AKIN_URL": server.url}, check=True)
    assert client.collections() == ["default"]


def test_an_index_with_a_name_is_kept_and_shared(client: akin_search.Client) -> None:
    early = MinHashLSH(client=client, threshold=0.5, collection="shared")
    assert early.query({"x", "y"}) == []
    config = {"type": "redis", "basename": b"shared"}
    MinHashLSH(client=client, threshold=0.5, storage_config=config).insert("a", {"x", "y"})
    assert early.query({"x", "y"}) == ["a"]
    early.close()
    assert "shared" in client.collections()
    client.remove_collection("shared")


def test_signatures_are_read_off() -> None:
    for scheme in ("legacy", "affine32", "affine64"):
        minhash = sketch(A, datasketch.MinHash, scheme=scheme)
        lean = datasketch.LeanMinHash(minhash)
        buffer = bytearray(lean.bytesize())
        lean.serialize(buffer)
        values = [int(value) for value in minhash.hashvalues]
        assert signature(minhash) == signature(lean) == signature(bytes(buffer)) == values


def words_of(i: int, exchanged: int) -> List[str]:
    return [f"{i}w{k}" if k >= exchanged else f"{i}x{exchanged}y{k}" for k in range(60)]


@pytest.mark.parametrize("scheme", ["legacy", "affine32", "affine64"])
def test_signatures_are_found_as_datasketch_compares_them(
    client: akin_search.Client, scheme: str
) -> None:
    minhashes = {
        f"{i}/{exchanged}": sketch(words_of(i, exchanged), datasketch.MinHash, scheme=scheme)
        for i in range(20)
        for exchanged in (0, 2, 5, 12, 30)
    }
    with MinHashLSH(threshold=0.5, client=client) as lsh:
        with lsh.insertion_session() as session:
            for n, (key, minhash) in enumerate(minhashes.items()):
                lean = datasketch.LeanMinHash(minhash)
                buffer = bytearray(lean.bytesize())
                lean.serialize(buffer)
                session.insert(key, [minhash, lean, bytes(buffer)][n % 3])
        missed, expected = 0, 0
        for minhash in minhashes.values():
            jaccard = {key: minhash.jaccard(other) for key, other in minhashes.items()}
            near = {key for key, value in jaccard.items() if value >= 0.5}
            found = lsh.query(minhash)
            assert set(found) <= near, "what is found is at the threshold or over it"
            expected, missed = expected + len(near), missed + len(near - set(found))
        assert expected > 200 and missed / expected < 0.02, (missed, expected)
        answer: Any = client.collection(lsh._client.name).query(
            signature=signature(minhashes["3/0"]), threshold=0.5
        )
        for match in answer["matches"]:
            estimate = minhashes["3/0"].jaccard(minhashes[match["id"]])
            assert match["resemblance"] == pytest.approx(estimate, abs=1e-6)
        with MinHashLSH(threshold=0.6, client=client) as other:
            other.merge(lsh)
            assert sorted(other.keys) == sorted(minhashes)
        with pytest.raises(TypeError, match="one of signatures, not sets"):
            lsh.insert("b", {"x"})


def test_sets_and_signatures_do_not_mix(client: akin_search.Client) -> None:
    with MinHashLSH(client=client) as lsh:
        lsh.insert("a", {"x"})
        with pytest.raises(TypeError, match="one of sets, not signatures"):
            lsh.insert("b", sketch(A, datasketch.MinHash))


def test_a_limit_is_not_hidden() -> None:
    answer = b'[{"matches": [{"id": "a"}], "more": true, "truncated": false}]'
    refused = b'[{"error": {"code": "overloaded", "status": 503, "detail": "no"}}]'
    settings = b'{"settings": {"sketch": {"method": "fast32"}}}'
    replies: List[Reply] = [(200, {}, content) for content in (settings, answer, refused)]
    replies.append((500, {}, problem(500, "internal")))
    with Script(*replies) as script, akin_search.Client(script.url) as client:
        lsh = MinHashLSH(client=client, collection="c")
        with pytest.warns(UserWarning, match="not all keys"):
            assert lsh.query({"x"}) == ["a"]
        with pytest.raises(akin_search.ProblemError, match="overloaded"):
            lsh.query({"x"})
        with pytest.raises(akin_search.ProblemError, match="internal"):
            lsh.remove("a")
