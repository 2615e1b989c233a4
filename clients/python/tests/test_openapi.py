"""The methods beside the operations of openapi.yaml, as the server has it."""

import inspect
import json
import re
from typing import Any, Callable, Dict, List, Set
from urllib.parse import parse_qs, urlsplit

import pytest
from server import Script, Server, lines

import akin_search
from akin_search._operations import Operations

Call = Callable[..., Any]

CALLS: Dict[str, Call] = {
    "add_documents": lambda client, id, **query: client.insert(id, "b", **query),
    "remove_documents": lambda client, **query: client.remove_where(**query),
    "remove_named_documents": lambda client: client.remove_many(["a"]),
    "get_document": lambda client, **query: client.get("a", **query),
    "remove_document": lambda client: client.remove("a"),
    "change_document": lambda client: client.change("a", metadata={}, expires_at=None),
    "fetch_documents": lambda client, **query: client.get_many(["a"], **query),
    "export_documents": lambda client, **query: list(client.export(**query)),
    "similar_to_posted": lambda client, **query: client.query("a", **query),
    "passages_of_posted": lambda client, **query: client.passages("a", **query),
    "compare_posted": lambda client, **query: client.compare("a", "b", **query),
    "pairs": lambda client, **query: list(client.pairs(**query)),
    "collapse": lambda client, **query: client.collapse(["a"], **query),
    "list_collections": lambda client: client.collections(),
    "create_collection": lambda client: client.create_collection("a", {}),
    "changes": lambda client, **query: client.changes(**query),
    "clusters": lambda client, id, **query: client.cluster_of(id, **query),
    "list_documents": lambda client, count, limit, **query: (
        client.count(),
        list(client.ids(page=limit, **query)),
    ),
}

WITHOUT_METHOD = {
    "put_document": "insert does it",
    "similar_to_stored": "query does it",
    "passages_of_stored": "passages does it",
    "compare_stored": "compare does it",
    "back_up": "a file: the command akin backup",
    "openapi": "a file",
    "openapi_json": "request",
    "health": "the command akin health",
    "readiness": "of load balancers",
    "metrics": "of Prometheus",
}

# What any of the methods reads of an answer.
ANSWER = {"collections": [], "count": 0, "ids": [], "position": "1"}


@pytest.fixture(scope="module")
def document(server: Server) -> Any:
    with akin_search.Client(server.url) as client:
        return client.request("GET", "/openapi.json")


def operations(document: Any) -> Dict[str, Any]:
    """By their ids, with method and path."""
    found = {
        operation["operationId"]: {**operation, "method": method.upper(), "path": path}
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    return {
        id: found[id] for id in found if id.replace("_of_collection", "") not in found.keys() - {id}
    }


def test_every_operation_has_a_method_or_a_reason(document: Any) -> None:
    found = operations(document)
    assert {*CALLS, *WITHOUT_METHOD} <= found.keys()
    for name in found.keys() - {*CALLS, *WITHOUT_METHOD}:
        assert hasattr(Operations, method_of(name)), name


def method_of(name: str) -> str:
    """The method that generate.py writes for an operation."""
    return name.replace("_of_collection", "")


def call_of(name: str, operation: Any) -> Call:
    """The path of an operation without a call by hand has one argument at most."""
    path = ["a"] * ("{" in operation["path"])
    body: List[Dict[str, Any]] = [{}] * ("requestBody" in operation)
    method = method_of(name)
    return lambda client, **query: getattr(client, method)(*path, *body, **query)


def test_every_parameter_is_sent(document: Any) -> None:
    for name, operation in operations(document).items():
        if name not in WITHOUT_METHOD:
            sends_every_parameter(document, operation, CALLS.get(name) or call_of(name, operation))


def sends_every_parameter(document: Any, operation: Any, call: Call) -> None:
    parameters = [p for p in operation.get("parameters", []) if p["in"] == "query"]
    query = {p["name"]: example(document, p["schema"]) for p in parameters}
    answer = lines(ANSWER)
    with Script((200, {}, answer), (200, {}, answer)) as script:
        with akin_search.Client(script.url) as client:
            call(client, **query)
        sent: Set[str] = set()
        for method, url, body, _ in script.requests:
            path = re.sub("{[a-z]+}", "a", operation["path"])
            assert (method, urlsplit(url).path) == (operation["method"], path)
            sent |= parse_qs(urlsplit(url).query).keys()
            sent |= json.loads(body).keys() if body else set()
    assert query.keys() - sent == set(), operation["operationId"]


@pytest.mark.parametrize(
    "method, body",
    [
        ("insert", "Document"),
        ("query", "LookupProbe"),
        ("passages", "PassageProbeBody"),
        ("get_many", "Wanted"),
        ("change", "DocumentChange"),
        ("compare", "Pair"),
        ("collapse", "Ranked"),
    ],
)
def test_every_field_of_a_body_is_a_parameter(document: Any, method: str, body: str) -> None:
    fields = document["components"]["schemas"][body]["properties"]
    # The fields without a type have no effect: a stored document may be sent as a probe.
    wanted = {name for name, schema in fields.items() if schema.keys() - {"description"}}
    assert wanted <= inspect.signature(getattr(akin_search.Client, method)).parameters.keys()


def example(document: Any, schema: Any) -> Any:
    """A value that the schema of a parameter allows."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if "oneOf" in schema:
        return example(document, schema["oneOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    listed = re.match(r"\^\(?([a-z]+)", schema.get("pattern", ""))
    if listed:
        return [listed[1]]
    return {"boolean": True, "integer": 1, "number": 0.5, "string": "a"}[schema["type"]]
