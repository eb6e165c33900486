"""Objects as careless clients send them, and what a server says: read by unit tests, checked on a real server by e2e tests.

A row is the kind, the body, and the message behind "cannot be handled as a ...: "; None if the body can be read.
"""

from typing import Any

Row = tuple[str, dict[str, Any], str | None]

NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
TIME = '"2006-01-02T15:04:05Z07:00"'
MICRO = '"2006-01-02T15:04:05.000000Z07:00"'


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**members: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "image": "i", **members}])


def cpu(value: Any) -> dict[str, Any]:
    return container(resources={"limits": {"cpu": value}})


def port(value: Any) -> dict[str, Any]:
    return container(livenessProbe={"httpGet": {"port": value}})


def made(text: Any) -> dict[str, Any]:
    return {**pod(), "metadata": {"creationTimestamp": text}}


def secret(value: Any) -> dict[str, Any]:
    return {"data": {"a": value}}


def lease(text: Any) -> dict[str, Any]:
    return {"spec": {"renewTime": text}}


def cannot(what: str, where: str, go: str) -> str:
    return f"json: cannot unmarshal {what} into Go struct field {where} of type {go}"


def parsing(text: str, why: str) -> str:
    return f'parsing time "{text}"{why}'


def base64(place: int) -> str:
    return f"illegal base64 data at input byte {place}"


def unknown(*paths: str) -> str:
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in paths)


