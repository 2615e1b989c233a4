"""From text to sketch, as users of each library write it, and from hashed shingles to sketch."""

import sys
import time

import numpy as np
from datasketch import MinHash
from rensa import RMinHash

import given

# Shingles of a long document.
LONG = 8192


def datasketch_text(text):
    sketch = MinHash(num_perm=given.SLOTS)
    sketch.update_batch(given.shingles(text))
    return sketch


def datasketch_sets(sets):
    low = 0xFFFFFFFF
    as_lists = [(np.asarray(elements) & low).tolist() for elements in sets]
    started = time.perf_counter()
    for _ in MinHash.generator(as_lists, num_perm=given.SLOTS, hashfunc=lambda element: element):
        pass
    return time.perf_counter() - started


def rensa_text(text):
    sketch = RMinHash(given.SLOTS, given.SEED)
    sketch.update(given.shingles(text))
    return sketch


def rensa_sets(sets):
    elements = np.concatenate(sets)
    starts = np.concatenate([[0], np.cumsum([part.size for part in sets])]).tolist()
    started = time.perf_counter()
    RMinHash.digest_matrix_from_flat_token_hashes(elements, starts, given.SLOTS, given.SEED)
    return time.perf_counter() - started


def long_sets(sets):
    elements = np.concatenate(sets)
    return np.split(elements, range(LONG, elements.size, LONG))


def main(participant, setting, corpus, count):
    texts, sets = given.texts(corpus, count), given.sets(corpus, count)
    peers = {"datasketch": (datasketch_text, datasketch_sets), "rensa": (rensa_text, rensa_sets)}
    sketch_text, sketch_sets = peers[participant]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    started = time.perf_counter()
    for text in texts:
        given.shingles(text)
    shingled = time.perf_counter()
    for text in texts:
        sketch_text(text)
    sketched = time.perf_counter()
    shingles = sum(part.size for part in sets) / 1e6
    figures = {
        "shingling_mb_per_s": megabytes / (shingled - started),
        "text_mb_per_s": megabytes / (sketched - shingled),
        "sketching_m_per_s": shingles / sketch_sets(sets),
        "sketching_long_m_per_s": shingles / sketch_sets(long_sets(sets)),
    }
    given.tell(participant, setting, count, figures)


main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
