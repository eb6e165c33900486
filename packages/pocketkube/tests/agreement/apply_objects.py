"""Random objects, configurations and patches for the test of agreement on patches and ownership.

Loaded by path. The choices are few and the values fewer, so that writers meet on the same fields all the time.
"""

from collections.abc import Callable
import random
from typing import Any

Object = dict[str, Any]
Rng = random.Random

TEXT = {"type": "string"}
NAMED = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "value": TEXT}}
PORT = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer"},
        "protocol": {**TEXT, "default": "TCP"},
        "note": TEXT,
    },
}
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "mode": TEXT,
                "items": {
                    "type": "array",
                    "items": NAMED,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "ports": {
                    "type": "array",
                    "items": PORT,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                },
                "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "words": {"type": "array", "items": TEXT},
                "map": {"type": "object", "additionalProperties": TEXT},
                "maps": {"type": "object", "additionalProperties": NAMED},
                "fixed": {
                    "type": "object",
                    "additionalProperties": TEXT,
                    "x-kubernetes-map-type": "atomic",
                },
                "nested": {
                    "type": "object",
                    "properties": {
                        "a": TEXT,
                        "b": {"type": "object", "properties": {"c": TEXT, "d": TEXT}},
                    },
                },
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {"type": TEXT, "status": TEXT},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}
CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.agreement.test"},
    "spec": {
        "group": "agreement.test",
        "scope": "Namespaced",
        "names": {
            "kind": "Thing",
            "plural": "things",
            "singular": "thing",
            "listKind": "ThingList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}


def few(rng: Rng, choices: str | tuple[Any, ...]) -> list[Any]:
    """Some of the choices, in any order."""
    return rng.sample(list(choices), rng.randint(0, min(3, len(choices))))


def a_map(rng: Rng, keys: str = "abcd") -> dict[str, str]:
    return {key: rng.choice("xyz") for key in few(rng, keys)}


def maybe(rng: Rng, **makers: Callable[[], Any]) -> Object:
    """An object with some of the members, each made when needed."""
    return {name: make() for name, make in makers.items() if rng.random() < 0.5}


def metadata(rng: Rng) -> Object:
    def owners() -> list[Object]:
        return [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": rng.choice("xy"), "uid": uid}
            for uid in few(rng, "uvw")
        ]

    return maybe(
        rng,
        labels=lambda: a_map(rng),
        annotations=lambda: a_map(rng),
        finalizers=lambda: [f"test.dev/{name}" for name in few(rng, "pqr")],
        ownerReferences=owners,
    )


def configmap(rng: Rng) -> Object:
    return maybe(rng, data=lambda: a_map(rng), immutable=lambda: False)


def an_env(rng: Rng) -> list[Object]:
    return [{"name": name, "value": rng.choice("xyz")} for name in few(rng, "ABCD")]


def container_ports(rng: Rng) -> list[Object]:
    return [
        {
            "containerPort": port,
            **maybe(rng, protocol=lambda: "TCP", name=lambda: rng.choice(("http", "web"))),
        }
        for port in few(rng, (80, 8080, 443, 53))
    ]


def a_container(rng: Rng, name: str) -> Object:
    return {
        "name": name,
        "image": rng.choice(("one", "two")),
        **maybe(
            rng,
            env=lambda: an_env(rng),
            ports=lambda: container_ports(rng),
            args=lambda: few(rng, "xyz"),
            resources=lambda: {"requests": {"cpu": rng.choice("123")}, "limits": {"memory": "1Gi"}},
            volumeMounts=lambda: [
                {"name": "v", "mountPath": path} for path in few(rng, ("/a", "/b"))
            ],
            livenessProbe=lambda: {"tcpSocket": {"port": rng.choice((1, 2))}},
            securityContext=lambda: {"capabilities": {"add": few(rng, ("NET_ADMIN", "KILL"))}},
        ),
    }


def deployment(rng: Rng) -> Object:
    names = rng.choice(("a", "b", "ab", "ba", "abc", "cab"))
    pod = {
        "containers": [a_container(rng, name) for name in names],
        "volumes": [{"name": "v", "emptyDir": {}}, *few(rng, ({"name": "w", "emptyDir": {}},))],
        **maybe(
            rng,
            nodeSelector=lambda: a_map(rng),
            tolerations=lambda: [{"key": key, "operator": "Exists"} for key in few(rng, "kl")],
            hostAliases=lambda: [{"ip": "1.2.3.4", "hostnames": few(rng, "hi")}],
            imagePullSecrets=lambda: [{"name": name} for name in few(rng, "st")],
            topologySpreadConstraints=lambda: [
                {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
                for key in few(rng, "zy")
            ],
        ),
    }
    return {
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {
                "metadata": {"labels": {"app": "x", **a_map(rng)}},
                "spec": pod,
            },
            **maybe(
                rng,
                replicas=lambda: rng.randint(0, 2),
                paused=lambda: True,
                strategy=lambda: rng.choice(
                    (
                        {"type": "Recreate"},
                        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                    )
                ),
            ),
        }
    }


def service(rng: Rng) -> Object:
    ports = few(rng, ((80, "TCP"), (80, "UDP"), (443, "TCP"), (53, "UDP")))
    return {
        "spec": {
            "type": "ExternalName",
            "externalName": rng.choice(("a.test", "b.test")),
            "ports": [
                {
                    "port": port,
                    "name": f"{protocol.lower()}{port}",
                    **({} if protocol == "TCP" and rng.random() < 0.5 else {"protocol": protocol}),
                    **maybe(rng, targetPort=lambda: rng.choice((1, "web"))),
                }
                for port, protocol in ports
            ],
            **maybe(rng, selector=lambda: a_map(rng)),
        }
    }


def thing(rng: Rng) -> Object:
    spec = maybe(
        rng,
        mode=lambda: rng.choice("xy"),
        items=lambda: [
            {"name": name, **maybe(rng, value=lambda: rng.choice("xy"))}
            for name in few(rng, "abcd")
        ],
        ports=lambda: [
            {
                "port": port,
                **maybe(rng, protocol=lambda: "TCP", note=lambda: rng.choice("xy")),
            }
            for port in few(rng, (80, 443, 8080))
        ],
        tags=lambda: few(rng, ("p", "q", "<r>", "ü")),
        words=lambda: few(rng, "xyz"),
        map=lambda: a_map(rng),
        maps=lambda: {
            key: {"name": "n", **maybe(rng, value=lambda: rng.choice("xy"))}
            for key in few(rng, "abc")
        },
        fixed=lambda: a_map(rng),
        nested=lambda: maybe(
            rng, a=lambda: rng.choice("xy"), b=lambda: maybe(rng, c=lambda: "x", d=lambda: "y")
        ),
        open=lambda: maybe(
            rng,
            p=lambda: {"q": rng.choice("xy"), "r": few(rng, "xy")},
            s=lambda: rng.choice((1, "z")),
        ),
        either=lambda: rng.choice((1, "x")),
    )
    return {"spec": spec} if spec or rng.random() < 0.5 else {}


def conditions(rng: Rng) -> list[Object]:
    return [{"type": name, "status": rng.choice(("True", "False"))} for name in few(rng, "ABC")]


def thing_status(rng: Rng) -> Object:
    return maybe(rng, count=lambda: rng.randint(0, 2), conditions=lambda: conditions(rng))


def deployment_status(rng: Rng) -> Object:
    return maybe(rng, observedGeneration=lambda: 1, conditions=lambda: conditions(rng))


def holes(rng: Rng, body: Any) -> Any:
    """A partial body: some members are left out and some are null."""
    if not isinstance(body, dict):
        return body
    kept = {
        key: holes(rng, value) for key, value in body.items() if key == "type" or rng.random() < 0.8
    }
    return {
        key: None if key not in ("metadata", "type") and rng.random() < 0.1 else value
        for key, value in kept.items()
    }


def directed(rng: Rng, patch: Any, key: str = "") -> Any:
    """A strategic patch with a few directives in it."""
    if isinstance(patch, list):
        return directed_items(rng, [directed(rng, item) for item in patch])
    if not isinstance(patch, dict):
        return patch
    result = {name: directed(rng, value, name) for name, value in patch.items()}
    if key in ("labels", "annotations", "data") and rng.random() < 0.15:
        return {**result, "$patch": rng.choice(("replace", "delete"))}
    if key == "strategy":
        return {**result, "$retainKeys": [*result]}
    if key == "metadata" and "finalizers" not in result and rng.random() < 0.4:
        gone = [f"test.dev/{name}" for name in few(rng, "pqr")]
        return {**result, "$deleteFromPrimitiveList/finalizers": gone}
    for name in ("containers", "env", "volumes"):
        if isinstance(result.get(name), list) and rng.random() < 0.5:
            result[f"$setElementOrder/{name}"] = an_order(rng, result[name])
    return result


def directed_items(rng: Rng, items: list[Any]) -> list[Any]:
    if not items or not all(isinstance(item, dict) and "name" in item for item in items):
        return items
    if rng.random() < 0.2:
        return [*items, {"$patch": "replace"}]
    if rng.random() < 0.3:
        return [*items, {"$patch": "delete", "name": rng.choice("abABvw")}]
    return items


def an_order(rng: Rng, items: list[Object]) -> list[Object]:
    """An order for the items of a patch, and for others that may be there."""
    sent = [item["name"] for item in items if "$patch" not in item and "name" in item]
    others = [name for name in "abcvABCD" if name not in sent and rng.random() < 0.5]
    return [{"name": name} for name in (*sent, *others)]
