"""Deduplicates a file of JSON lines, as one does it with each library or tool, and writes the lines
that are kept.

All take three words in a row (`\\w+`, in lower case), except text-dedup, whose words are what is
between two characters of `\\W`. `own` is the bands that each library chooses or recommends for the
threshold, and what they find as it comes; `checked` is 21 bands of 6 rows (99.8 % of the pairs at
just the threshold share a band) with an exact check behind them. text-dedup and datatrove cannot
check, so theirs is 21 bands of 6 rows alone.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import given

CHUNK = 1024
SHINGLE_WORDS = 3
BANDS, ROWS = 21, 6


class Datasketch:
    """Candidates of the index, with sketches of hashes that are cheap in Python."""

    def __init__(self, own):
        from datasketch import MinHash, MinHashLSH

        params = None if own else (BANDS, ROWS)
        self.index = MinHashLSH(threshold=given.THRESHOLD, num_perm=given.SLOTS, params=params)
        self.bulk = MinHash.bulk

    def sketches(self, shingles):
        hashed = [np.asarray([hash(one) & 0xFFFFFFFF for one in set(all)]) for all in shingles]
        return self.bulk(hashed, num_perm=given.SLOTS, hashfunc=lambda element: element)

    def near(self, number, sketch):
        return self.index.query(sketch)

    def keep(self, number, sketch):
        self.index.insert(number, sketch)


class Rensa:
    """Its deduplicator, which compares estimates; or its index, for an exact check."""

    def __init__(self, own):
        from rensa import RMinHash, RMinHashDeduplicator, RMinHashLSH

        self.slots = given.SLOTS if own else BANDS * ROWS
        self.from_token_sets = RMinHash.from_token_sets
        if own:
            index = RMinHashDeduplicator(given.THRESHOLD, self.slots, True, seed=given.SEED)
            # It adds the sketch unless there is a near one.
            self.near = lambda number, sketch: not index.add(str(number), sketch)
            self.keep = lambda number, sketch: None
        else:
            index = RMinHashLSH(given.THRESHOLD, self.slots, BANDS)
            self.near = lambda number, sketch: index.query(sketch)
            self.keep = index.insert

    def sketches(self, shingles):
        return self.from_token_sets(shingles, self.slots, given.SEED)


def one_by_one(library, own, source, target):
    """Keeps each document that is near none of those kept before."""
    sets = {}
    numbers = itertools.count()
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as kept:
        while chunk := list(itertools.islice(lines, CHUNK)):
            shingles = [given.shingles(json.loads(line)["text"]) for line in chunk]
            sketches = library.sketches(shingles)
            for line, words, sketch in zip(chunk, shingles, sketches):
                number = next(numbers)
                near = library.near(number, sketch)
                if not own:
                    elements = given.elements(words)
                    near = any(given.is_near(elements, sets[other]) for other in near)
                if near:
                    continue
                library.keep(number, sketch)
                if not own:
                    sets[number] = elements
                kept.write(line)


def text_dedup(own, source, target):
    from datasets import load_from_disk

    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        options = {
            "path": "json", "data_files": source, "split": "train", "column": "text",
            "cache_dir": f"{folder}/cache", "output": f"{folder}/kept",
            "ngram": SHINGLE_WORDS, "min_length": 1, "threshold": given.THRESHOLD,
            "hash_func": "xxh3", "num_proc": os.cpu_count(),
        }  # fmt: skip
        if not own:
            options |= {"num_perm": BANDS * ROWS, "b": BANDS, "r": ROWS}
        flags = [f"--{name}={value}" for name, value in options.items()]
        subprocess.run([sys.executable, "-m", "text_dedup.minhash", *flags], check=True)
        load_from_disk(f"{folder}/kept").to_json(target, force_ascii=False)


def datatrove(own, source, target):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.text import TextNormConfig

    from words import Words

    config = MinhashConfig(
        n_grams=SHINGLE_WORDS,
        norm_config=TextNormConfig(True, False, False, False, False),
        **({} if own else {"num_buckets": BANDS, "hashes_per_bucket": ROWS}),
    )
    reader = JsonlReader(os.path.dirname(source), glob_pattern=os.path.basename(source))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:

        def run(tasks, *pipeline):
            logs = f"{folder}/logs/{type(pipeline[-1]).__name__}"
            workers = min(tasks, os.cpu_count())
            LocalPipelineExecutor(list(pipeline), tasks, workers, logging_dir=logs).run()

        signatures, buckets, removed = (f"{folder}/{name}" for name in ("sigs", "buckets", "removed"))
        run(1, reader, MinhashDedupSignature(signatures, config, Words()))
        run(config.num_buckets, MinhashDedupBuckets(signatures, buckets, config=config))
        run(1, MinhashDedupCluster(buckets, removed, config=config))
        writer = JsonlWriter(f"{folder}/kept", "kept.jsonl", compression=None)
        run(1, reader, MinhashDedupFilter(removed), writer)
        os.replace(f"{folder}/kept/kept.jsonl", target)


def main(participant, setting, source, target):
    own = setting.startswith("own")
    if participant in ("text-dedup", "datatrove"):
        {"text-dedup": text_dedup, "datatrove": datatrove}[participant](own, source, target)
    else:
        library = {"datasketch": Datasketch, "rensa": Rensa}[participant](own)
        one_by_one(library, own, source, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
