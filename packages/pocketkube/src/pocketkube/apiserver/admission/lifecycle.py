"""NamespaceLifecycle: nothing is written where there is no namespace, nothing made in one that goes, and three never go."""

import msgspec

from kubeloop.objects.machinery import StatusCause, StatusDetails
from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, DELETE, UPDATE, denied, part
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.view import View

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_FREE = frozenset({"localsubjectaccessreviews.authorization.k8s.io"})


class NamespaceLifecycle(Plugin):
    """Looks at the namespace of every write."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.resource.stored == "namespaces":
            if attributes.operation is DELETE and attributes.name in IMMORTAL:
                why = "this namespace may not be deleted"
                raise refusal.forbidden("namespaces", "", attributes.name, why)
            return
        if not attributes.namespace or attributes.operation not in (CREATE, UPDATE):
            return
        if attributes.resource.stored not in _FREE:
            self._look(attributes)

    def _look(self, attributes: Attributes) -> None:
        name = attributes.namespace
        namespace = self._view.get("namespaces", "", name)
        if namespace is None:
            raise refusal.not_found("namespaces", "", name)
        if (
            attributes.operation is CREATE
            and part(namespace, "status").get("phase") == "Terminating"
        ):
            raise _terminating(attributes, name)


def _terminating(attributes: Attributes, name: str) -> Refused:
    why = f"unable to create new content in namespace {name} because it is being terminated"
    status = denied(attributes, why).status
    cause = StatusCause(
        reason="NamespaceTerminating",
        message=f"namespace {name} is being terminated",
        field="metadata.namespace",
    )
    details = status.details or StatusDetails()
    details = msgspec.structs.replace(details, causes=(cause,))
    return Refused(msgspec.structs.replace(status, details=details))
