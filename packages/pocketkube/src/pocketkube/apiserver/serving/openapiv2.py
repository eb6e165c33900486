"""The second version of OpenAPI, made from the third: operations are told differently, schemas of CRDs are simpler.

`openapi` calls it. kubectl needs this version only where objects do not go to a server one by one: in a `List`, and for
kinds that cannot be patched.
"""

from collections.abc import Mapping
from typing import Any

_KEPT = ("type", "format", "required", "enum", "x-kubernetes-preserve-unknown-fields")
_DEFINITION = "#/definitions/"


def item(path: Mapping[str, Any]) -> dict[str, Any]:
    """The operations at a path."""
    return {
        method: list(map(_parameter, each)) if method == "parameters" else _operation(each)
        for method, each in path.items()
    }


def without_alternatives(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the second version can say of a schema: what may be null or anything is not described at all."""
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
        return {}
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return plain
    if isinstance(properties := schema.get("properties"), dict):
        plain["properties"] = {
            name: without_alternatives(inner) for name, inner in properties.items()
        }
    for holder in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(holder), dict):
            plain[holder] = without_alternatives(inner)
    return plain


def _operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody")
    parameters = list(map(_parameter, operation.get("parameters", ())))
    plain = {
        key: value
        for key, value in operation.items()
        if key not in ("requestBody", "parameters", "responses")
    }
    if body is not None:
        schema = next(iter(body["content"].values()))["schema"]
        where = {"name": "body", "in": "body", "required": body["required"]}
        parameters = [{**where, "schema": _definition(schema)}, *parameters]
        plain["consumes"] = [*body["content"]]
    if parameters:
        plain["parameters"] = parameters
    plain["responses"] = {code: _response(each) for code, each in operation["responses"].items()}
    return plain


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in parameter.items() if key != "schema"}
    return {**plain, **parameter["schema"]}


def _response(response: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in response.items() if key != "content"}
    if "content" in response:
        plain["schema"] = _definition(response["content"]["application/json"]["schema"])
    return plain


def _definition(schema: Mapping[str, str]) -> dict[str, str]:
    return {"$ref": _DEFINITION + schema["$ref"].rpartition("/")[2]}
