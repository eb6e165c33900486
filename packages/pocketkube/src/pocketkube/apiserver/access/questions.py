"""What a review of access asks, and what is wrong with a question. Pure.

`reviews` reads the specs of reviews with it. The checks and their words are those of a server.
"""

import json

from kubeloop.objects import selector
from kubeloop.objects.machinery import StatusCause
from pocketkube.apiserver import fielderrors, refusal
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.plain import Object, members, text, texts
from pocketkube.apiserver.access.user import User

AUTHORIZATION = "authorization.k8s.io"
_SPEC = "spec.resourceAttributes"


def check_about_somebody(review: Object) -> None:
    """Checks a SubjectAccessReview.

    Raises:
        Refused: 422.
    """
    spec = members(review, "spec")
    _refuse(
        [
            *_attribute_causes(spec),
            *_user_causes(spec),
            *_selector_causes(spec),
            *_metadata_causes(review),
        ]
    )


def check_about_oneself(review: Object) -> None:
    """Checks a SelfSubjectAccessReview.

    Raises:
        Refused: 422.
    """
    spec = members(review, "spec")
    _refuse([*_attribute_causes(spec), *_selector_causes(spec), *_metadata_causes(review)])


def check_in_namespace(review: Object, namespace: str) -> None:
    """Checks a LocalSubjectAccessReview.

    Raises:
        Refused: 422.
    """
    spec = members(review, "spec")
    causes = [*_attribute_causes(spec), *_user_causes(spec), *_selector_causes(spec)]
    causes += _metadata_causes(review, "namespace")
    if isinstance(spec.get("resourceAttributes"), dict):
        asked = text(members(spec, "resourceAttributes"), "namespace")
        if asked != namespace:
            why = "must match metadata.namespace"
            causes.append(fielderrors.invalid(f"{_SPEC}.namespace", asked, why))
    if isinstance(spec.get("nonResourceAttributes"), dict):
        causes.append(_path_cause(spec, "disallowed on this kind of request"))
    _refuse(causes)


def person(review: Object) -> User:
    """Whom a review is about."""
    spec = members(review, "spec")
    return User(text(spec, "user"), tuple(texts(spec, "groups")), text(spec, "uid"))


def action(review: Object) -> Action:
    """What they want to do."""
    spec = members(review, "spec")
    if isinstance(spec.get("resourceAttributes"), dict):
        asked = members(spec, "resourceAttributes")
        return Action(
            *(
                text(asked, member)
                for member in ("verb", "group", "resource", "subresource", "namespace", "name")
            )
        )
    asked = members(spec, "nonResourceAttributes")
    return Action(text(asked, "verb"), path=text(asked, "path"))


def unreadable_selectors(review: Object) -> str:
    """RBAC looks at no selectors, but those that cannot be read are told."""
    asked = members(members(review, "spec"), "resourceAttributes")
    ignored = []
    fields = text(members(asked, "fieldSelector"), "rawSelector")
    if fields and not all("=" in term for term in fields.split(",") if term):
        ignored.append(f"{_SPEC}.fieldSelector ignored due to parse error")
    try:
        selector.parse(text(members(asked, "labelSelector"), "rawSelector"))
    except selector.InvalidSelector:
        ignored.append(f"{_SPEC}.labelSelector ignored due to parse error")
    return "; ".join(ignored)


def _refuse(causes: list[StatusCause]) -> None:
    if causes:
        # A server has forgotten the kind when it comes to this.
        raise refusal.invalid("", AUTHORIZATION, "", causes)


def _attribute_causes(spec: Object) -> list[StatusCause]:
    resource = isinstance(spec.get("resourceAttributes"), dict)
    path = isinstance(spec.get("nonResourceAttributes"), dict)
    if resource and path:
        return [_path_cause(spec, "cannot be specified in combination with resourceAttributes")]
    if not resource and not path:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [fielderrors.invalid(_SPEC, None, why)]
    return []


def _path_cause(spec: Object, why: str) -> StatusCause:
    asked = members(spec, "nonResourceAttributes")
    shown = {"Path": text(asked, "path"), "Verb": text(asked, "verb")}
    return fielderrors.invalid("spec.nonResourceAttributes", shown, why)


def _user_causes(spec: Object) -> list[StatusCause]:
    if text(spec, "user") or texts(spec, "groups"):
        return []
    why = "at least one of user or group must be specified"
    return [fielderrors.invalid("spec.user", "", why)]


def _selector_causes(spec: Object) -> list[StatusCause]:
    causes = []
    asked = members(spec, "resourceAttributes")
    for member in ("fieldSelector", "labelSelector"):
        if not isinstance(asked.get(member), dict):
            continue
        given, path = members(asked, member), f"{_SPEC}.{member}"
        raw, requirements = text(given, "rawSelector"), given.get("requirements")
        if raw and requirements:
            why = "may not specified at the same time as requirements"
            causes.append(fielderrors.invalid(f"{path}.rawSelector", raw, why))
        if not raw and not requirements:
            why = f"when {path} is specified, requirements or rawSelector is required"
            causes.append(fielderrors.required(f"{path}.requirements", why))
    return causes


def _metadata_causes(review: Object, *allowed: str) -> list[StatusCause]:
    meta = {key: value for key, value in members(review, "metadata").items() if value}
    if not meta.keys() - {"managedFields", *allowed}:
        return []
    shown = json.dumps(meta, separators=(",", ":"), ensure_ascii=False)
    why = "must be empty except for namespace" if allowed else "must be empty"
    return [fielderrors.unshown("metadata", f"{shown}: {why}")]
