"""A write as an AdmissionRequest: what webhooks are sent and what expressions call `request`."""

from collections.abc import Mapping
from typing import Any

from pocketkube.apiserver.access.user import user_info
from pocketkube.apiserver.admission import matching
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.kinds.resource import Resource

Object = dict[str, Any]


def request(attributes: Attributes, target: Resource) -> Object:
    """All about a write but the objects; `target` is the resource as which it was matched."""
    asked, subresource = attributes.resource, attributes.subresource
    made: Object = {
        "uid": "",
        "kind": kind(target, subresource),
        "resource": _resource(target),
        "requestKind": kind(asked, subresource),
        "requestResource": _resource(asked),
        "operation": attributes.operation.value,
        "userInfo": user_info(attributes.user),
        "object": None,
        "oldObject": None,
        "dryRun": attributes.dry_run,
        "options": attributes.options or None,
    }
    if subresource:
        made["subResource"] = made["requestSubResource"] = subresource
    if attributes.name:
        made["name"] = attributes.name
    if namespace := matching.namespace_of(attributes):
        made["namespace"] = namespace
    return made


def kind(resource: Resource, subresource: str) -> Mapping[str, str]:
    """The kind of what is sent to a resource or a part of it."""
    part = resource.subresource(subresource) if subresource else None
    if part is None:
        return {"group": resource.group, "version": resource.version, "kind": resource.kind}
    if part.version:
        return {"group": part.group, "version": part.version, "kind": part.kind}
    return {"group": resource.group, "version": resource.version, "kind": part.kind}


def is_own_kind(attributes: Attributes) -> bool:
    """Whether what is written is an object of the resource, and not a Scale, a Binding or the like."""
    own = attributes.resource
    written = kind(own, attributes.subresource)
    return written == {"group": own.group, "version": own.version, "kind": own.kind}


def as_version(obj: Object | None, attributes: Attributes, target: Resource) -> Object | None:
    """An object as it looks in the version of the target: kinds that are matched as another version differ in nothing else."""
    if obj is None or target.api_version == attributes.resource.api_version:
        return obj
    return {**obj, "apiVersion": target.api_version, "kind": target.kind}


def _resource(resource: Resource) -> Mapping[str, str]:
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
    }
