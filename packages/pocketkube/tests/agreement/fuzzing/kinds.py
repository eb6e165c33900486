"""The kinds that sequences are about: where they are, and what bodies they get."""

from collections.abc import Callable
from dataclasses import dataclass
import random
from typing import Any

from tests.agreement.fuzzing.pods import pod, pod_edits, pod_status
from tests.agreement.fuzzing.values import KEYS, VALUES, labels, metadata, some, sometimes
from tests.agreement.fuzzing.widgets import API_VERSION, widget, widget_edits, widget_status

Object = dict[str, Any]
Edits = tuple[tuple[tuple[str | int, ...], Any], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind.

    Attributes:
        resource: Its name in paths.
        kind: Its name in bodies.
        api_version: Group and version.
        collection: The path of its objects.
        names: The names its objects get; few, so that they meet again.
        body: Makes bodies.
        edits: Makes changes of stored objects.
        status: Makes what is written to its status; nothing for a kind without one.
        selector: What chooses the objects of this sequence among those of all, for kinds outside of namespaces.
        fields: Field selectors.
    """

    resource: str
    kind: str
    api_version: str
    collection: str
    names: tuple[str, ...]
    body: Callable[[random.Random, str], Object]
    edits: Callable[[random.Random], Edits]
    status: Callable[[random.Random], Object] | None = None
    selector: str = ""
    fields: tuple[str, ...] = ()

    def path(self, name: str, *rest: str) -> str:
        return "/".join((self.collection, name, *rest))

    def whole(self, rng: random.Random, name: str) -> Object:
        """A complete body."""
        head = {"apiVersion": self.api_version, "kind": self.kind}
        return {**head, **self.body(rng, name)}


def config_map(rng: random.Random, name: str) -> Object:
    made: Object = {"metadata": metadata(rng, name)}
    if sometimes(rng, 0.8):
        made["data"] = {key: rng.choice(("", "1", "x\ny", "z" * 50)) for key in some(rng, "abcd")}
    if sometimes(rng, 0.2):
        made["binaryData"] = {key: rng.choice(("eA==", "", "eHl6")) for key in some(rng, "cdef", 2)}
    if sometimes(rng, 0.15):
        made["immutable"] = rng.choice((True, True, False, None))
    if sometimes(rng, 0.1):
        made |= rng.choice(
            (
                {"data": {"bad key": "x"}},
                {"data": {"..": "x"}},
                {"data": {"a": 1}},
                {"data": {"a": None}},
                {"data": None},
                {"binaryData": {"a": "not base64!"}},
                {"data": {"a": "x"}, "binaryData": {"a": "eA=="}},
                {"unknown": {"a": 1}},
            )
        )
    return made


def config_map_edits(rng: random.Random) -> Edits:
    return (
        rng.choice(
            (
                (("data", rng.choice("abcd")), rng.choice(("1", "2", "", None, 5))),
                (("data",), rng.choice((None, {}, {"a": "3"}, "<drop>"))),
                (("binaryData", "e"), rng.choice(("eA==", "!", None))),
                (("immutable",), rng.choice((True, False, None, "yes"))),
            )
        ),
    )


def lease(rng: random.Random, name: str) -> Object:
    spec: Object = {}
    for key, values in _LEASE.items():
        if sometimes(rng, 0.5):
            spec[key] = rng.choice(values)
    if sometimes(rng, 0.1):
        spec |= rng.choice(({"strategy": "OldestEmulationVersion"}, {"preferredHolder": "b"}))
    made: Object = {"metadata": metadata(rng, name)}
    return made | ({"spec": spec} if sometimes(rng, 0.9) else {})


_LEASE: dict[str, tuple[Any, ...]] = {
    "holderIdentity": ("a", "b", "", None),
    "leaseDurationSeconds": (15, 1, 15, 0, -1, "15", 1.5),
    "leaseTransitions": (0, 1, 5, -1),
    "acquireTime": ("2024-05-01T10:00:00.000000Z", "2024-05-01T10:00:00.123456Z", None),
    "renewTime": (
        "2024-05-01T10:00:00.5Z",
        "2024-05-01T10:00:00Z",
        "2024-05-01T10:00:00.123456+02:00",
    ),
}


def lease_edits(rng: random.Random) -> Edits:
    key = rng.choice(sorted(_LEASE))
    return ((("spec", key), rng.choice(_LEASE[key])),)


def namespace(rng: random.Random, name: str) -> Object:
    meta = metadata(rng, name)
    if isinstance(meta.setdefault("labels", {}), dict) and sometimes(rng, 0.95):
        meta["labels"]["part-of"] = "{home}"
    made: Object = {"metadata": meta}
    if sometimes(rng, 0.2):
        made["spec"] = rng.choice(_NAMESPACE_SPECS)
    return made


_NAMESPACE_SPECS: tuple[Object, ...] = (
    {},
    {"finalizers": []},
    {"finalizers": ["kubernetes"]},
    {"finalizers": ["example.com/x"]},
    {"finalizers": ["kubernetes", "example.com/x"]},
    {"finalizers": ["nogroup"]},
    {"finalizers": None},
)


def namespace_edits(rng: random.Random) -> Edits:
    return (
        rng.choice(
            (
                (("spec", "finalizers"), rng.choice(([], ["kubernetes"], ["example.com/x"]))),
                (("metadata", "labels", rng.choice(KEYS)), rng.choice(VALUES)),
                (
                    ("metadata", "labels", "kubernetes.io/metadata.name"),
                    rng.choice(("<drop>", "x")),
                ),
                (("status", "phase"), "Terminating"),
            )
        ),
    )


def namespace_status(rng: random.Random) -> Object:
    return rng.choice(
        (
            {"phase": "Active"},
            {"phase": "Terminating"},
            {},
            {"phase": "Odd"},
            {"conditions": [{"type": "X", "status": "True"}]},
            {"conditions": [{"type": "X"}]},
        )
    )


_IN_HOME = "/api/v1/namespaces/{home}"
KINDS = (
    Kind(
        "configmaps",
        "ConfigMap",
        "v1",
        f"{_IN_HOME}/configmaps",
        ("a", "b", "c"),
        config_map,
        config_map_edits,
        fields=("metadata.name=a", "metadata.name!=a", "metadata.namespace={home}", "data.a=1"),
    ),
    Kind(
        "pods",
        "Pod",
        "v1",
        f"{_IN_HOME}/pods",
        ("a", "b"),
        pod,
        pod_edits,
        pod_status,
        fields=(
            "spec.nodeName=",
            "status.phase=Pending",
            "metadata.name!=b",
            "spec.nodeName=node-1",
        ),
    ),
    Kind(
        "namespaces",
        "Namespace",
        "v1",
        "/api/v1/namespaces",
        ("{home}-a", "{home}-b"),
        namespace,
        namespace_edits,
        namespace_status,
        selector="part-of={home}",
        fields=("status.phase=Active", "metadata.name={home}-a"),
    ),
    Kind(
        "leases",
        "Lease",
        "coordination.k8s.io/v1",
        "/apis/coordination.k8s.io/v1/namespaces/{home}/leases",
        ("a", "b"),
        lease,
        lease_edits,
        fields=("metadata.name=a", "spec.holderIdentity=a"),
    ),
    Kind(
        "widgets",
        "Widget",
        API_VERSION,
        f"/apis/{API_VERSION}/namespaces/{{home}}/widgets",
        ("a", "b"),
        widget,
        widget_edits,
        widget_status,
        fields=("metadata.name=a", "spec.size=1", "spec.mode=fast"),
    ),
)


def a_change(rng: random.Random, kind: Kind) -> Edits:
    """Edits of the kind's own fields or of metadata."""
    if sometimes(rng, 0.6):
        return kind.edits(rng)
    meta: tuple[tuple[tuple[str | int, ...], Any], ...] = (
        (("metadata", "labels", rng.choice(KEYS)), rng.choice((*VALUES, "<drop>", "bad value"))),
        (("metadata", "labels"), rng.choice((labels(rng), None, {}))),
        (("metadata", "annotations", rng.choice(KEYS)), rng.choice(("x", "y", "<drop>"))),
        (
            ("metadata", "finalizers"),
            rng.choice(([], ["example.com/a"], ["example.com/b"], None, "<drop>")),
        ),
        (("metadata", "resourceVersion"), rng.choice(("<drop>", "", "1", None))),
        (("metadata", "uid"), rng.choice(("<drop>", "x", "00000000-0000-4000-8000-000000000001"))),
        (("metadata", "managedFields"), rng.choice(([], [{}], None, "<drop>"))),
        (("metadata", "creationTimestamp"), rng.choice((None, "<drop>", "2024-01-01T00:00:00Z"))),
        (("metadata", "deletionTimestamp"), rng.choice((None, "2024-01-01T00:00:00Z"))),
        (("metadata", "generation"), rng.choice((0, 9, "<drop>"))),
        (("metadata", "name"), rng.choice(("z", "<drop>"))),
        (("metadata", "namespace"), rng.choice(("<drop>", "elsewhere"))),
        (("metadata", "ownerReferences"), rng.choice(([], None, [{"kind": "ConfigMap"}]))),
        (("kind",), rng.choice(("<drop>", "Other", ""))),
        (("apiVersion",), rng.choice(("<drop>", "v2", ""))),
    )
    return (rng.choice(meta),)
