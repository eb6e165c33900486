"""What was patched becomes an object of its kind again: unknown members go, defaults come."""

from typing import Any

import msgspec

from korder.embedded.apiserver import refusal
from korder.embedded.apiserver.admission import reviews
from korder.embedded.apiserver.admission.attributes import Attributes
from korder.embedded.apiserver.refusal import Refused


def revise(attributes: Attributes, patched: Any) -> bool:
    """Takes a patched object as the one to be written; says whether it differs from what was there.

    Raises:
        Refused: it is no object of the kind (500, as a server says it).
    """
    before = attributes.object
    if not isinstance(patched, dict):
        raise refusal.internal("the patched object is no JSON object")
    # A patch shares what it leaves alone with the object it was applied to, and reading changes in place.
    obj: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(patched))
    own = attributes.resource
    if reviews.is_own_kind(attributes):
        obj["apiVersion"], obj["kind"] = own.api_version, own.kind
        try:
            own.strategy.read(obj)
        except Refused as problem:
            raise refusal.internal(problem.status.message) from None
    changed = obj != before
    if reviews.is_own_kind(attributes):
        own.strategy.default(obj)
    attributes.object = obj
    return changed
