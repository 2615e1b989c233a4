"""What schemathesis cannot know of akin: NDJSON, and which documents and collections exist."""

import json
import os

import requests
import schemathesis

ID = "https://example.org/a"  # The example of an id in openapi.yaml.
NDJSON = "application/x-ndjson"

# Calls, by the ends of their paths, that need a document.
NEEDY = ("similar", "resemblance", "reindex", "clusters", "stored", "passages")

# Only some collections keep their clusters or have an index of passages.
SETTINGS = {"clusters": {"threshold": 0.8}, "passages": {"words": 32}}


@schemathesis.serializer(NDJSON)
def ndjson(ctx, value):
    return value if isinstance(value, bytes) else (json.dumps(value) + "\n").encode()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """A body of NDJSON is a string in the document. A line of it is what is made up and checked."""

    def unfold(node):
        if isinstance(node, dict):
            if "schema" in (lines := node.get(NDJSON, {})):
                lines["schema"] = lines["schema"]["contentSchema"]
            for value in node.values():
                unfold(value)

    unfold(raw_schema["paths"])


@schemathesis.hook
def filter_case(context, case):
    """Of many, what violates the schema is refused in its own place of an answer with status 200."""
    is_many = case.media_type == NDJSON or isinstance(case.body, list)
    if not is_many or case.meta is None:
        return True
    body = next((part for where, part in case.meta.components.items() if where == "body"), None)
    return body is None or not body.mode.is_negative


@schemathesis.hook
def before_call(context, case, kwargs):
    """What is looked up by its example is there, whatever was removed before."""
    path = case.operation.path
    last = path.rsplit("/", 1)[-1]
    if case.method != "DELETE" and last not in NEEDY:
        return
    url, headers = os.environ["AKIN_URL"], {"Authorization": "Bearer " + os.environ["AKIN_API_KEY"]}
    collection = "default"
    if "{collection}" in path:
        collection = "news"
        news = f"{url}/collections/news"
        if last in ("stored", "passages"):
            requests.delete(news, headers=headers, timeout=10)
        requests.put(news, json=SETTINGS, headers=headers, timeout=10)
    document = f"{url}/collections/{collection}/documents/{requests.utils.quote(ID, safe='')}"
    requests.put(document, json={"text": "the quick brown fox"}, headers=headers, timeout=10)
    if last == "reindex" and case.method != "POST":
        requests.post(f"{url}{path.format(collection=collection)}", json=SETTINGS, headers=headers, timeout=10)


def operations_without_success(log, openapi):
    """The operations of the document that never had an answer of 2xx."""
    import yaml

    with open(openapi) as file:
        paths = yaml.safe_load(file)["paths"]
    methods = ("get", "put", "post", "patch", "delete")
    missing = {f"{m.upper()} {path}" for path, of in paths.items() for m in of if m in methods}
    with open(log) as file:
        for line in file:
            request = json.loads(line)
            if request.get("message") == "request" and 200 <= request["status"] < 300:
                missing.discard(f"{request['method']} {request['route']}".replace("{*", "{"))
    return sorted(missing)


if __name__ == "__main__":
    import sys

    missing = operations_without_success(*sys.argv[1:])
    if missing:
        sys.exit("never answered with 2xx: " + ", ".join(missing))
