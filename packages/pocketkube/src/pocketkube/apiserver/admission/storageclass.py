"""DefaultStorageClass: a claim that names no class gets the default one, the youngest if there are several."""

from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, concerns, own, part, written
from pocketkube.apiserver.view import View

CLASSES = "storageclasses.storage.k8s.io"
_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_STYLE = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass(Plugin):
    """Fills in the class of claims."""

    resources = frozenset({"persistentvolumeclaims"})
    operations = frozenset({CREATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "persistentvolumeclaims", CREATE):
            return
        claim = written(attributes)
        annotations = part(part(claim, "metadata"), "annotations")
        spec = own(claim, "spec")
        if _OLD_STYLE in annotations or spec.get("storageClassName") is not None:
            return
        defaults = list(filter(_is_default, self._view.all(CLASSES)))
        if defaults:
            youngest = max(map(_born, defaults))
            names = (each["metadata"]["name"] for each in defaults if _born(each) == youngest)
            spec["storageClassName"] = min(names)


def _is_default(each: Object) -> bool:
    annotations = part(each["metadata"], "annotations")
    return any(annotations.get(mark) == "true" for mark in _MARKS)


def _born(each: Object) -> str:
    return str(each["metadata"].get("creationTimestamp", ""))
