"""Random requests to an API server: every kind, verb and subresource, with bodies that are nearly right or nothing at all.

Read by `test_serving_garbage`; a seed and the number of a request say what was sent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import copy
import json
from pathlib import Path
import random
import runpy
from typing import Any

from tests.tables.kinds import CREATES

from kubeloop.net.http import Request
from pocketkube.apiserver.kinds.resource import Resource

E2E = Path(__file__).parent.parent / "agreement"
TYPED: Callable[[random.Random, str, str], dict[str, Any]] = runpy.run_path(
    str(E2E / "typed_objects.py")
)["an_object"]
GOOD: dict[str, list[dict[str, Any]]] = {}
for _, plural, obj in CREATES:
    GOOD.setdefault(plural, []).append(obj)
for plural, obj in runpy.run_path(str(E2E / "table_objects.py"))["OBJECTS"]:
    GOOD.setdefault(plural, []).append(obj)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
NAMES = ("a", "b", "x", "default", "kube-system", "A_B", "%2e%2e", "%ff", "a%2Fb", "ä", "a" * 300)
PARTS = ("status", "scale", "binding", "eviction", "log", "exec", "token", "finalize", "approval",
         "resize", "ephemeralcontainers", "proxy", "attach", "portforward", "nothing", "a/b/c")  # fmt: skip
WORDS = ("api", "apis", "v1", "apps", "namespaces", "default", "pods", "status", "watch", "..", ".", "%2f", "%ff",
         "openapi", "v2", "v3", "healthz", "livez", "readyz", "version", "metrics", "logs", "batch", "")  # fmt: skip
QUERY: dict[str, Sequence[str]] = {
    "watch": ("1", "true", "x", "0", ""),
    "timeoutSeconds": ("1", "x", "-1", "9" * 30, "1.5"),
    "limit": ("1", "0", "-1", "x", "9" * 30),
    "continue": ("e30", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0", "%ff"),
    "resourceVersion": ("0", "1", "-1", "x", "9" * 18, "9" * 40, ""),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "labelSelector": ("a=b", "a===", "a in (", "!a", "%00", "a in (b,c),d!=e", ",", "(" * 500),
    "fieldSelector": ("metadata.name=a", "x", "status.phase!=Running", "a=b=c", "spec.nodeName="),
    "dryRun": ("All", "x", ""),
    "fieldManager": ("m", "", "%01", "m" * 200),
    "force": ("true", "x"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "pretty": ("1", "x"),
    "allowWatchBookmarks": ("1", "x"),
    "sendInitialEvents": ("1", "0", "x"),
    "propagationPolicy": ("Orphan", "Foreground", "Background", "x"),
    "orphanDependents": ("true", "x"),
    "gracePeriodSeconds": ("0", "1", "-1", "9" * 30, "x"),
    "includeObject": ("None", "Object", "Metadata", "x"),
    "follow": ("1", "x"),
    "tailLines": ("-1", "1", "x"),
    "container": ("a",),
    "shardSelector": ("x",),
    "%zz": ("%",),
    "": ("",),
}  # fmt: skip
JSON_TYPES = ("application/json", "application/json; charset=x", "")
PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
           "application/apply-patch+yaml", "application/apply-patch+cbor")  # fmt: skip
OTHERS = (
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "application/cbor",
    "x",
    "/",
    ";",
)
ACCEPTS = (
    *("application/json", "*/*", "application/yaml", "text/html", "application/*", "application/json;q=x", ","),
    *(f"application/json;as={kind};g=meta.k8s.io;v=v1" for kind in ("Table", "PartialObjectMetadata", "X")),
    *(f"application/json;as={kind}List;g=meta.k8s.io;v=v1" for kind in ("PartialObjectMetadata", "X")),
    "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    *("application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json", ";;=;", "\xff"),
)  # fmt: skip
SECRETS = (
    "Bearer nobody",
    "Bearer ",
    "Basic YTpi",
    "Bearer a.b.c",
    "Bearer " + "x" * 5000,
    "\xff",
    "bearer",
)
IMPERSONATE = {
    "Impersonate-User": ("jane", "system:serviceaccount:default:default", "system:node:a", ""),
    "Impersonate-Group": ("system:masters", "a", ""),
    "Impersonate-Uid": ("1", ""),
    "Impersonate-Extra-Scopes%ff": ("a",),
}
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, -(2**63), 2**63, 1e300, "", "a", "\x00", "ä\ud800", "x" * 5000,
    "2026-01-01T00:00:00Z", "1Gi", "-1", "1e999999999", "9" * 400, "$(a)", "(", "a: [", [], {}, [[]], [None], {"": {}},
    {"a": None}, [{}], ["a", "a"], {"x": "y"}, {"$patch": "delete"}, {"$patch": 1}, {"$retainKeys": 1},
    {"$setElementOrder/containers": [1]}, {"$deleteFromPrimitiveList/finalizers": {}}, {"matchLabels": {"a": "b"}},
)  # fmt: skip
YAMLS = (
    b"a: &a [x]\nb: *a\n", b"a: &a {b: *a}\n", b"*nobody\n", b"--- a\n--- b\n", b"!!python/object:os.system x\n",
    b"a: 1\na: 2\n", b"? [a]\n: b\n", b"a: 2026-01-01\nb: 0x1f\nc: .inf\nd: ~\n", b"\t- a\n", b"\xff\xfe", b"%YAML 9\n",
    b"<<: {a: b}\n", b"a: !!binary x\n", b"1: 2\n", b"? {a: b}\n: c\n", b"- " * 300, b"a: " + b"9" * 5000,
    b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)
    ),
)  # fmt: skip


class RandomRequests:
    """An endless source of requests."""

    def __init__(
        self, resources: Callable[[], Sequence[Resource]], token: str, rng: random.Random
    ) -> None:
        self._resources = resources
        self._token = token
        self._rng = rng

    def first(self) -> Iterator[Request]:
        """Requests for one good object of each kind, for the others to meet."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        for resource in self._resources():
            for obj in GOOD.get(resource.stored, ()):
                place = "/namespaces/default" if resource.namespaced else ""
                root = f"/apis/{resource.group}" if resource.group else "/api"
                meta = {**obj.get("metadata", {}), "name": "a"}
                body = json.dumps({**obj, "metadata": meta}).replace("NAMESPACE", "default")
                path = f"{root}/{resource.version}{place}/{resource.plural}"
                yield Request("POST", path, headers, body.encode())

    def next(self) -> Request:
        rng = self._rng
        resource = rng.choice(self._resources())
        if rng.random() < 0.7:
            resource = rng.choice([each for each in self._resources() if each.stored in GOOD])
        method = rng.choice(
            METHODS if rng.random() < 0.1 else ("POST", "POST", "PATCH", "PATCH", *METHODS[:5])
        )
        part = self._part(resource)
        path = self._path(resource, method, part) if rng.random() < 0.95 else self._nowhere()
        media = self._media(method)
        body = self._body(resource, part, media) if rng.random() < 0.95 else b""
        return Request(method, path + self._query(method), self._headers(media), body)

    def _part(self, resource: Resource) -> str:
        if self._rng.random() < 0.7:
            return ""
        own = [each.name for each in resource.subresources]
        return self._rng.choice(own if own and self._rng.random() < 0.8 else PARTS)

    def _path(self, resource: Resource, method: str, part: str) -> str:
        rng = self._rng
        root = f"/apis/{resource.group}" if resource.group else "/api"
        scope = resource.namespaced if rng.random() < 0.98 else not resource.namespaced
        place = "default" if rng.random() < 0.9 else self._name()
        namespace = f"/namespaces/{place}" if scope else ""
        path = f"{root}/{resource.version}{namespace}/{resource.plural}"
        named = method != "POST" or bool(part)
        if named if rng.random() < 0.9 else not named:
            path += f"/{self._name()}" + (f"/{part}" if part else "")
        return path

    def _name(self) -> str:
        rng = self._rng
        return rng.choice("aaaaaab") if rng.random() < 0.95 else rng.choice(NAMES)

    def _nowhere(self) -> str:
        words = self._rng.choices(WORDS, k=self._rng.randrange(7))
        return "/" + "/".join(words)

    def _query(self, method: str) -> str:
        rng = self._rng
        names = rng.sample(list(QUERY), rng.choice((0, 0, 0, 0, 1, 2, 4)))
        if method == "PATCH" and rng.random() < 0.7:
            names.append("fieldManager")
        asked = "&".join(f"{name}={rng.choice(QUERY[name])}" for name in names)
        return f"?{asked}" if asked else ""

    def _media(self, method: str) -> str:
        rng = self._rng
        usual = PATCHES if method == "PATCH" else JSON_TYPES
        return rng.choice(usual if rng.random() < 0.9 else (*PATCHES, *JSON_TYPES, *OTHERS))

    def _headers(self, media: str) -> Mapping[str, str]:
        rng = self._rng
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": media}
        if rng.random() < 0.05:
            headers["Authorization"] = rng.choice(SECRETS)
        if rng.random() < 0.3:
            headers["Accept"] = rng.choice(ACCEPTS)
        if rng.random() < 0.05:
            name = rng.choice(list(IMPERSONATE))
            headers[name] = rng.choice(IMPERSONATE[name])
        if rng.random() < 0.3:
            headers["Accept-Encoding"] = rng.choice(("gzip", "br", "gzip;q=0", "*", "x" * 300))
        if rng.random() < 0.1:
            headers["User-Agent"] = rng.choice(("", "\x07", "ä" * 300, "a/b (c) d/e"))
        return headers

    def _body(self, resource: Resource, part: str, media: str) -> bytes:
        rng = self._rng
        if "protobuf" in media and rng.random() < 0.9:
            return self._protobuf(resource)
        dice = rng.random()
        if dice < 0.03:
            return rng.randbytes(rng.randrange(200))
        if "yaml" in media and dice < 0.3:
            return rng.choice(YAMLS)
        sent = self._sent(resource, part, media)
        text = json.dumps(sent, ensure_ascii=rng.random() < 0.8)
        body = text.encode(errors="surrogatepass")
        return self._broken(body) if rng.random() < 0.08 else body

    def _sent(self, resource: Resource, part: str, media: str) -> Any:
        rng = self._rng
        if "json-patch" in media:
            return [self._operation() for _ in range(rng.randrange(4))]
        obj = self._object(resource, part)
        if rng.random() < 0.6:
            obj = self._spoiled(obj, rng.choice((0.005, 0.02, 0.05, 0.3)))
        return obj

    def _object(self, resource: Resource, part: str) -> Any:
        rng = self._rng
        own = resource.subresource(part)
        group = resource.group
        kind, version = resource.kind, resource.api_version
        if own is not None and own.kind:
            kind = own.kind
            group = own.group or group
            version = f"{own.group}/{own.version}" if own.group else own.version or version
        good = GOOD.get(f"{resource.plural}.{group}" if group else resource.plural)
        if good and rng.random() < 0.6:
            obj = copy.deepcopy(rng.choice(good))
        else:
            try:
                obj = TYPED(rng, version, kind)
            except KeyError:
                obj = {"spec": self._junk(), "status": self._junk()}
        if rng.random() < 0.9:
            obj |= {"kind": kind, "apiVersion": version}
        meta = obj.get("metadata")
        if isinstance(meta, dict):
            obj["metadata"] = {**meta, **self._meta()}
        return obj

    def _meta(self) -> dict[str, Any]:
        rng = self._rng
        meta: dict[str, Any] = {"name": self._name()}
        if rng.random() < 0.7:
            return meta
        more: dict[str, Any] = {
            "resourceVersion": rng.choice(("1", "", "x", "0")),
            "uid": "u",
            "finalizers": rng.choice((["example.com/a"], ["a"], [], ["orphan"])),
            "deletionTimestamp": None,
            "generateName": rng.choice(("a-", "", "A_")),
            "namespace": self._name(),
            "labels": {"a": "b"},
            "managedFields": rng.choice(([], [{}], [{"manager": "m", "operation": "Apply"}])),
        }
        return meta | {name: more[name] for name in rng.sample(list(more), rng.choice((1, 2)))}

    def _operation(self) -> Any:
        rng = self._rng
        places = ("", "/", "/metadata", "/metadata/labels/a", "/data/x", "/spec", "/spec/replicas", "a", "/~2", "/~",
                  "/spec/template/spec/containers/0", "/metadata/finalizers/-", "/metadata/name", "/kind", "/" * 40)  # fmt: skip
        operation = {
            "op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "x")),
            "path": rng.choice(places),
            "from": rng.choice(places),
            "value": self._junk(),
        }
        return self._spoiled(operation, 0.1) if rng.random() < 0.3 else operation

    def _junk(self) -> Any:
        return copy.deepcopy(self._rng.choice(JUNK))

    def _spoiled(self, value: Any, odds: float) -> Any:
        """The same with members replaced, removed and added."""
        rng = self._rng
        if rng.random() < odds:
            return self._junk() if rng.random() < 0.98 else _tower(rng.choice((50, 2_000)))
        if isinstance(value, dict):
            kept = {
                name: self._spoiled(inner, odds)
                for name, inner in value.items()
                if rng.random() > odds / 2
            }
            if rng.random() < odds:
                kept[rng.choice(("x", "", "metadata", "spec", "name", "$patch"))] = self._junk()
            return kept
        if isinstance(value, list):
            return [self._spoiled(inner, odds) for inner in value] * rng.choice((1, 1, 1, 2))
        return value

    def _broken(self, body: bytes) -> bytes:
        at = self._rng.randrange(len(body) + 1)
        wrong = self._rng.choice(
            (b"", b"\xff", b"\\u", b"}", b'"', b"\x00", b",,", b"\xed\xa0\x80", b"1e999")
        )
        return body[:at] + wrong + body[at + self._rng.randrange(3) :]

    def _protobuf(self, resource: Resource) -> bytes:
        about = _field(1, resource.api_version.encode()) + _field(2, resource.kind.encode())
        body = b"k8s\x00" + _field(1, about) + _field(2, self._message(0))
        return self._broken(body) if self._rng.random() < 0.2 else body

    def _message(self, depth: int) -> bytes:
        rng = self._rng
        made = b""
        for _ in range(rng.randrange(5)):
            number, dice = rng.randrange(1, 12), rng.random()
            if dice < 0.2:
                made += bytes((number << 3,)) + rng.choice(
                    (b"\x01", b"\xff" * 9 + b"\x01", b"\x80")
                )
            elif depth > 4 or dice < 0.6:
                made += _field(
                    number, rng.choice((b"", b"a", b"default", b"\xff", rng.randbytes(4)))
                )
            else:
                made += _field(number, self._message(depth + 1))
        return made


def _field(number: int, content: bytes) -> bytes:
    size, length = b"", len(content)
    while length > 127:
        size += bytes((length & 127 | 128,))
        length >>= 7
    return bytes((number << 3 | 2,)) + size + bytes((length,)) + content


def _tower(height: int) -> Any:
    """As deep as it says; json can only write what is not too deep."""
    value: Any = 1
    for _ in range(min(height, 900)):
        value = {"a": value}
    return value
