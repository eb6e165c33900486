"""The certificate of the API server, in a ConfigMap of every namespace: pods mount it beside their token."""

from collections.abc import Iterable
from datetime import datetime

from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, ConfigMap
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import NOTHING, Create, Plan
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control

NAME = "kube-root-ca.crt"
_MEMBER = "ca.crt"
_ABOUT = "kubernetes.io/description"
_REPORTED = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."


class RootCertificates:
    """Publishes the certificate, and puts it back where somebody changed it."""

    def __init__(self, manager: Manager, certificate: str) -> None:
        self._data: dict[str, JSON] = {_MEMBER: certificate}
        self._namespaces = manager.informers.of(NAMESPACES)
        self._maps = manager.informers.of(CONFIG_MAPS)
        controller = manager.controller("root-certificates", self._reconcile)
        controller.follow(self._namespaces)
        controller.follow(self._maps, _home)

    def _reconcile(self, key: Key, _: datetime) -> Plan:
        namespace = self._namespaces.reader.get(key)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            return NOTHING
        found = self._maps.reader.get(Key(key.name, NAME))
        if found is None:
            meta: JSON = {"name": NAME, "namespace": key.name, "annotations": {_ABOUT: _REPORTED}}
            return Plan().then(Create(CONFIG_MAPS, {"metadata": meta, "data": self._data}))
        if found.data == self._data and found.metadata.annotations.get(_ABOUT):
            return NOTHING
        others: dict[str, JSON] = dict.fromkeys(found.data)
        changed: JSON = {
            "metadata": {"annotations": {_ABOUT: _REPORTED}},
            "data": others | self._data,
        }
        return Plan().then(pod_control.change(CONFIG_MAPS, found, changed))


def _home(config_map: ConfigMap) -> Iterable[Key]:
    meta = config_map.metadata
    return (Key("", meta.namespace),) if meta.name == NAME else ()
