"""What a case is made of: webhooks and their answers, policies, and steps."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import json
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that is no review."""

    status: int = 200
    body: bytes = b""


Answer = Callable[[Object], Any]
"""Takes the request of a review; gives the response without its uid, a whole review, Raw, or None to keep silent."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook."""

    answer: Answer
    mutating: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "hook.korder.dev"


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its bindings; `selected` says whether the case's label is added to what it matches."""

    spec: Mapping[str, Any]
    mutating: bool = False
    bindings: tuple[Mapping[str, Any], ...] = ({"validationActions": ["Deny"]},)


@dataclass(frozen=True, slots=True)
class Case:
    """One write."""

    name: str
    hooks: tuple[Hook, ...] = ()
    policies: tuple[Policy, ...] = ()
    object: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "ConfigMap"
    operation: str = "CREATE"
    change: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    params: tuple[Mapping[str, Any], ...] = ()
    steps: tuple["Step", ...] = ()
    """Requests in place of the write of the object; the last one counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `{ns}` in it is the namespace."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    media: str = "application/json"


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE",), **more: Any) -> Object:
    groups = ["*"] if "*" in resources else [""]
    return {
        "apiGroups": groups,
        "apiVersions": ["v1"],
        "operations": [*operations],
        "resources": [*resources],
        **more,
    }


def patch(*operations: Object) -> Object:
    encoded = b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}


def label(key: str, value: str) -> Object:
    return {"op": "add", "path": f"/metadata/labels/{key}", "value": value}


def allow(_: Object) -> Object:
    return {"allowed": True}


def answering(response: Any) -> Answer:
    return lambda _: response


def deny(message: str, **status: Any) -> Answer:
    return answering({"allowed": False, "status": {"message": message, **status}})


def hook(
    answer: Answer, *, mutating: bool = False, name: str = "hook.korder.dev", **settings: Any
) -> Hook:
    return Hook(answer, mutating, settings, name)


M = {"mutating": True}


def policy(
    *validations: Object, mutations: tuple[Object, ...] = (), bindings: Any = None, **spec: Any
) -> Policy:
    made = {
        **spec,
        **({"mutations": [*mutations]} if mutations else {"validations": [*validations]}),
    }
    default = {} if mutations else {"validationActions": ["Deny"]}
    return Policy(made, bool(mutations), tuple(bindings or (default,)))


def must(expression: str, **more: Any) -> Object:
    return {"expression": expression, **more}


def applying(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


SECRET = {"apiVersion": "v1", "kind": "Secret"}
"""A real server finds no ConfigMaps as parameters: its informer of them looks elsewhere."""
A_PARAM = {"metadata": {"name": "param", "annotations": {"limit": "3"}}}
POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
