"""The methods of both clients: calls of operations in openapi.yaml, in Python and JavaScript."""

import re

from generate_types import (
    COLLECTION,
    HEAD,
    ROOT,
    WIDTH,
    Python,
    TypeScript,
    camel_case,
    is_repeated,
    query_name,
    wrapped,
)

JSON = "application/json"

# Operations whose calls the methods in `_calls.py` and `index.js` make.
BY_HAND = """
    add_documents change_document collapse compare_posted compare_stored create_collection
    fetch_documents get_document list_collections list_documents passages_of_posted
    passages_of_stored put_document remove_document remove_documents remove_named_documents
    similar_to_posted similar_to_stored
""".split()
# Paths for load balancers and for browsers.
ABOUT = ("/healthz", "/readyz", "/openapi.json")


class Operation:
    """An operation that becomes a method, as its path and its schemas have it."""

    def __init__(self, method, path, operation, in_collection):
        self.method, self.in_collection = method.upper(), in_collection
        # As the methods written by hand call it.
        self.path = path.replace("{collection}", "{name}")
        self.name = operation["operationId"].removesuffix("_of_collection")
        self.description = f"{operation['summary']}.\n\n{operation['description']}"
        parameters = operation.get("parameters", [])
        self.arguments = re.findall(r"{(\w+)}", self.path)
        has_query = any(parameter["in"] == "query" for parameter in parameters)
        self.query = query_name(operation["operationId"]) if has_query else None
        content = operation.get("requestBody", {}).get("content", {}).values()
        self.body = next(iter(content))["schema"] if content else None
        (answer, *_) = (answer for status, answer in operation["responses"].items() if status < "3")
        self.media = list(answer.get("content", {}))
        self.answer = answer["content"][JSON]["schema"] if self.media == [JSON] else None


def operations(document):
    """The operations that become methods, each once, without the name of a collection."""
    paths = document["paths"]
    for path, item in paths.items():
        if is_repeated(path, paths):
            continue
        for method, operation in item.items():
            made = Operation(method, path, operation, COLLECTION + path in paths)
            is_plain = made.media in ([], [JSON])
            if is_plain and made.name not in BY_HAND and path not in ABOUT:
                yield made


class PythonMethods(Python):
    path = ROOT / "clients/python/src/akin_search/_operations.py"

    def named(self, name, sent):
        return f"types.{name}"

    def text(self, operations):
        table = "".join(f"    {made.name} = Method(_{made.name})\n" for made in operations)
        return f'''"""The methods of the operations that have none in `_calls`.

{HEAD}
"""

from __future__ import annotations

import json
from urllib.parse import quote

from typing_extensions import Unpack

from . import types
from ._exchange import Call, Request, encode, params
from ._method import Method
{"".join(map(self.definition, operations))}

class Operations:
    """The table of these methods, for both clients."""

{table}'''

    def definition(self, made):
        arguments = [f"{name}: str" for name in made.arguments]
        path = re.sub(r"{(\w+)}", r"{quote(\1, safe='')}", made.path)
        given = [f'"{made.method}"', "path"]
        if made.query:
            given.append("params(**options)")
        if made.body:
            arguments.append(f"body: {self.expression(made.body, True)}")
            given.append("body=encode(body)")
        if made.query:
            arguments.append(f"**options: Unpack[types.{made.query}]")
        if not made.in_collection:
            given.append("in_collection=False")
        answer = self.expression(made.answer, False) if made.answer else "None"
        head = f"def _{made.name}({', '.join(arguments)}) -> Call[{answer}]:"
        parse = "json.loads" if made.answer else "lambda _: None"
        call = (
            f'    path = {"f" if made.arguments else ""}"{path}"\n'
            f"    return Call(Request({', '.join(given)}), {parse})\n"
        )
        documentation = self.documentation({"description": made.description}, "    ")
        return f"\n\n{head}\n{documentation}{call}"


class JavaScriptMethods(TypeScript):
    path = ROOT / "clients/js/src/operations.js"

    def named(self, name, sent):
        return f"T.{name}"

    def text(self, operations):
        return f"""// The methods of the operations that have none in index.js.
// {HEAD}

/** @import * as T from "./types.js" */
/** @import {{ CallOptions, RequestOptions }} from "./index.js" */

export class Operations {{
  /**
   * Calls the server, below the path of the collection if `inCollection`.
   * @protected
   * @param {{string}} method
   * @param {{string}} path
   * @param {{RequestOptions}} options
   * @param {{boolean}} inCollection
   * @returns {{Promise<any>}}
   */
  operate(method, path, options, inCollection) {{
    throw new TypeError(`${{method}} ${{path}} is called by a client`);
  }}
{"".join(map(self.definition, operations))}}}
"""

    def definition(self, made):
        names = [camel_case(name) for name in made.arguments]
        kinds = [f"@param {{string}} {name}" for name in names]
        path = re.sub(r"{(\w+)}", r"${encodeURIComponent(\1)}", made.path)
        sent = [*(["query"] if made.query else []), *(["body"] if made.body else []), "signal"]
        if made.body:
            names.append("body")
            kinds.append(f"@param {{{self.expression(made.body, True)}}} body")
        options = f"T.{made.query} & CallOptions" if made.query else "CallOptions"
        answer = self.expression(made.answer, False) if made.answer else "void"
        kinds += [f"@param {{{options}}} [options]", f"@returns {{Promise<{answer}>}}"]
        names.append("{ signal, ...query } = {}" if made.query else "{ signal } = {}")
        lines = [*wrapped(made.description, WIDTH - 5), *kinds]
        documentation = "".join(f"   * {line}".rstrip() + "\n" for line in lines)
        in_collection = "true" if made.in_collection else "false"
        arguments = f'"{made.method}", path, {{ {", ".join(sent)} }}, {in_collection}'
        quote = "`" if made.arguments else '"'
        return f"""
  /**
{documentation}   */
  {camel_case(made.name)}({", ".join(names)}) {{
    const path = {quote}{path}{quote};
    return this.operate({arguments});
  }}
"""
