"""Everything that is not about objects: discovery, health, version, metrics, and what other parts put under a path of their own."""

from collections.abc import Callable, Mapping
from typing import Any

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from pocketkube.apiserver.refusal import method_not_allowed, no_such_path
from pocketkube.apiserver.serving import answers, documents, negotiation
from pocketkube.apiserver.serving.discovery import Discovery
from pocketkube.apiserver.serving.negotiation import Form
from pocketkube.apiserver.serving.openapi import OpenAPI
from pocketkube.apiserver.serving.registry import Registry
from pocketkube.apiserver.serving.routing import Route

Object = dict[str, Any]
Site = Callable[[Request, Route], Reply]
"""Answers everything under a path, such as `/logs`."""

_TEXT = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
_CHECKS = ("ping", "log", "etcd", "poststarthook/crd-informer-synced")
VERSION: Object = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


class Sites:
    """The paths of one server."""

    def __init__(self, registry: Registry, address: str, others: Mapping[str, Site]) -> None:
        self._registry = registry
        self._discovery = Discovery(registry)
        self._schemas = OpenAPI(())
        self._schemas_revision = 0
        self._address = address
        self._others = others

    def answer(self, request: Request, route: Route) -> Reply:
        """Answers a request for a path.

        Raises:
            Refused: 404, 405, 406.
        """
        for prefix, site in self._others.items():
            if route.path == prefix or route.path.startswith(f"{prefix}/"):
                return site(request, route)
        if route.parts and route.parts[0] in ("healthz", "livez", "readyz"):
            return _health(route)
        if route.parts and route.parts[0] == "openapi":
            return self._openapi(request, route)
        if route.path == "/metrics":
            return Reply(200, b"", {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        document = self._document(request, route)
        if document is None:
            return no_page()
        if route.method != "GET" and not (route.parts[:1] == ["apis"] and len(route.parts) < 3):
            raise method_not_allowed()
        return document

    def _document(self, request: Request, route: Route) -> Reply | None:
        pretty = route.query.get("pretty")
        form = negotiation.negotiate(request.headers, pretty[0] if pretty else None)
        found: Object | None
        match list(route.parts):
            case []:
                found = {"paths": self._paths()}
            case ["version"]:
                found = VERSION
            case ["api" | "apis" as root]:
                return self._root(request, root, form)
            case ["api", version]:
                found = _found(self._discovery.resources("", version))
            case ["apis", group]:
                found = self._discovery.group(group)
            case ["apis", group, version] if self._discovery.group(group) is not None:
                found = _found(self._discovery.resources(group, version))
            case _:
                return None
        return None if found is None else _reported(found, form)

    def _openapi(self, request: Request, route: Route) -> Reply:
        if self._schemas_revision != self._registry.revision:
            self._schemas = OpenAPI(self._registry.all(), self._schemas.documents)
            self._schemas_revision = self._registry.revision
        found = self._schemas.find(route.path, request.headers.get("Accept", ""))
        if found is None:
            return no_page()
        tag = f'"{found.hash}"'
        headers = {"ETag": tag, "Vary": "Accept", "Content-Type": found.media}
        if request.headers.get("If-None-Match", "").strip('"') == found.hash:
            return Reply(304, b"", headers)
        return answers.compressed(request.headers, Reply(200, found.body, headers))

    def _root(self, request: Request, root: str, form: Form) -> Reply:
        if not form.discovery:
            core = root == "api"
            return _reported(
                self._discovery.core(self._address) if core else self._discovery.groups(), form
            )
        document, tag = self._discovery.aggregated(form.discovery, core=root == "api")
        media = f"{form.media};g=apidiscovery.k8s.io;v={form.discovery};as=APIGroupDiscoveryList"
        headers = {"ETag": tag, "Vary": "Accept", "Cache-Control": "public"}
        if request.headers.get("If-None-Match") == tag:
            return Reply(304, b"", headers)
        reply = answers.written(200, documents.encode(document), form, headers)
        return Reply(200, reply.body, {**reply.headers, "Content-Type": media})

    def _paths(self) -> list[str]:
        return sorted(
            [
                *self._discovery.paths(),
                *self._others,
                "/healthz",
                "/livez",
                "/metrics",
                "/openapi/v2",
                "/openapi/v3",
                "/readyz",
                "/version",
            ]
        )


def _reported(document: Object, form: Form) -> Reply:
    return answers.written(200, documents.encode(document), form)


def _found(document: Object | None) -> Object:
    if document is None:
        raise no_such_path()
    return document


def no_page() -> Reply:
    """Nothing is here."""
    return Reply(404, b"404 page not found\n", _TEXT)


def _health(route: Route) -> Reply:
    kind, *check = route.parts
    if route.path.endswith("/") or (check and "/".join(check) not in _CHECKS):
        return no_page()
    if "verbose" not in route.query or check:
        return Reply(200, b"ok", _TEXT)
    excluded = set(route.query.get("exclude", ()))
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in _CHECKS]
    return Reply(200, "\n".join([*lines, f"{kind} check passed\n"]).encode(), _TEXT)
