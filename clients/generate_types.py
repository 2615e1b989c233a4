"""The types of both clients: the schemas of openapi.yaml in Python and in TypeScript."""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = "Written by clients/generate.py from openapi.yaml."
WIDTH = 100
NULL = {"type": "null"}
COLLECTION = "/collections/{collection}"


class Types:
    """The schemas of the document. `sent` has the names of the schemas that requests use."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        for name, schema in list(self.schemas.items()):
            self._join_kinds(name, schema)
            self._name_choices(name, schema)
        self.sent = set()
        for path, item in document["paths"].items():
            for operation in item.values():
                for name in references(operation.get("requestBody", {})):
                    self._reach(name)
                if not is_repeated(path, document["paths"]):
                    self._add_query(operation)

    def _join_kinds(self, of, schema):
        """The kinds of an object, whose names begin with its own, become one type.

        So a program reads a field without asking for the kind first. Fields that some kinds lack
        are optional.
        """
        kinds = [name_of(choice) for choice in schema.get("oneOf", []) if "$ref" in choice]
        if kinds and all(name.startswith(of) for name in kinds):
            del schema["oneOf"]
            schema["allOf"] = [{"oneOf": [self.schemas.pop(name) for name in kinds]}]

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


def is_repeated(path, paths):
    """Whether the path exists without the name of a collection, too."""
    return path.startswith(COLLECTION) and path.removeprefix(COLLECTION) in paths


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
