"""Where objects are written: a kind or one of its subresources, with what merging has to know about it.

The server asks for the endpoint of a request once and hands it to `apply`; for a strategic merge patch it needs only the
structure. A write does not own what it cannot change: the main endpoint passes over `status`, the status over `spec`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import builtin as table, fieldsets, typed
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet
from pocketkube.apiserver.managed_fields.structure import Node, of_schema
from pocketkube.apiserver.managed_fields.typed import Shape

STATUS = "status"

_Paths = tuple[tuple[str, ...], ...]

_NOT_BY_STATUS: Mapping[str, _Paths] = {
    "Pod": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    "Deployment": (("spec",), ("metadata", "labels")),
    **dict.fromkeys(
        (
            "CustomResourceDefinition",
            "FlowSchema",
            "PriorityLevelConfiguration",
            "ResourceClaim",
            "ServiceCIDR",
            "ValidatingAdmissionPolicy",
            "VolumeAttachment",
        ),
        (("spec",), ("metadata",)),
    ),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where objects of a kind are written.

    Attributes:
        api_version: Group and version, as in the objects.
        kind: The kind of the objects.
        structure: What they are made of.
        shape: What types their members have.
        subresource: Which part is written here, "" for the main one.
        reset: What a write here does not change, hence does not own.
        empty: An object nobody has filled in: what is in it is never added, only changed.
        custom: Whether the kind is that of a CRD. An empty list in the metadata of its objects is none.
    """

    api_version: str
    kind: str
    structure: Node
    shape: Shape
    subresource: str = ""
    reset: FieldSet = fieldsets.EMPTY
    empty: Mapping[str, JSON] = field(default_factory=dict)
    custom: bool = False


def builtin(api_version: str, kind: str, subresource: str = "") -> Endpoint:
    """Finds the endpoint of a kind of Kubernetes."""
    unchanged: _Paths = (("status",),)
    if subresource == STATUS:
        unchanged = _NOT_BY_STATUS.get(kind, (("spec",),))
    return Endpoint(
        api_version,
        kind,
        table.find(api_version, kind),
        typed.of_kind(api_version, kind),
        subresource,
        _fields(unchanged),
        table.empty(api_version, kind),
    )


def custom(
    api_version: str,
    kind: str,
    schema: Mapping[str, JSON],
    subresource: str = "",
    *,
    has_status: bool,
) -> Endpoint:
    """Makes the endpoint of a kind from the schema of its version; `has_status` says whether it has that subresource."""
    unchanged: _Paths = (("status",),) if has_status else ()
    if subresource == STATUS:
        unchanged = (("spec",), ("metadata",))
    return Endpoint(
        api_version,
        kind,
        of_schema(schema),
        typed.of_schema(schema),
        subresource,
        _fields(unchanged),
        {"apiVersion": api_version, "kind": kind},
        custom=True,
    )


def _fields(paths: _Paths) -> FieldSet:
    return fieldsets.of_paths(tuple(map(fieldsets.member, path)) for path in paths)
