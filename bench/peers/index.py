"""Everything into an index, then everything looked up.

The setting `own` is what each library chooses or its own benchmark uses; `checked` is chosen to
find what there is (21 keys of 6 slots, 99.8 % of pairs at just the threshold), with an exact check
of what comes.
"""

import sys
import time

import numpy as np
from datasketch import MinHash, MinHashLSH
from rensa import RMinHash, RMinHashLSH

import given

CHUNK = 4096
BANDS, ROWS = 21, 6


class Datasketch:
    def __init__(self, own):
        params = None if own else (BANDS, ROWS)
        self.index = MinHashLSH(threshold=given.THRESHOLD, num_perm=given.SLOTS, params=params)
        self.figures = {"bands": self.index.b, "rows": self.index.r}

    def sketches(self, sets):
        as_lists = [(np.asarray(elements) & 0xFFFFFFFF).tolist() for elements in sets]
        return MinHash.bulk(as_lists, num_perm=given.SLOTS, hashfunc=lambda element: element)


class Rensa:
    def __init__(self, own):
        self.slots, bands = (given.SLOTS, 8) if own else (BANDS * ROWS, BANDS)
        self.index = RMinHashLSH(given.THRESHOLD, self.slots, bands)
        self.figures = {"bands": bands, "rows": self.slots // bands}

    def sketches(self, sets):
        as_bytes = [[element.tobytes() for element in np.asarray(part)] for part in sets]
        return RMinHash.from_token_sets(as_bytes, self.slots, given.SEED)


def fill(peer, sets):
    # What sketching leaves behind on the heap is none of the index's memory.
    peer.sketches(sets[:CHUNK])
    resident = given.status_bytes("VmRSS:")
    sketching = inserting = 0.0
    for first in range(0, len(sets), CHUNK):
        started = time.perf_counter()
        sketches = peer.sketches(sets[first : first + CHUNK])
        sketched = time.perf_counter()
        for number, sketch in enumerate(sketches, first):
            peer.index.insert(number, sketch)
        inserting += time.perf_counter() - sketched
        sketching += sketched - started
    grown = given.status_bytes("VmRSS:") - resident
    return {
        "sketches_per_s": len(sets) / sketching,
        "inserts_per_s": len(sets) / inserting,
        "index_bytes": grown / len(sets),
    }


def look_up(peer, sets, checked):
    times, pairs = given.Times(), []

    def near(number, sketch):
        found = [other for other in peer.index.query(sketch) if other != number]
        if checked:
            own = sets[number]
            found = [n for n in found if given.resemblance(own, sets[n]) >= given.THRESHOLD]
        return found

    for first in range(0, len(sets), CHUNK):
        for number, sketch in enumerate(peer.sketches(sets[first : first + CHUNK]), first):
            found = times.time(near, number, sketch)
            pairs.append(np.column_stack([np.full(len(found), number), found]).astype("<u4"))
    return times, np.concatenate(pairs)


def main(participant, setting, corpus, count, file):
    sets = given.sets(corpus, count)
    own = setting.startswith("own")
    peer = {"datasketch": Datasketch, "rensa": Rensa}[participant](own)
    figures = peer.figures | fill(peer, sets)
    times, pairs = look_up(peer, sets, not own)
    given.write_found(file, pairs)
    given.tell(participant, setting, count, figures | times.figures("lookup"))


main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
