"""StorageObjectInUseProtection: volumes, and claims on them, do not go while they are used.

The finalizers that are set here are taken off by `pocketkube.controllers.volume_protection`.
"""

from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, items, own, written

_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Marks new volumes and claims."""

    resources = frozenset(_FINALIZERS)
    operations = frozenset({CREATE})

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource:
            return
        stored = attributes.resource.stored
        meta = own(written(attributes), "metadata")
        if _FINALIZERS[stored] not in items(meta, "finalizers"):
            meta["finalizers"] = [*items(meta, "finalizers"), _FINALIZERS[stored]]
