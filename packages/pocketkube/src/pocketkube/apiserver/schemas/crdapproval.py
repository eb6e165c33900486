"""Groups that belong to Kubernetes: a definition in one of them has to say where it was approved, or that it was not.

`crds` puts the condition into the status, `kinds.definition` refuses what says nothing or nonsense.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause

Definition = Mapping[str, Any]

ANNOTATION: Final = "api-approved.kubernetes.io"
CONDITION: Final = "KubernetesAPIApprovalPolicyConformant"
APPROVED, UNAPPROVED = "ApprovedAnnotation", "UnapprovedAnnotation"
MISSING, INVALID = "MissingAnnotation", "InvalidAnnotation"

_WANTED: Final = f'protected groups must have approval annotation "{ANNOTATION}"'
_PROPOSAL: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def check(crd: Definition, old: Definition | None = None) -> Iterator[Cause]:
    """What is wrong with the approval; what was wrong in the same way before is forgiven."""
    if not is_protected(crd):
        return
    reason, stated = state(crd)
    if old is not None and state(old)[0] == reason:
        return
    place = f"metadata.annotations[{ANNOTATION}]"
    if reason == MISSING:
        yield fe.required(place, stated)
    elif reason == INVALID:
        yield fe.invalid(place, _annotation(crd), stated)


def is_protected(crd: Definition) -> bool:
    """Whether the group is one of the community's."""
    group = f".{crd['spec'].get('group', '')}"
    return group.endswith((".k8s.io", ".kubernetes.io"))


def state(crd: Definition) -> tuple[str, str]:
    """The reason of the condition, and what is told with it."""
    given = _annotation(crd)
    if not given:
        return MISSING, f"{_WANTED}, {_PROPOSAL}"
    if given.startswith("unapproved"):
        return UNAPPROVED, f"not approved: {fe.quote(given)}"
    if _is_address(given):
        return APPROVED, f"approved in {given}"
    stated = f'{_WANTED} with either a URL or a reason starting with "unapproved", {_PROPOSAL}'
    return INVALID, stated


def _annotation(crd: Definition) -> str:
    return str((crd["metadata"].get("annotations") or {}).get(ANNOTATION, ""))


def _is_address(text: str) -> bool:
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return bool(found.scheme and found.netloc)
