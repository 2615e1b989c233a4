#!/usr/bin/env python3
"""Writes types and methods of both clients from openapi.yaml; `--check` fails if they differ.

Needs PyYAML. Every schema becomes a type of its name, and the query parameters of every operation
become a type: those of `add_documents` are `AddDocumentsQuery`. Every operation that is answered
by JSON, or by nothing, becomes a method of its id, unless a method written by hand makes the call.
"""

import re
import sys
import textwrap
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
HEAD = "Written by clients/generate.py from openapi.yaml."
WIDTH = 100
NULL = {"type": "null"}
JSON = "application/json"
COLLECTION = "/collections/{collection}"

# Operations whose calls the methods in `_calls.py` and `index.js` make.
BY_HAND = """
    add_documents change_document collapse compare_posted compare_stored create_collection
    fetch_documents get_document list_collections list_documents passages_of_posted
    passages_of_stored put_document remove_document remove_documents remove_named_documents
    similar_to_posted similar_to_stored
""".split()
# Paths for load balancers and for browsers.
ABOUT = ("/healthz", "/readyz", "/openapi.json")


class Types:
    """The schemas of the document. `sent` has the names of the schemas that requests use."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        for name, schema in list(self.schemas.items()):
            self._name_choices(name, schema)
        self.sent = set()
        for path, item in document["paths"].items():
            for operation in item.values():
                for name in references(operation.get("requestBody", {})):
                    self._reach(name)
                if not path.startswith("/collections/{collection}/"):
                    self._add_query(operation)

    def _name_choices(self, of, schema):
        """A choice that is an object becomes a schema with its title as the name."""
        for choice in schema.get("oneOf", []):
            if "properties" in choice:
                name = choice.get("title") or sys.exit(f"a choice of {of} has no `title`")
                self.schemas[name] = dict(choice)
                choice.clear()
                choice["$ref"] = f"#/components/schemas/{name}"

    def _reach(self, name):
        if name not in self.sent:
            self.sent.add(name)
            for other in references(self.schemas[name]):
                self._reach(other)

    def _add_query(self, operation):
        """The query parameters. `id` is an argument of its own in the clients."""
        parameters = operation.get("parameters", [])
        options = {p["name"]: option(p) for p in parameters if p["in"] == "query"}
        options.pop("id", None)
        if options:
            id = operation["operationId"]
            name = query_name(id)
            self.schemas[name] = {"properties": options, "description": f"The options of `{id}`."}
            self.sent.add(name)

    def in_order(self):
        """All names, each after the names that its definition needs."""
        ordered = {}

        def add(name):
            if name not in ordered:
                schema = self.schemas[name]
                others = references(schema) if fields(schema) is None else bases(schema)
                for other in others:
                    add(other)
                ordered[name] = None

        for name in sorted(self.schemas):
            add(name)
        return ordered


class Operation:
    """An operation that becomes a method, as its path and its schemas have it."""

    def __init__(self, method, path, operation, in_collection):
        self.method, self.path, self.in_collection = method.upper(), path, in_collection
        self.name = operation["operationId"].removesuffix("_of_collection")
        self.description = f"{operation['summary']}.\n\n{operation['description']}"
        parameters = operation.get("parameters", [])
        self.arguments = re.findall(r"{(\w+)}", path)
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
        if path.startswith(COLLECTION) and path.removeprefix(COLLECTION) in paths:
            continue
        for method, operation in item.items():
            made = Operation(method, path, operation, COLLECTION + path in paths)
            is_plain = made.media in ([], [JSON])
            if is_plain and made.name not in BY_HAND and path not in ABOUT:
                yield made


def query_name(id):
    return "".join(part.capitalize() for part in id.split("_")) + "Query"


def option(parameter):
    """The clients take names with commas between as lists of names, and null as absent."""
    schema = parameter["schema"]
    pattern = r"\^\(?([a-z_|]+)\)?(\(,\(\1\)\)\*)?\$"
    names = re.fullmatch(pattern, schema.get("pattern", ""))
    if names:
        schema = {"type": "array", "items": {"enum": names[1].split("|")}}
    return {"oneOf": [schema, NULL], "description": parameter["description"]}


def references(of):
    if isinstance(of, dict) and "$ref" in of:
        yield name_of(of)
    for part in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from references(part)


def name_of(reference):
    return reference["$ref"].rsplit("/", 1)[1]


def fields(schema):
    """The properties of an object that has names for them."""
    return merged(schema)[0] if schema.keys() & {"properties", "allOf"} else None


def merged(schema):
    """The properties of an object and of its parts without names, and those it always has."""
    properties, required = {}, set()
    for part in schema.get("allOf", []):
        more, always = merged(part)
        properties.update(more)
        required.update(always)
    choices = [merged(choice) for choice in schema.get("oneOf", [])]
    for more, _ in choices:
        # A property that tells the choices apart has the values of all.
        for name in [name for name in more if "enum" in properties.get(name, ())]:
            values = [*properties[name]["enum"], *more[name]["enum"]]
            properties[name] = {**more[name], "enum": list(dict.fromkeys(values))}
        properties = {**more, **properties}
    required.update(*[set.intersection(*(always for _, always in choices))] if choices else ())
    properties.update(schema.get("properties", {}))
    return properties, required.union(schema.get("required", []))


def bases(schema):
    """The names of the parts of an object that have one."""
    return [name_of(part) for part in schema.get("allOf", []) if "$ref" in part]


def description(schema):
    choices = (schema, *schema.get("oneOf", []))
    return next((choice["description"] for choice in choices if "description" in choice), "")


class Language:
    """How a language writes types: `scalars`, `named`, `values`, `choice`, `array`, `mapping`."""

    def __init__(self, types):
        self.types = types

    def expression(self, schema, sent):
        """A type as it is used. An answer leaves a field out rather than give it as null."""
        if "$ref" in schema:
            return self.named(name_of(schema), sent)
        if "enum" in schema:
            return self.values([f'"{value}"' for value in schema["enum"]])
        kind = schema.get("type", "any")
        choices = schema.get("oneOf") or (
            isinstance(kind, list) and [{**schema, "type": one} for one in kind]
        )
        if choices:
            kept = [choice for choice in choices if sent or choice.get("type") != "null"]
            parts = [self.expression(choice, sent) for choice in kept]
            return parts[0] if len(parts) == 1 else self.choice(parts)
        if kind == "array":
            size = (
                schema.get("minItems") if schema.get("minItems") == schema.get("maxItems") else None
            )
            return self.array(self.expression(schema.get("items", {}), sent), size, sent)
        if kind == "object":
            value = self.expression(schema.get("additionalProperties") or {}, sent)
            return self.mapping(value, sent)
        return self.scalars[kind]


class Python(Language):
    path = ROOT / "clients/python/src/akin_search/types.py"
    scalars = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    scalars |= {"null": "None", "any": "Any"}

    def named(self, name, sent):
        return "Union[Time, datetime]" if name == "Time" and sent else name

    def values(self, values):
        return f"Literal[{', '.join(values)}]"

    def choice(self, parts):
        if parts[1:] == ["None"]:
            return f"Optional[{parts[0]}]"
        return f"Union[{', '.join(parts)}]"

    def array(self, item, size, sent):
        return f"{'Sequence' if size else 'typing.Collection' if sent else 'list'}[{item}]"

    def mapping(self, value, sent):
        return f"{'Mapping' if sent else 'dict'}[str, {value}]"

    def text(self):
        head = f'''"""What is sent to the server and what it answers, as plain dictionaries.

