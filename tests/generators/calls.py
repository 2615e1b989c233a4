"""Calls a running akin with the client that openapi-python-client made: AKIN_URL, AKIN_API_KEY."""

import importlib
import json
import os
import pkgutil

import akin_client
from akin_client import AuthenticatedClient, models

CLIENT = AuthenticatedClient(
    base_url=os.environ["AKIN_URL"],
    token=os.environ["AKIN_API_KEY"],
    raise_on_unexpected_status=True,
    timeout=60,
)
OPERATIONS_MIN = 20
called = set()


def call(operation, *arguments, **named):
    """The parsed answer. A problem, or an answer that the document does not have, raises."""
    module = importlib.import_module(f"akin_client.api.{operation}")
    answer = module.sync_detailed(*arguments, client=CLIENT, **named)
    assert answer.status_code < 300, f"{operation}: {answer.status_code} {answer.content!r}"
    called.add(operation)
    return answer.parsed


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def import_all():
    for module in pkgutil.walk_packages(akin_client.__path__, "akin_client."):
        importlib.import_module(module.name)


def add():
    text = "The night bus will stop at the old fish market instead of the pier."
    one = models.Document(id="news/1", text=text)
    added = call("documents.add_documents", body=one)
    assert isinstance(added, models.Added) and added.status == models.AddStatus.CREATED, added
    two = models.Document(id="news/2", text=f"{text} Tickets are the same.")
    three = models.Document(id="tokens", tokens=["a", ["b", 2], "c"])
    results = call("documents.add_documents", body=[two, three])
    assert [result.status for result in results] == [models.AddStatus.CREATED] * 2, results
    put = call("documents.put_document", "page 1", body=models.Document(text="The museum opens at ten."))
    assert put.id == "page 1", put
    metadata = models.DocumentChangeMetadataType0.from_dict({"lang": "en"})
    changed = call("documents.change_document", "page 1", body=models.DocumentChange(metadata=metadata))
    assert changed.status == models.AddStatus.REPLACED, changed


def read():
    document = call("documents.get_document", "news/1")
    assert document.text.startswith("The night bus"), document
    assert call("documents.get_document", "tokens").tokens == ["a", ["b", 2], "c"]
    ids = call("documents.list_documents", limit=10, count=True)
    assert (ids.ids, ids.count) == (["news/1", "news/2", "page 1", "tokens"], 4), ids
    found = call("documents.fetch_documents", body=models.Wanted(ids=["news/1", "nobody"]))
    assert len(found.documents) == 1, found
    exported = lines(call("documents.export_documents"))
    assert len(exported) == 4, exported
    position = lines(call("documents.changes"))[-1]["position"]
    call("documents.remove_document", "tokens")
    removed, end = lines(call("documents.changes", since=position))
    assert removed == {"change": "removed", "id": "tokens"} and end["position"], removed


def look_up():
    answer = call("looking_up.similar_to_stored", id="news/1", threshold=0.5)
    assert isinstance(answer, models.AnswerByThreshold) and answer.threshold == 0.5, answer
    (match,) = answer.matches
    assert isinstance(match, models.MatchVerified), match
    assert (match.id, match.exact) == ("news/2", match.shared / match.union), match
    # The overlapping parts of this union are told apart by what is required.
    probe = models.LookupProbe(text="The night bus will stop at the old fish market.", threshold=0.5)
    assert call("looking_up.similar_to_posted", body=probe).matches
    answers = call("looking_up.similar_to_posted", body=[probe, models.LookupProbe(text="")])
    assert isinstance(answers[0], models.AnswerByThreshold), answers
    assert isinstance(answers[1], models.FailedProbe), answers
    compared = call("looking_up.compare_stored", a="news/1", b="news/2")
    assert isinstance(compared, models.ComparisonOfSets), compared
    low, high = compared.estimated.interval
    assert low <= compared.estimated.value <= high, compared
    pair = models.Pair(a=models.Probe(id="news/1"), b=models.Probe(text="Something else."))
    assert call("looking_up.compare_posted", body=pair).exact.value == 0.0
    ranked = models.Ranked(ids=["news/1", "news/2", "page 1"], threshold=0.5)
    assert call("looking_up.collapse", body=ranked).kept == ["news/1", "page 1"]
    assert call("looking_up.curve", threshold=0.8).points


def discover():
    pairs = lines(call("discovery.pairs", threshold=0.5))
    assert [(pair["a"], pair["b"]) for pair in pairs] == [("news/1", "news/2")], pairs
    (cluster,) = lines(call("discovery.clusters", threshold=0.5))
    assert cluster["size"] == 2, cluster
    assert call("operating.recall", threshold=0.5, sample=3).pairs == 2


def administrate():
    kept = models.Settings(clusters=models.ClusterSettings(threshold=0.8))
    call("collections.create_collection", "news", body=kept)
    assert call("collections.describe_collection", "news").settings.clusters.threshold == 0.8
    assert len(call("collections.list_collections").collections) == 2
    text = models.Document(text="The museum opens at ten.")
    call("documents.put_document_of_collection", "news", "a", body=text)
    assert lines(call("discovery.clusters_of_collection", "news")) == []
    assert call("operating.stats").documents == 3
    assert call("operating.take_snapshot").status
    assert isinstance(call("operating.list_snapshots"), models.Snapshots)
    assert call("operating.back_up")
    assert "akin_documents" in call("operating.metrics")
    call("operating.health")
    call("operating.readiness")
    call("collections.remove_collection", "news")
    problem = importlib.import_module("akin_client.api.documents.get_document")
    problem = problem.sync("nobody", client=CLIENT)
    assert isinstance(problem, models.Problem) and problem.code == "document_not_found", problem


import_all()
for part in (add, read, look_up, discover, administrate):
    part()
assert len(called) >= OPERATIONS_MIN, sorted(called)
print(f"{len(called)} operations called with the generated client")
