"""Adds HTTPRoute to the schemas of kubernetes-validate: httproute.py CRD SCHEMAS

CRD is the definition of the Gateway API. An unknown member is an error, as in the strict schemas of Kubernetes. The rules in CEL
(x-kubernetes-validations) are not checked.
"""

import json
import sys

import yaml


def close(schema):
    """Refuses members that the schema does not name."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            close(value)
    elif isinstance(schema, list):
        for value in schema:
            close(value)


crd, schemas = sys.argv[1:]
with open(crd) as file:
    versions = yaml.safe_load(file)["spec"]["versions"]
(schema,) = [version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1"]
close(schema)
schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
schema["$id"] = "httproute-gateway-v1.json"  # its name for kubernetes-validate
with open(f"{schemas}/{schema['$id']}", "w") as file:
    json.dump(schema, file)
