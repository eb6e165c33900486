"""The objects a binding hands to its policy as `params`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pocketkube.apiserver.admission import matching
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.view import View

Object = dict[str, Any]
FindKind = Callable[[str, str], Resource | None]
"""Finds the resource of an apiVersion and kind."""


class Misconfigured(Exception):
    """A policy or binding cannot be used as it is; the message is the server's."""


def resource(kind: Mapping[str, str], find_kind: FindKind) -> Resource:
    """The resource that parameters are of.

    Raises:
        Misconfigured: there is none.
    """
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    found = find_kind(version, name)
    if found is None:
        group_version = version if "/" in version else f"/{version}"
        what = f"{group_version}, Kind={name}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{what}'")
    return found


def collect(
    view: View, found: Resource | None, reference: Mapping[str, Any] | None, namespace: str
) -> Sequence[Object | None]:
    """The parameters for one write, one evaluation for each; one of None if there are none to be had.

    Raises:
        Misconfigured: the reference is wrong, or nothing is found and that is to deny.
    """
    if found is None or reference is None:
        return (None,)
    home = _namespace(found, reference, namespace)
    if name := reference.get("name"):
        param = view.get(found.stored, home, name)
        params = [] if param is None else [param]
    else:
        chosen = reference.get("selector")
        params = [each for each in view.all(found.stored, home) if matching.selects(chosen, each)]
    if not params and reference.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return [{**each, "apiVersion": found.api_version, "kind": found.kind} for each in params]


def _namespace(found: Resource, reference: Mapping[str, Any], namespace: str) -> str:
    given = str(reference.get("namespace") or "")
    if not found.namespaced:
        if given:
            raise Misconfigured(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    if not given and not namespace:
        raise Misconfigured(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return given or namespace
