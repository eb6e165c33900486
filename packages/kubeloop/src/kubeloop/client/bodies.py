"""Bodies of requests: what has to be added to what a caller wants to say.

`kubeloop.client.request` uses it. Callers may leave out what the address already says (kind, API version, name) and give
preconditions apart from the body; here both find their place in the dialect that is spoken.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import msgspec

from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import Body, PatchType

T = TypeVar("T", bound=HasMetadata)

_SUBRESOURCE_KINDS: Mapping[str, tuple[str, str]] = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "scale": ("autoscaling/v1", "Scale"),
    "token": ("authentication.k8s.io/v1", "TokenRequest"),
}
"""Subresources whose bodies are of another kind than their parent."""


class Preconditions(msgspec.Struct, frozen=True):
    """What must still be true of an object for a write to happen; false if nothing is asked."""

    uid: str = ""
    resource_version: str = ""

    def __bool__(self) -> bool:
        return bool(self.uid or self.resource_version)

    def fields(self) -> dict[str, JSON]:
        """Gives the metadata that the object must have."""
        said: dict[str, JSON] = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: value for name, value in said.items() if value}


ANY = Preconditions()


def plain(body: Body | JSON) -> JSON:
    """Turns structs into the JSON they stand for."""
    return cast("JSON", msgspec.to_builtins(body))


def named(body: Body | JSON, kind: Kind[T], subresource: str = "") -> dict[str, JSON]:
    """Says of an object what it is, unless it does so itself."""
    api_version, name = _SUBRESOURCE_KINDS.get(subresource, (kind.api_version, kind.kind))
    return {"apiVersion": api_version, "kind": name, **cast("dict[str, JSON]", plain(body))}


def addressed(content: Mapping[str, JSON], key: Key) -> dict[str, JSON]:
    """Says of an object which one it is, unless it does so itself."""
    address = {"name": key.name, "namespace": key.namespace}
    said = {name: value for name, value in address.items() if value}
    return {**content, "metadata": {**said, **_metadata(content)}}


def metadata(content: Mapping[str, JSON], field: str) -> str:
    """Reads a text from the metadata of an object, empty if it is not there."""
    return str(_metadata(content).get(field) or "")


def conditional(content: JSON, type: PatchType, preconditions: Preconditions) -> JSON:  # noqa: A002
    """Adds preconditions to a patch."""
    required = preconditions.fields()
    if not required:
        return content
    if type is PatchType.JSON:
        tests: list[JSON] = [
            {"op": "test", "path": f"/metadata/{name}", "value": value}
            for name, value in required.items()
        ]
        return [*tests, *cast("Sequence[JSON]", content)]
    merged = cast("Mapping[str, JSON]", content)
    return {**merged, "metadata": {**_metadata(merged), **required}}


def _metadata(content: Mapping[str, JSON]) -> dict[str, JSON]:
    found = content.get("metadata")
    return found if isinstance(found, dict) else {}
