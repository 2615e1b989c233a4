"""What every participant is given, and what it has to hand back."""

import json
import math
import re
import time
from importlib.metadata import version

import numpy as np

THRESHOLD = 0.8
SLOTS = 128
SEED = 42
WORD = re.compile(r"\w+")


def sets(corpus, count):
    """The first sets of a prepared corpus: arrays of distinct hashed shingles, ascending."""
    numbers = np.memmap(f"{corpus}/sets.bin", dtype="<u8", mode="r")
    known = int(numbers[0])
    starts = numbers[1 : known + 2].astype(np.int64)
    elements = numbers[known + 2 :]
    return [elements[starts[n] : starts[n + 1]] for n in range(min(count, known))]


def texts(corpus, count):
    with open(f"{corpus}/documents.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for _, line in zip(range(count), lines)]


def shingles(text):
    """Three words in a row, as one writes it in Python."""
    words = WORD.findall(text.lower())
    if len(words) < 3:
        return [" ".join(words).encode()]
    return [" ".join(words[n : n + 3]).encode() for n in range(len(words) - 2)]


def elements(shingles):
    """The set of these shingles: distinct hashes, ascending."""
    return np.unique(np.fromiter(map(hash, shingles), dtype=np.int64).view("<u8"))


def is_near(a, b):
    smaller, larger = sorted((a.size, b.size))
    return smaller >= THRESHOLD * larger and resemblance(a, b) >= THRESHOLD


def resemblance(a, b):
    shared = np.intersect1d(a, b, assume_unique=True).size
    return shared / (a.size + b.size - shared)


def write_found(file, pairs):
    np.asarray(pairs, dtype="<u4").reshape(-1, 2).tofile(file)


def status_bytes(name):
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0


def tell(participant, setting, documents, figures):
    figures.setdefault("peak_bytes", status_bytes("VmHWM:"))
    figures = {name: float(figure) for name, figure in figures.items() if math.isfinite(figure)}
    outcome = {
        "participant": participant,
        "version": version(participant),
        "setting": setting,
        "documents": documents,
        "figures": figures,
    }
    print(json.dumps(outcome))


class Times:
    """Of single calls, in seconds."""

    def __init__(self):
        self.each = []

    def time(self, call, *arguments):
        started = time.perf_counter()
        result = call(*arguments)
        self.each.append(time.perf_counter() - started)
        return result

    def figures(self, name):
        each = np.sort(np.asarray(self.each))
        return {
            f"{name}s_per_s": each.size / each.sum(),
            f"{name}_p50_us": each[int((each.size - 1) * 0.5)] * 1e6,
            f"{name}_p99_us": each[int((each.size - 1) * 0.99)] * 1e6,
        }
