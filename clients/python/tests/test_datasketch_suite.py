"""The behaviours behind the page's result of datasketch's own tests (docs/from-datasketch.md)."""

import pickle
import re
from pathlib import Path
from typing import Any, Iterator

import datasketch
import pytest
from server import Server

import akin_search
from akin_search.datasketch import MinHashLSH

PAGE = Path(__file__).parents[3] / "docs" / "from-datasketch.md"
WORDS = "the night bus will stop at the old fish market".split()


@pytest.fixture
def client(server: Server) -> Iterator[akin_search.Client]:
    with akin_search.Client(server.url) as client:
        yield client


def minhash(words: Any = WORDS) -> Any:
    made = datasketch.MinHash(num_perm=128)
    made.update_batch([word.encode() for word in words])
    return made


def test_the_page_counts_what_it_lists() -> None:
    section = PAGE.read_text().split("## datasketch's own tests")[1].split("\n## ")[0]
    passing, failing = re.split(r"^(?=- )", section, maxsplit=1, flags=re.M)
    counts = re.findall(r"Of the (\d+) cases.*?, (\d+) pass", passing, re.S)
    assert counts == [("24", "7")]
    assert len(re.findall(r"`test_\w+`", passing.split("pass unchanged:")[1])) == 7
    bullets = re.findall(r"^- (\d+) (.*?)(?=^- |\Z)", failing, re.S | re.M)
    assert [int(number) for number, _ in bullets] == [10, 5, 2]
    named = [len(re.findall(r"`test_\w+`", text)) for _, text in bullets]
    assert named == [10, 5, 1] and "both `test_init`" in bullets[2][1]


@pytest.mark.parametrize("config", [None, {"type": "redis", "basename": b"suite"}])
def test_queries_and_buffered_queries_pass(client: akin_search.Client, config: Any) -> None:
    with MinHashLSH(threshold=0.5, client=client, storage_config=config) as lsh:
        lsh.insert("a", minhash())
        lsh.insert("b", minhash(["other", "words"]))
        assert lsh.query(minhash()) == ["a"]
        lsh.add_to_query_buffer(minhash())
        assert lsh.collect_query_buffer() == ["a"]
        assert sum(lsh.get_counts()[0].values()) == 2
        assert pickle.loads(pickle.dumps(lsh)).query(minhash()) == ["a"]
        lsh.close()


def test_nobody_looks_into_hashtables(client: akin_search.Client) -> None:
    assert hasattr(datasketch.MinHashLSH(), "hashtables")
    with MinHashLSH(client=client) as lsh:
        assert not hasattr(lsh, "hashtables")


def test_weighted_minhashes_are_refused(client: akin_search.Client) -> None:
    weighted = datasketch.WeightedMinHashGenerator(4, 128).minhash([1, 2, 3, 4])
    datasketch.MinHashLSH().insert("a", weighted)
    with MinHashLSH(client=client) as lsh, pytest.raises(TypeError, match="WeightedMinHash"):
        lsh.insert("a", weighted)


def test_weights_do_not_change_the_bands(client: akin_search.Client) -> None:
    def bands(of: Any, weights: Any, **options: Any) -> Any:
        lsh = of.MinHashLSH(threshold=0.6, num_perm=128, weights=weights, **options)
        return lsh.b, lsh.r

    rash, careful = (0.9, 0.1), (0.1, 0.9)
    assert bands(datasketch, rash) != bands(datasketch, careful)
    ours = [bands(akin_search.datasketch, weights, client=client) for weights in (rash, careful)]
    assert ours[0] == ours[1]
