"""Webhook configurations: whom to ask about which writes. The names of hooks are unique, and they must not act."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import admissionrules, names, naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_REINVOCATIONS: Final = ("IfNeeded", "Never")
_VERSIONS: Final = ("v1", "v1beta1")
_VARIABLES: Final = ("object", "oldObject", "request")
_FORM: Final = "; desired format: https://host[/path]"


class WebhookConfigurations(Plain):
    """How both kinds of webhook configurations are completed and judged."""

    qualified_finalizers = False

    def default(self, obj: Object) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            admissionrules.default_matching(hook)
            admissionrules.default_rules(hook.get("rules"))
            hook.setdefault("timeoutSeconds", 10)
            if self.kind == "MutatingWebhookConfiguration":
                hook.setdefault("reinvocationPolicy", "Never")
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)

    def check(self, obj: Object) -> Iterator[Cause]:
        seen: set[str] = set()
        for index, hook in enumerate(obj.get("webhooks") or ()):
            place, name = f"webhooks[{index}]", hook.get("name", "")
            yield from _name(name, f"{place}.name")
            yield from _hook(hook, place)
            yield from _versions(
                hook.get("admissionReviewVersions") or [], f"{place}.admissionReviewVersions"
            )
            if name and name in seen:
                yield fe.duplicate(f"{place}.name", name)
            seen.add(name)


def _name(name: str, place: str) -> Iterator[Cause]:
    if not name:
        yield fe.required(place)
        return
    wrong = names.subdomain(name)
    if wrong:
        yield fe.invalid(place, name, ",".join(wrong))
    elif name.count(".") < 2:
        stated = "should be a domain with at least three segments separated by dots"
        yield fe.invalid(place, name, stated)


def _hook(hook: Mapping[str, Any], place: str) -> Iterator[Cause]:
    yield from admissionrules.rules(hook.get("rules"), f"{place}.rules")
    yield from admissionrules.one_of(
        f"{place}.failurePolicy", hook.get("failurePolicy"), admissionrules.FAILURE_POLICIES
    )
    yield from admissionrules.matching(hook, place)
    effects = hook.get("sideEffects")
    if effects is None:
        stated = f"must specify one of {', '.join(_SIDE_EFFECTS)}"
        yield fe.required(f"{place}.sideEffects", stated)
    yield from admissionrules.one_of(f"{place}.sideEffects", effects, _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds", 10)
    if not 1 <= seconds <= 30:
        stated = "the timeout value must be between 1 and 30 seconds"
        yield fe.invalid(f"{place}.timeoutSeconds", seconds, stated)
    yield from admissionrules.one_of(
        f"{place}.reinvocationPolicy", hook.get("reinvocationPolicy"), _REINVOCATIONS
    )
    yield from _client(hook.get("clientConfig") or {}, f"{place}.clientConfig")
    yield from admissionrules.conditions(
        hook.get("matchConditions"), f"{place}.matchConditions", _VARIABLES
    )


def _versions(given: Sequence[str], place: str) -> Iterator[Cause]:
    if not given:
        yield fe.required(place, f"must specify one of {', '.join(_VERSIONS)}")
        return
    for index, version in enumerate(given):
        if version in given[:index]:
            yield fe.invalid(f"{place}[{index}]", version, "duplicate version")
        else:
            yield from naming.named(f"{place}[{index}]", version, naming.dns_1035)
    if not set(given) & set(_VERSIONS):
        stated = f"must include at least one of {', '.join(_VERSIONS)}"
        yield fe.invalid(place, list(given), stated)


def _client(client: Mapping[str, Any], place: str) -> Iterator[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield fe.required(place, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{place}.url")
    elif service is not None:
        yield from _service(service, f"{place}.service")


def _url(url: str, place: str) -> Iterator[Cause]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield fe.required(place, f"url must be a valid URL: {error}{_FORM}")
        return
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        stated = f"'https' is the only allowed URL scheme{_FORM}"
        yield fe.invalid(place, parts.scheme, stated)
    if not host:
        yield fe.invalid(place, "", f"host must be specified{_FORM}")
    if user:
        yield fe.invalid(place, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield fe.invalid(place, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield fe.invalid(place, parts.query, "query parameters are not permitted in the URL")


def _service(service: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """A server mixes up both names in its causes, hence so do we."""
    if not service.get("namespace"):
        yield fe.required(f"{place}.name")
    if not service.get("name"):
        yield fe.required(f"{place}.namespace")
    port, path = service.get("port", 443), service.get("path") or "/"
    wrong = naming.port_number(port)
    if wrong:
        yield fe.invalid(f"{place}.port", port, f"port is not valid: {', '.join(wrong)}")
    if path == "//":
        yield fe.invalid(f"{place}.path", path, "segment[0] may not be empty")
    elif path != "/":
        yield from _path(path, f"{place}.path")


def _path(path: str, place: str) -> Iterator[Cause]:
    if not path.startswith("/"):
        yield fe.invalid(place, path, "must start with a '/'")
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield fe.invalid(place, path, f"segment[{index}] may not be empty")
            continue
        for stated in names.subdomain(step):
            yield fe.invalid(place, path, f"segment[{index}]: {stated}")