{HEAD}
Answers are passed on as they came: fields that newer servers add are kept.
"""

from __future__ import annotations

import typing
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence, Union

from typing_extensions import NotRequired, TypeAlias, TypedDict
'''
        return head + "".join(map(self.definition, self.types.in_order()))

    def definition(self, name):
        schema = self.types.schemas[name]
        sent = name in self.types.sent
        documentation = self.documentation(schema, "    ")
        if fields(schema) is None:
            alias = f"{name}: TypeAlias = {self.expression(schema, sent)}"
            if len(alias) > WIDTH:
                alias = alias.replace("[", "[\n    ").replace(", ", ",\n    ").replace("]", ",\n]")
            return f"\n\n{alias}\n{textwrap.dedent(documentation)}"
        base = ", ".join(bases(schema)) or "TypedDict"
        lines = [f"\n\nclass {name}({base}):\n", documentation and documentation + "\n"]
        for field, of in fields(schema).items():
            kind = self.expression(of, sent)
            if field not in merged(schema)[1]:
                kind = f"NotRequired[{kind}]"
                if len(f"    {field}: {kind}") > WIDTH:
                    kind = f"NotRequired[\n        {kind[12:-1]}\n    ]"
            lines += [f"    {field}: {kind}\n", self.documentation(of, "    ")]
        return "".join(lines)

    def documentation(self, schema, indent):
        lines = wrapped(description(schema).replace("\\", "\\\\"), WIDTH - len(indent) - 6)
        if not lines:
            return ""
        end = "\n" if len(lines) > 1 else ""
        return textwrap.indent('"""' + "\n".join(lines) + end + '"""\n', indent)


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


class TypeScript(Language):
    path = ROOT / "clients/js/src/types.d.ts"
    scalars = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
    scalars |= {"null": "null", "any": "any"}

    def named(self, name, sent):
        return "Time | Date" if name == "Time" and sent else name

    def values(self, values):
        return " | ".join(values)

    choice = values

    def array(self, item, size, sent):
        if size:
            return f"[{', '.join([item] * size)}]"
        return f"({item})[]" if " " in item else f"{item}[]"

    def mapping(self, value, sent):
        return f"Record<string, {value}>"

    def text(self):
        return f"// {HEAD}\n" + "".join(map(self.definition, sorted(self.types.schemas)))

    def definition(self, name):
        schema = self.types.schemas[name]
        sent = name in self.types.sent
        head = "\n" + self.documentation(schema, "")
        if fields(schema) is None:
            alias = f"export type {name} = {self.expression(schema, sent)};\n"
            return head + (alias if len(alias) <= WIDTH else re.sub(" [=|] ", r"\n \g<0>", alias))
        base = f" extends {', '.join(bases(schema))}" if bases(schema) else ""
        lines = [f"{head}export interface {name}{base} {{\n"]
        for field, of in fields(schema).items():
            mark = "" if field in merged(schema)[1] else "?"
            if name.endswith("Query"):
                field = camel_case(field)
            kind = self.expression(of, sent)
            lines += [self.documentation(of, "  "), f"  {field}{mark}: {kind};\n"]
        return "".join(lines) + "}\n"

    def documentation(self, schema, indent):
        lines = wrapped(description(schema).replace("*/", "* /"), WIDTH - len(indent) - 7)
        if len(lines) < 2:
            return f"{indent}/** {lines[0]} */\n" if lines else ""
        body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
        return f"{indent}/**\n{body}{indent} */\n"


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


def camel_case(name):
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def wrapped(text, width):
    """Lines of a text. Tables and lists keep theirs."""
    lines = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith(("|", "-")):
            lines += [*paragraph.split("\n"), ""]
        else:
            lines += [*textwrap.wrap(paragraph, width, break_on_hyphens=False), ""]
    return lines[:-1] if text.strip() else []


def main():
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load((ROOT / "openapi.yaml").read_text(), loader)
    types = Types(document)
    made = list(operations(document))
    methods = (PythonMethods(types), JavaScriptMethods(types))
    texts = [(language.path, language.text()) for language in (Python(types), TypeScript(types))]
    texts += [(language.path, language.text(made)) for language in methods]
    for path, text in texts:
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not of this openapi.yaml: run python3 clients/generate.py")


if __name__ == "__main__":
    main()
