"""ConfigMaps and Secrets: keys that can be names of files, at most a mebibyte, and data that can be frozen.

What a secret holds comes in base64; `stringData` is a convenience of writers and never stored.
"""

import base64
from collections.abc import Iterator, Mapping
import json
from typing import Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming, objectmeta
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

_MOST: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_JSON_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


class ConfigMaps(Plain):
    """How ConfigMaps are judged."""

    def check(self, obj: Object) -> Iterator[Cause]:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        size = 0
        for key, text in data.items():
            if not naming.is_good(naming.config_key, key):
                yield from naming.named(f"data[{key}]", key, naming.config_key)
            if key in binary:
                yield fe.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
            size += len(text) if text.isascii() else len(text.encode())
        for key, encoded in binary.items():
            yield from naming.named(f"binaryData[{key}]", key, naming.config_key)
            size += decoded_size(encoded)
        if size > _MOST:
            yield fe.too_long("[]", _MOST)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        if old.get("immutable"):
            yield from _frozen(obj, old, "data", "binaryData")
        yield from self.check(obj)


class Secrets(Plain):
    """How Secrets are completed and judged."""

    more_selectable: tuple[str, ...] = ("type",)

    def default(self, obj: Object) -> None:
        obj.setdefault("type", "Opaque")
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.setdefault("data", {})
            data.update((key, _encoded(text)) for key, text in texts.items())

    def check(self, obj: Object) -> Iterator[Cause]:
        data = obj.get("data") or {}
        for key in data:
            yield from naming.named(f"data[{key}]", key, naming.config_key)
        if sum(map(decoded_size, data.values())) > _MOST:
            yield fe.too_long("data", _MOST)
        yield from _typed(obj, data)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        if obj.get("type", "") != old.get("type", ""):
            yield objectmeta.immutable("type", obj.get("type", ""))
        if old.get("immutable"):
            yield from _frozen(obj, old, "data")
        yield from self.check(obj)


def decoded_size(encoded: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(encoded) // 4 * 3 - encoded[-2:].count("=")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _frozen(obj: Object, old: Object, *members: str) -> Iterator[Cause]:
    if not obj.get("immutable"):
        yield fe.forbidden("immutable", _FROZEN)
    for member in members:
        if (obj.get(member) or {}) != (old.get(member) or {}):
            yield fe.forbidden(member, _FROZEN)


def _typed(obj: Object, data: Mapping[str, str]) -> Iterator[Cause]:
    """What the type of a secret asks for."""
    match obj.get("type"):
        case "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
                yield fe.required(f"metadata.annotations[{_ACCOUNT}]")
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson" as kind:
            yield from _docker(_JSON_KEYS[kind], data)
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield from _required("username", "password")
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield from _required("ssh-privatekey")
        case "kubernetes.io/tls":
            yield from _required(*(key for key in ("tls.crt", "tls.key") if key not in data))
        case _:
            return


def _required(*keys: str) -> Iterator[Cause]:
    for key in keys:
        yield fe.required(f"data[{key}]")


def _docker(key: str, data: Mapping[str, str]) -> Iterator[Cause]:
    if key not in data:
        yield fe.required(f"data[{key}]")
        return
    place, stated = f"data[{key}]", ""
    try:
        content = json.loads(base64.b64decode(data[key]))
    except ValueError:
        stated = "unexpected end of JSON input" if not data[key] else "invalid character"
    else:
        if content is not None and not isinstance(content, dict):
            stated = f"json: cannot unmarshal {_go_kind(content)} into Go value of type map[string]interface {{}}"
    if stated:
        yield fe.invalid(place, "<secret contents redacted>", stated)


def _go_kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"
