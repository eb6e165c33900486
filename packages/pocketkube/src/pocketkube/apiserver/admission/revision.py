"""What was patched becomes an object of its kind again: unknown members go, defaults come."""

from typing import Any

import msgspec

from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission import reviews
from pocketkube.apiserver.admission.attributes import Attributes


def revise(attributes: Attributes, patched: Any) -> tuple[bool, list[str]]:
    """Takes a patched object as the one to be written; says whether it differs and which members are unknown.

    Raises:
        Refused: it is no object of the kind (400).
    """
    if not isinstance(patched, dict):
        raise refusal.bad_request("the patched object is no JSON object")
    # A patch shares what it leaves alone with the object it was applied to, and reading changes in place.
    obj: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(patched))
    own, unknown = attributes.resource, []
    if reviews.is_own_kind(attributes):
        obj["apiVersion"], obj["kind"] = own.api_version, own.kind
        unknown = own.strategy.read(obj)
        if own.namespaced:
            # Whoever replaces everything may forget where it is.
            obj.setdefault("metadata", {}).setdefault("namespace", attributes.namespace)
    changed = obj != attributes.object
    if reviews.is_own_kind(attributes):
        own.strategy.default(obj)
    attributes.object = obj
    return changed, unknown
