"""Prints what in /openapi.json is no schema of JSON Schema 2020-12, and which values do not fit.

The arguments are two files: the document, and an array of {"where", "schema", "value"}.
"""

import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1]) as file:
    document = json.load(file)
with open(sys.argv[2]) as file:
    samples = json.load(file)

components = document["components"]
for name, schema in components["schemas"].items():
    for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema):
        print(f"{name}: {error.json_path}: {error.message}")
for sample in samples:
    # A $ref of OpenAPI is one within the schema.
    validator = Draft202012Validator({**sample["schema"], "components": components})
    for error in validator.iter_errors(sample["value"]):
        print(f"{sample['where']}: {error.json_path}: {error.message}: {sample['value']}")
print(f"{len(samples)} values")
