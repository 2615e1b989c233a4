"""Stands in for datasketch's `MinHash` and `MinHashLSH`, with the index in akin.

    from akin_search.datasketch import MinHash, MinHashLSH  # instead of: from datasketch import …

A MinHash is a digest from which the set cannot be restored, and without the set nothing can be
verified. So there are two kinds of index, and the first insert decides which of them it is:

- of **sets**, given as this module's `MinHash` (which remembers its set) or as sets themselves:
  akin makes the sketches, and `query` returns what has at least the threshold's Jaccard similarity,
  counted exactly. Nothing is returned that is below it.
- of **signatures**, given as datasketch's own `MinHash` or `LeanMinHash`, or as the bytes of the
  latter: akin indexes their hash values as they are, and `query` goes by estimates. For this the
  server must know `sketch.method = "foreign"`.
"""

from ._lsh import MinHashLSH
from ._minhash import MinHash, signature
from ._sessions import DeletionSession, InsertionSession

__all__ = ["DeletionSession", "InsertionSession", "MinHash", "MinHashLSH", "signature"]
