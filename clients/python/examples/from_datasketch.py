"""The same program with datasketch and with akin: what each finds, beside the truth.

Needs a running server (`akin serve`, or another named by AKIN_URL) and `pip install datasketch`.
"""

import random
from itertools import combinations
from typing import Any, Dict, Set, Tuple

import datasketch

import akin_search.datasketch

THRESHOLD = 0.6
NUM_PERM = 128

Corpus = Dict[str, Set[str]]
Pairs = Set[Tuple[str, str]]


def corpus(seed: int) -> Corpus:
    """150 sets of 40 words, each with three copies in which ever more words are exchanged."""
    chance = random.Random(seed)
    words = [f"word{i}" for i in range(3000)]
    sets = {}
    for i in range(150):
        original = chance.sample(words, 40)
        for copy in range(4):
            exchanged = chance.randint(0, 5 * copy)
            sets[f"{i}/{copy}"] = {*original[exchanged:], *chance.sample(words, exchanged)}
    return sets


def true_pairs(sets: Corpus) -> Pairs:
    def jaccard(a: str, b: str) -> float:
        return len(sets[a] & sets[b]) / len(sets[a] | sets[b])

    return {(a, b) for a, b in combinations(sets, 2) if jaccard(a, b) >= THRESHOLD}


def found_pairs(package: Any, sets: Corpus) -> Pairs:
    """Nothing in here knows which package it is."""
    minhashes = {}
    lsh = package.MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM)
    with lsh.insertion_session() as session:
        for key, words in sets.items():
            minhashes[key] = package.MinHash(num_perm=NUM_PERM)
            minhashes[key].update_batch([word.encode() for word in words])
            session.insert(key, minhashes[key], check_duplication=False)
    order = {key: place for place, key in enumerate(sets)}
    pairs = ((a, b) for a, minhash in minhashes.items() for b in lsh.query(minhash))
    return {(a, b) for a, b in pairs if order[a] < order[b]}


sets = corpus(seed=7)
true = true_pairs(sets)
print(f"{len(sets)} sets, {len(true)} pairs with a Jaccard similarity of at least {THRESHOLD}")
for package in (datasketch, akin_search.datasketch):
    found = found_pairs(package, sets)
    recall = len(found & true) / len(true)
    precision = len(found & true) / len(found)
    print(f"{package.__name__:22} recall {recall:.4f} precision {precision:.4f}")
