"""Deduplicate a table of articles and look around in it, as in a notebook.

Needs a running server (`akin serve`, or another named by AKIN_URL) and nothing else.
"""

from typing import Any, Dict, List

import akin_search

ARTICLES: List[Dict[str, Any]] = [
    {"url": "a.example/1", "lang": "en", "body": "The night bus will stop at the old fish market "
     "instead of the pier, from Monday until the regatta is over."},
    {"url": "b.example/7", "lang": "en", "body": "The night bus will stop at the old fish market "
     "instead of the pier, from Monday until the regatta is done."},
    {"url": "c.example/3", "lang": "en", "body": "THE NIGHT BUS will stop at the old fish market "
     "instead of the pier; from Monday until the regatta is over!"},
    {"url": "d.example/2", "lang": "en", "body": "The museum opens at ten from Tuesday to Sunday "
     "and is closed on Mondays, holidays included."},
    {"url": "e.example/5", "lang": "fr", "body": None},
]  # fmt: skip

client = akin_search.Client()
client.create_collection("articles", {"scheme": {"threshold": 0.8}})
articles = client.collection("articles")

# Rows become documents: the same for a DataFrame of pandas or polars, a pyarrow table, a dataset.
documents = akin_search.documents(ARTICLES, id="url", text="body", metadata=["lang"])

# Store only what has no near-duplicate yet. Each document is checked against all before it.
for result in articles.bulk(documents, on_duplicate="skip"):
    if result["status"] == "error":
        print(f"{result['id']}: {result['problem']['code']}")
    else:
        others = ", ".join(f"{d['id']} ({d['resemblance']:.2f})" for d in result["duplicates"])
        print(f"{result['id']}: {result['status']}", others and f"as it resembles {others}")

# What resembles a text that is not stored? So far below the threshold only `exact` finds all.
answer = articles.query(
    "The night bus will stop at the old fish market.", threshold=0.3, mode="exact"
)
for match in answer["matches"]:
    share = match["containment"]["of_probe"]
    print(f"{match['id']} has {share:.0%} of it, resemblance {match['resemblance']:.2f}")

# Where exactly do two texts differ?
near = ARTICLES[1]["body"]
compared = articles.compare("a.example/1", {"text": near}, explain=True)
for start, end in compared["explanation"]["b"]["differing"]:
    print("only in the second:", near[start:end])

client.remove_collection("articles")
client.close()