ROWS: list[Row] = [
    (
        "Pod",
        pod(containers="x"),
        cannot("string", "PodSpec.spec.containers", "[]v1.Container"),
    ),
    ("Pod", pod(containers=[1]), cannot("number", "PodSpec.spec.containers", "v1.Container")),
    ("Pod", container(name=1), cannot("number", "Container.spec.containers.name", "string")),
    (
        "Pod",
        container(env={"a": 1}),
        cannot("object", "Container.spec.containers.env", "[]v1.EnvVar"),
    ),
    (
        "Pod",
        container(ports=[{"containerPort": 3000000000}]),
        cannot("number 3000000000", "ContainerPort.spec.containers.ports.containerPort", "int32"),
    ),
    (
        "Pod",
        container(ports=[{"containerPort": 1.0}]),
        cannot("number 1.0", "ContainerPort.spec.containers.ports.containerPort", "int32"),
    ),
    (
        "Pod",
        container(imagePullPolicy=1),
        cannot("number", "Container.spec.containers.imagePullPolicy", "v1.PullPolicy"),
    ),
    (
        "Pod",
        container(resources={"limits": "a"}),
        cannot(
            "string", "ResourceRequirements.spec.containers.resources.limits", "v1.ResourceList"
        ),
    ),
    ("Pod", cpu("abc"), NO_QUANTITY),
    ("Pod", cpu("1x"), NO_QUANTITY),
    ("Pod", cpu("1Kim"), "unable to parse quantity's suffix"),
    ("Pod", cpu("1.5.5"), NO_QUANTITY),
    ("Pod", cpu(True), NO_QUANTITY),
    ("Pod", cpu({}), NO_QUANTITY),
    ("Pod", cpu(""), NO_QUANTITY),
    ("Pod", cpu("."), None),
    ("Pod", cpu(" 1 "), None),
    ("Pod", port("x"), None),
    (
        "Pod",
        port(True),
        cannot(
            "bool", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port", "int32"
        ),
    ),
    (
        "Pod",
        port(1.5),
        cannot(
            "number 1.5",
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port",
            "int32",
        ),
    ),
    (
        "Pod",
        pod(volumes=[{"name": "v", "hostPath": 3}]),
        cannot("number", "Volume.spec.volumes.VolumeSource.hostPath", "v1.HostPathVolumeSource"),
    ),
    (
        "Pod",
        {"metadata": {"labels": {"a": 1}}},
        cannot("number", "ObjectMeta.metadata.labels", "string"),
    ),
    (
        "Pod",
        {"metadata": {"labels": [1]}},
        cannot("array", "ObjectMeta.metadata.labels", "map[string]string"),
    ),
    ("Pod", {"metadata": 3}, cannot("number", "Pod.metadata", "v1.ObjectMeta")),
    ("Pod", {"spec": []}, cannot("array", "Pod.spec", "v1.PodSpec")),
    ("Pod", made(5), cannot("number", "ObjectMeta.metadata.creationTimestamp", "string")),
    ("Pod", made("2024"), parsing("2024", f' as {TIME}: cannot parse "" as "-"')),
    ("Pod", made(""), parsing("", f' as {TIME}: cannot parse "" as "2006"')),
    ("Pod", made("2024-13-01T00:00:00Z"), parsing("2024-13-01T00:00:00Z", ": month out of range")),
    ("Pod", made("2024-02-30T00:00:00Z"), parsing("2024-02-30T00:00:00Z", ": day out of range")),
    ("Pod", made("2024-02-01T24:00:00Z"), parsing("2024-02-01T24:00:00Z", ": hour out of range")),
    (
        "Pod",
        made("2024-02-01T20:00:00"),
        parsing("2024-02-01T20:00:00", f' as {TIME}: cannot parse "" as "Z07:00"'),
    ),
    (
        "Pod",
        made("2024-02-01T20:00:00Zx"),
        parsing("2024-02-01T20:00:00Zx", ': extra text: "x"'),
    ),
    (
        "Pod",
        made("2024-02-01T20:00:00+25:00"),
        parsing("2024-02-01T20:00:00+25:00", ": time zone offset hour out of range"),
    ),
    ("Pod", made("2024-02-01T2:00:00Z"), None),
    ("Pod", made("0001-01-01T00:00:00Z"), None),
    (
        "Pod",
        pod(activeDeadlineSeconds=1.5),
        cannot("number 1.5", "PodSpec.spec.activeDeadlineSeconds", "int64"),
    ),
    ("Pod", pod(hostNetwork="true"), cannot("string", "PodSpec.spec.hostNetwork", "bool")),
    ("Pod", pod(tolerations=[None]), None),
    (
        "Pod",
        pod(foo=1, containers=[{"name": "c", "image": "i", "bar": {"baz": 1}}]),
        unknown("spec.containers[0].bar", "spec.foo"),
    ),
    ("Pod", pod(Containers=[]), unknown("spec.Containers")),
    (
        "Pod",
        pod(volumes=[{"name": "a", "configMap": {"q": None}}], affinity={"nodeAffinity": {"x": 1}}),
        unknown("spec.volumes[0].configMap.q", "spec.affinity.nodeAffinity.x"),
    ),
    ("Secret", secret("!!"), base64(0)),
    ("Secret", secret("YQ"), base64(0)),
    ("Secret", secret("YQ="), base64(3)),
    ("Secret", secret("YWI=x"), base64(4)),
    ("Secret", secret("YWJj!"), base64(4)),
    ("Secret", secret("YQ==YQ=="), base64(4)),
    ("Secret", secret("="), base64(0)),
    ("Secret", secret("YQ==\n"), None),
    ("Secret", secret("YR=="), None),
    ("Secret", secret([97, 98]), None),
    ("Secret", secret([None]), None),
    ("Secret", secret(None), None),
    (
        "Pod",
        {"spec": 3, "metadata": {"creationTimestamp": {}}},
        cannot("object", "ObjectMeta.metadata.creationTimestamp", "string"),
    ),
    ("Pod", {"metadata": 3, **container(name=1, resources={"limits": {"cpu": "?"}})}, NO_QUANTITY),
    (
        "Pod",
        {"status": {"containerStatuses": 3}, **pod(volumes=[{"emptyDir": {"sizeLimit": "?"}}])},
        NO_QUANTITY,
    ),
    ("Secret", secret(3), cannot("number", "Secret.data", "[]uint8")),
    ("ConfigMap", {"data": {"a": None}}, None),
    ("ConfigMap", {"data": {}, "immutable": False, "binaryData": None}, None),
    ("ConfigMap", {"immutable": "x"}, cannot("string", "ConfigMap.immutable", "bool")),
    ("Lease", lease("2024-01-01T00:00:00.123456+01:00"), None),
    (
        "Lease",
        lease("2024-01-01T00:00:00Z"),
        parsing("2024-01-01T00:00:00Z", f' as {MICRO}: cannot parse "Z" as ".000000"'),
    ),
    (
        "Lease",
        lease("2024-01-01T00:00:00.1234567Z"),
        parsing("2024-01-01T00:00:00.1234567Z", f' as {MICRO}: cannot parse "7Z" as "Z07:00"'),
    ),
]

QUANTITIES = {
    "0.5": "500m",
    "1.500": "1.500",
    "1.5": "1500m",
    "+1": "+1",
    "+0.5": "500m",
    "1e0": "1e0",
    "1e2": "100",
    "1E3": "1E3",
    "1.5e3": "1500",
    "01": "01",
    "00": "0",
    "1.": "1.",
    "1000": "1k",
    "1000k": "1M",
    "1024": "1024",
    "1024Ki": "1Mi",
    "1.5Gi": "1536Mi",
    "0.1Ki": "102400m",
    "1n": "1m",
    "12e-9": "1e-3",
    "-0.5": "-500m",
    "1.123456789123": "1124m",
    "9223372036854775807": "9223372036854775807",
}
"""Quantities in a `ResourceList` as they are sent and as they come back."""
