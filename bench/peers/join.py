"""All pairs at or over the threshold by SetSimilaritySearch, exact; from ready-made sets."""

import sys
import time

from SetSimilaritySearch import all_pairs

import given


def main(participant, setting, corpus, count, file):
    sets = [elements.tolist() for elements in given.sets(corpus, count)]
    resident = given.status_bytes("VmRSS:")
    started = time.perf_counter()
    near = list(all_pairs(sets, "jaccard", given.THRESHOLD))
    seconds = time.perf_counter() - started
    peak = given.status_bytes("VmHWM:") - resident
    given.write_found(file, [(a, b) for a, b, _ in near])
    given.tell(participant, setting, count, {"seconds": seconds, "peak_bytes": peak})


main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
