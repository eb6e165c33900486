"""Storage in use does not go: a claim that is deleted waits for the pods that mount it, a volume for its claim.

Admission puts the finalizers on; they are taken off here when nobody uses the object any more. Only pods that have a node
count, because no kubelet starts a pod with a claim that goes.
"""

from collections.abc import Iterable
from datetime import datetime

from kubeloop.objects.core import PODS, Pod, Volume
from kubeloop.objects.meta import HasMetadata, Key, key_of
from kubeloop.objects.plan import NOTHING, AnyKind, Plan
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control
from pocketkube.objects.provisions import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
_BY_CLAIM = "claim"


class VolumeProtection:
    """Lets go of claims and volumes that nobody uses."""

    def __init__(self, manager: Manager) -> None:
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(_BY_CLAIM, _claims)
        self._claims = manager.informers.of(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = manager.informers.of(PERSISTENT_VOLUMES)
        claims = manager.controller("claim-protection", self._claim)
        claims.follow(self._claims)
        claims.follow(self._pods, _claims)
        manager.controller("volume-protection", self._volume).follow(self._volumes)

    def _claim(self, key: Key, _: datetime) -> Plan:
        claim = self._claims.reader.get(key)
        if claim is None or self._pods.reader.where(_BY_CLAIM, key):
            return NOTHING
        return _let_go(PERSISTENT_VOLUME_CLAIMS, claim, CLAIM_FINALIZER)

    def _volume(self, key: Key, _: datetime) -> Plan:
        volume = self._volumes.reader.get(key)
        if volume is None or volume.status.phase == "Bound":
            return NOTHING
        return _let_go(PERSISTENT_VOLUMES, volume, VOLUME_FINALIZER)


def _claims(pod: Pod) -> Iterable[Key]:
    """The claims that a pod holds."""
    if not pod.spec.node_name:
        return ()
    names = (_claim_of(pod, volume) for volume in pod.spec.volumes)
    return [Key(pod.metadata.namespace, name) for name in names if name]


def _claim_of(pod: Pod, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    meta = pod.metadata
    shut_down = meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds == 0
    own = volume.ephemeral is not None and not shut_down
    return f"{key_of(pod).name}-{volume.name}" if own else ""


def _let_go(kind: AnyKind, obj: HasMetadata, finalizer: str) -> Plan:
    meta = obj.metadata
    if meta.deletion_timestamp is None or finalizer not in meta.finalizers:
        return NOTHING
    kept = [each for each in meta.finalizers if each != finalizer]
    return Plan().then(pod_control.change(kind, obj, {"metadata": {"finalizers": [*kept]}}))
