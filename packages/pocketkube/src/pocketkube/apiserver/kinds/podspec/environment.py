"""Variables of a container and what they are read from; `containers` and `volumes` call this."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubeloop.objects import quantity
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming

Values = Mapping[str, Any]

IN_VARIABLES: Final = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
        "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
    }
)  # fmt: skip
IN_FILES: Final = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations",
        "metadata.uid",
    }
)  # fmt: skip
_PATHS: Final = (
    IN_VARIABLES
    | IN_FILES
    | {"spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_SUBSCRIPTED: Final = "metadata.annotations", "metadata.labels"
_AMOUNTS: Final = tuple(
    f"{kind}.{name}"
    for kind in ("limits", "requests")
    for name in ("cpu", "ephemeral-storage", "memory")
)
_PAGES: Final = "limits.hugepages-", "requests.hugepages-"
_UNITS: Final = "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"
_SOURCES: Final = "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"


def check(field: str, variables: Sequence[Values]) -> Iterator[Cause]:
    """The variables that are listed one by one."""
    for at, one in enumerate(variables):
        name = one.get("name", "")
        if name:
            yield from naming.named(f"{field}[{at}].name", name, naming.variable)
        else:
            yield fielderrors.required(f"{field}[{at}].name")
        source = one.get("valueFrom")
        if source is not None:
            yield from _check_source(f"{field}[{at}].valueFrom", source, one.get("value"))


def check_sets(field: str, sets: Sequence[Values]) -> Iterator[Cause]:
    """The variables that come from a ConfigMap or Secret."""
    for at, one in enumerate(sets):
        if one.get("prefix"):
            yield from naming.named(f"{field}[{at}].prefix", one["prefix"], naming.variable)
        given = [kind for kind in ("configMapRef", "secretRef") if one.get(kind) is not None]
        for kind in given:
            name = one[kind].get("name", "")
            if name:
                yield from naming.named(f"{field}[{at}].{kind}.name", name, naming.dns_subdomain)
            else:
                yield fielderrors.required(f"{field}[{at}].{kind}.name")
        if not given:
            said = "must specify one of: `configMapRef` or `secretRef`"
            yield fielderrors.invalid(field, "", said)
        elif len(given) > 1:
            said = "may not have more than one field specified at a time"
            yield fielderrors.invalid(field, "", said)


def _check_source(field: str, source: Values, value: str | None) -> Iterator[Cause]:
    given = [kind for kind in _SOURCES if source.get(kind) is not None]
    for kind in given:
        yield from _CHECKS[kind](f"{field}.{kind}", source[kind])
    if not given:
        said = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield fielderrors.invalid(field, "", said)
    elif value:
        yield fielderrors.invalid(field, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        said = "may not have more than one field specified at a time"
        yield fielderrors.invalid(field, "", said)


def check_field(field: str, ref: Values, known: frozenset[str]) -> Iterator[Cause]:
    """A reference to a field of the pod."""
    path = ref.get("fieldPath", "")
    if not ref.get("apiVersion"):
        yield fielderrors.required(f"{field}.apiVersion")
        return
    if not path:
        yield fielderrors.required(f"{field}.fieldPath")
        return
    head, subscript = _split(path)
    wrong = _unreadable(ref["apiVersion"], path, head, subscript)
    if wrong:
        said = f"error converting fieldPath: {wrong}"
        yield fielderrors.invalid(f"{field}.fieldPath", path, said)
    elif subscript is not None:
        key = subscript.lower() if head == "metadata.annotations" else subscript
        yield from naming.named(field, key, naming.label_key)
    else:
        meant = "spec.nodeName" if path == "spec.host" else path
        if meant not in known:
            yield fielderrors.not_supported(f"{field}.fieldPath", meant, sorted(known))


def _unreadable(version: str, path: str, head: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        readable = head in _SUBSCRIPTED
        return "" if readable else f"field label does not support subscript: {path}"
    return "" if path in _PATHS else f"field label not supported: {path}"


def _split(path: str) -> tuple[str, str | None]:
    head, bracket, rest = path.partition("['")
    return (
        (head, rest.removesuffix("']"))
        if head and bracket and path.endswith("']")
        else (path, None)
    )


def check_amount(field: str, ref: Values, *, of_volume: bool = False) -> Iterator[Cause]:
    """A reference to a request or limit of a container."""
    name = ref.get("resource", "")
    if of_volume and not ref.get("containerName"):
        yield fielderrors.required(f"{field}.containerName")
    elif not name:
        yield fielderrors.required(f"{field}.resource")
    elif name not in _AMOUNTS and not name.startswith(_PAGES):
        yield fielderrors.not_supported(f"{field}.resource", name, _AMOUNTS)
    divisor = quantity.parse(ref.get("divisor") or "0")
    if not divisor.is_zero:
        yield from _check_divisor(f"{field}.divisor", name, str(divisor))


def _check_divisor(field: str, name: str, divisor: str) -> Iterator[Cause]:
    if name.endswith(".cpu"):
        if divisor not in ("1m", "1"):
            said = "only divisor's values 1m and 1 are supported with the cpu resource"
            yield fielderrors.invalid(field, name, said)
        return
    if name in _AMOUNTS or name.startswith(_PAGES):
        thing = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
        stated = thing.get(name.partition(".")[2], "hugepages")
        if divisor not in _UNITS:
            said = f"only divisor's values {', '.join(_UNITS)} are supported with the {stated} resource"
            yield fielderrors.invalid(field, name, said)


def _check_key(field: str, ref: Values) -> Iterator[Cause]:
    yield from naming.named(f"{field}.name", ref.get("name", ""), naming.dns_subdomain)
    if ref.get("key"):
        yield from naming.named(f"{field}.key", ref["key"], naming.config_key)
    else:
        yield fielderrors.required(f"{field}.key")


def _check_file(field: str, ref: Values) -> Iterator[Cause]:
    for member, check_text in (("key", naming.variable), ("volumeName", naming.dns_label)):
        if ref.get(member):
            yield from naming.named(f"{field}.{member}", ref[member], check_text)
        else:
            yield fielderrors.required(f"{field}.{member}")
    if not ref.get("path"):
        yield fielderrors.required(f"{field}.path")
    elif ".." in ref["path"].split("/"):
        yield fielderrors.invalid(f"{field}.path", ref["path"], "must not contain '..'")


_CHECKS: Final[dict[str, Callable[[str, Values], Iterator[Cause]]]] = {
    "fieldRef": lambda field, ref: check_field(field, ref, IN_VARIABLES),
    "resourceFieldRef": check_amount,
    "configMapKeyRef": _check_key,
    "secretKeyRef": _check_key,
    "fileKeyRef": _check_file,
}
