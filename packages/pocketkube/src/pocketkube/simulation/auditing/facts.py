"""What objects say of themselves, as the auditor reads it.

Invariants ask. Some of it the actors know too (`pod_control`, `job_status`), but they are judged here: a judge who asks the accused
would find every mistake in order.
"""

from collections.abc import Iterable

from kubeloop.objects import core
from kubeloop.objects.core import Pod, ReportedCondition
from kubeloop.objects.meta import HasMetadata, OwnerReference, controller_of
from kubeloop.objects.plan import AnyKind
from kubeloop.objects.workloads import Job

_ENDS = "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"


def says(conditions: Iterable[ReportedCondition], kind: str) -> bool:
    """Whether a condition is reported as true."""
    found = core.reported(conditions, kind)
    return found is not None and found.status == "True"


def is_ready(pod: Pod) -> bool:
    """Whether its kubelet says that it serves."""
    return says(pod.status.conditions, "Ready")


def is_active(pod: Pod) -> bool:
    """Whether a pod counts for its owner: it has neither ended nor been told to."""
    return not core.is_finished(pod) and pod.metadata.deletion_timestamp is None


def is_settled(pod: Pod | None) -> bool:
    """Whether a pod serves and is to go on."""
    return pod is not None and is_active(pod) and is_ready(pod)


def controller(obj: HasMetadata, kind: AnyKind) -> OwnerReference | None:
    """The controller of an object, if it is of this kind."""
    ref = controller_of(obj)
    if ref is None or (ref.kind, ref.api_version) != (kind.kind, kind.api_version):
        return None
    return ref


def is_decided(job: Job) -> bool:
    """Whether it is certain how a Job ends."""
    return any(says(job.status.conditions, kind) for kind in _ENDS)


def is_over(job: Job) -> bool:
    """Whether a Job has ended."""
    return any(says(job.status.conditions, kind) for kind in ("Complete", "Failed"))
