"""`/openapi`: the documents of what is served right now, made anew when definitions come and go."""

from korder.embedded.apiserver.serving.openapi import OpenAPI
from korder.embedded.apiserver.serving.registry import Registry
from korder.embedded.apiserver.serving.routing import Route
from korder.embedded.apiserver.serving.sites import no_page
from korder.net.http import Request
from korder.net.server import Reply


class OpenAPISite:
    """Answers requests below `/openapi`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._revision = -1
        self._openapi = OpenAPI(())

    def __call__(self, request: Request, route: Route) -> Reply:
        if self._revision != self._registry.revision:
            self._openapi = OpenAPI(self._registry.all(), self._openapi.documents)
            self._revision = self._registry.revision
        document = self._openapi.find(route.path, request.headers.get("Accept", ""))
        if document is None:
            return no_page()
        tag = f'"{document.hash}"'
        headers = {"Content-Type": document.media, "ETag": tag, "Vary": "Accept"}
        if request.headers.get("If-None-Match") == tag:
            return Reply(304, b"", headers)
        return Reply(200, document.body, headers)
