"""Objects that are replaced by others."""

from tests.tables.kinds.words import (
    BINDING,
    CM,
    EVENT,
    NEW_EVENT,
    NODE,
    NS,
    PC,
    SECRET,
    SVC,
    Object,
    event,
    meta,
    named,
    new_event,
)

UPDATES: list[tuple[str, str, Object, Object]] = [
    ("a bad label", CM, named(), meta(labels={"a b": "c"})),
    (
        "frozen data",
        CM,
        named(data={"a": "b"}, immutable=True),
        named(data={"a": "c"}, immutable=True),
    ),
    ("frozen no more", CM, named(data={"a": "b"}, immutable=True), named(data={"a": "b"})),
    ("another type of secret", SECRET, named(), named(type="example.com/own")),
    (
        "a frozen secret",
        SECRET,
        named(data={"a": "Yg=="}, immutable=True),
        named(data={"a": "Yw=="}, immutable=True),
    ),
    (
        "another pod range",
        NODE,
        named("NAME", spec={"podCIDRs": ["10.0.0.0/24"]}),
        named("NAME", spec={"podCIDRs": ["10.0.1.0/24"]}),
    ),
    (
        "another provider",
        NODE,
        named("NAME", spec={"providerID": "a"}),
        named("NAME", spec={"providerID": "b"}),
    ),
    ("another priority", PC, named("NAME", value=5), named("NAME", value=6)),
    (
        "another preemption",
        PC,
        named("NAME", value=5),
        named("NAME", value=5, preemptionPolicy="Never"),
    ),
    (
        "another role",
        BINDING,
        named(roleRef={"kind": "Role", "name": "a"}),
        named(roleRef={"kind": "Role", "name": "b"}),
    ),
    ("another reason", NEW_EVENT, new_event(), new_event(reason="Other")),
    ("another note of an event", EVENT, event(message="a"), event(message="b")),
    (
        "another namespace finalizer",
        NS,
        named("NAME"),
        named("NAME", spec={"finalizers": ["example.com/a"]}),
    ),
    (
        "another cluster address",
        SVC,
        named(spec={"clusterIP": "None"}),
        named(spec={"clusterIP": "10.96.3.3", "ports": [{"port": 80}]}),
    ),
]
