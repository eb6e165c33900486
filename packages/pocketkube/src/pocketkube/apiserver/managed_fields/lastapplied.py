"""kubectl's memory of what it applied before servers kept it: the last-applied annotation.

`apply` asks here, for the manager "kubectl" only. Whoever moves from client-side to server-side apply must not meet
conflicts with himself: a field that still has the value of the annotation is his.
"""

from collections.abc import Mapping
import json

from kubeloop.objects.meta import JSON
from pocketkube.apiserver import gotext
from pocketkube.apiserver.managed_fields import fieldsets, listitems, merging
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet
from pocketkube.apiserver.managed_fields.structure import Node

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def still_true(node: Node, api_version: str, live: Mapping[str, JSON]) -> FieldSet:
    """Finds the fields that have the values kubectl remembers."""
    try:
        remembered: JSON = json.loads(_annotation(live))
    except ValueError:
        return fieldsets.EMPTY
    if not isinstance(remembered, dict) or remembered.get("apiVersion") != api_version:
        return fieldsets.EMPTY
    try:
        difference = merging.compare(node, remembered, live)
        fields = merging.fields_of(node, remembered)
    except listitems.Unmergeable:
        return fieldsets.EMPTY
    return fields - difference.changed - difference.removed


def renewed(obj: dict[str, JSON], applied: dict[str, JSON]) -> dict[str, JSON]:
    """Lets an object that has the annotation remember what was applied now."""
    if not _annotation(obj):
        return obj
    text = gotext.encoded(_forgetting(applied)) + "\n"
    metadata = _object(obj.get("metadata"))
    annotations = {**_object(metadata.get("annotations")), ANNOTATION: text}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def _forgetting(applied: dict[str, JSON]) -> dict[str, JSON]:
    metadata = _object(applied.get("metadata"))
    if "annotations" not in metadata:
        return applied
    annotations = {
        key: value for key, value in _object(metadata["annotations"]).items() if key != ANNOTATION
    }
    return {**applied, "metadata": {**metadata, "annotations": annotations}}


def _annotation(obj: Mapping[str, JSON]) -> str:
    text = _object(_object(obj.get("metadata")).get("annotations")).get(ANNOTATION)
    return text if isinstance(text, str) else ""


def _object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}
