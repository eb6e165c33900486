"""From the description of a kind to its CustomResourceDefinition.

The modules of our kinds describe each kind once with a `Definition`; `manifests` turns all of them into what
`korder install` applies and `make manifests` writes. The result must be legal for Kubernetes 1.28, the oldest server we
promise to work with, so no CEL function is used that came later.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import AnyKind
from kubeloop.schema import structural
from kubeloop.schema.schema_types import STAND_INS

CATEGORY = "korder"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; a wide one shows only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class Scale:
    """Where `kubectl scale` and autoscalers read and write."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind as people meet it."""

    kind: AnyKind
    short_names: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None


def build(definition: Definition) -> dict[str, JSON]:
    """Writes the CustomResourceDefinition of a kind."""
    kind = definition.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/part-of": "korder"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": list(definition.short_names),
                "categories": [CATEGORY],
            },
            "versions": [_version(definition)],
        },
    }


def _version(definition: Definition) -> dict[str, JSON]:
    version: dict[str, JSON] = {
        "name": definition.kind.version,
        "served": True,
        "storage": True,
        "subresources": _subresources(definition.scale),
        "schema": {"openAPIV3Schema": _root(definition.kind.model)},
    }
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    return version


def _root(model: type) -> dict[str, JSON]:
    """Leaves metadata to the API server, which has its own rules for it."""
    described = structural.render(structural.describe(model, STAND_INS))
    properties = described["properties"]
    assert isinstance(properties, dict)  # noqa: S101 every kind has fields
    own: Mapping[str, JSON] = {
        "apiVersion": {"type": "string", "description": "The group and version of the kind."},
        "kind": {"type": "string", "description": "The kind of the object."},
        "metadata": {"type": "object"},
    }
    return {**described, "properties": {**properties, **own}}


def _subresources(scale: Scale | None) -> dict[str, JSON]:
    if scale is None:
        return {"status": {}}
    paths: dict[str, JSON] = {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
        "labelSelectorPath": scale.label_selector,
    }
    return {"status": {}, "scale": paths}


def _column(column: Column) -> dict[str, JSON]:
    rendered: dict[str, JSON] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
    }
    return {**rendered, "priority": 1} if column.wide else rendered
