#!/usr/bin/env python3
"""Writes types and methods of both clients from openapi.yaml; `--check` fails if they differ.

Needs PyYAML. Every schema becomes a type of its name, and the query parameters of every operation
become a type: those of `add_documents` are `AddDocumentsQuery`. Every operation that is answered
by JSON, or by nothing, becomes a method of its id, unless a method written by hand makes the call.
"""

import sys

import yaml
from generate_methods import JavaScriptMethods, PythonMethods, operations
from generate_types import ROOT, Python, Types, TypeScript


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
