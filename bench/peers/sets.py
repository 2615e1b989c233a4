"""Writes the sets of the first documents of a prepared corpus, by the words of the peers in Python,
as `bench/src/corpus/sets.rs` has sets."""

import sys

import numpy as np

import given


def main(corpus, count, folder):
    sets = [given.elements(given.shingles(text)) for text in given.texts(corpus, count)]
    starts = np.concatenate([[0], np.cumsum([part.size for part in sets])]).astype("<u8")
    with open(f"{folder}/sets.bin", "wb") as file:
        np.asarray([len(sets)], dtype="<u8").tofile(file)
        starts.tofile(file)
        for part in sets:
            part.tofile(file)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
