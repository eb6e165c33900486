"""Reviews: questions about who somebody is and what they may do, answered in their status.

`serving` passes what is created at these resources through the door. Nothing is stored, and nothing is found out here: `rbac`
and `authentication` are asked as they are asked for a request.
"""

from collections.abc import Callable
from datetime import datetime
import json

from korder.api import instant, selector
from korder.api.machinery import StatusCause
from korder.embedded.apiserver import fielderrors, refusal
from korder.embedded.apiserver.access.action import Action
from korder.embedded.apiserver.access.authentication import Authenticator
from korder.embedded.apiserver.access.plain import Object, members, text, texts
from korder.embedded.apiserver.access.rbac import GROUP as RBAC, Rbac, joined
from korder.embedded.apiserver.access.rules import Rule
from korder.embedded.apiserver.access.tokens import BadToken
from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.fielderrors import quote

AUTHENTICATION = "authentication.k8s.io"
AUTHORIZATION = "authorization.k8s.io"
_SPEC = "spec.resourceAttributes"


class Reviews:
    """Answers reviews."""

    def __init__(
        self, rbac: Rbac, authenticator: Authenticator, now: Callable[[], datetime]
    ) -> None:
        self._rbac = rbac
        self._authenticator = authenticator
        self._now = now
        self._answers: dict[str, Callable[[str, Object, User], Object]] = {
            "tokenreviews": self._token,
            "selfsubjectreviews": self._self,
            "subjectaccessreviews": self._access,
            "selfsubjectaccessreviews": self._own_access,
            "localsubjectaccessreviews": self._local_access,
            "selfsubjectrulesreviews": self._rules,
        }

    def answer(self, plural: str, namespace: str, review: Object, user: User) -> Object:
        """The review with its status; `user` is who asks.

        Raises:
            Refused: the question is incomplete, or there is no such review.
        """
        answering = self._answers.get(plural)
        if answering is None:
            raise refusal.no_such_path()
        return answering(namespace, review, user)

    def _token(self, namespace: str, review: Object, user: User) -> Object:
        del namespace, user
        spec = members(review, "spec")
        token = text(spec, "token")
        if not token:
            raise refusal.bad_request("token is required for TokenReview in authentication")
        try:
            known = self._authenticator.whose(token, texts(spec, "audiences"))
        except BadToken as bad:
            why = f"[invalid bearer token, {bad}]" if str(bad) else "invalid bearer token"
            return {**review, "status": {"user": {}, "error": why}}
        status = {
            "authenticated": True,
            "user": user_info(known.user),
            "audiences": list(known.audiences),
        }
        return {**review, "status": status}

    def _self(self, namespace: str, review: Object, user: User) -> Object:
        del namespace, review
        return {
            "kind": "SelfSubjectReview",
            "apiVersion": f"{AUTHENTICATION}/v1",
            "metadata": {"creationTimestamp": instant.render(self._now())},
            "status": {"userInfo": user_info(user)},
        }

    def _access(self, namespace: str, review: Object, user: User) -> Object:
        del namespace, user
        spec = members(review, "spec")
        _check(
            [
                *_attribute_causes(spec),
                *_user_causes(spec),
                *_selector_causes(spec),
                *_metadata_causes(review),
            ]
        )
        return self._judged(review, _named(spec))

    def _own_access(self, namespace: str, review: Object, user: User) -> Object:
        del namespace
        spec = members(review, "spec")
        _check([*_attribute_causes(spec), *_selector_causes(spec), *_metadata_causes(review)])
        return self._judged(review, user)

    def _local_access(self, namespace: str, review: Object, user: User) -> Object:
        del user
        spec = members(review, "spec")
        causes = [*_attribute_causes(spec), *_user_causes(spec), *_selector_causes(spec)]
        causes += _metadata_causes(review, "namespace")
        if isinstance(spec.get("resourceAttributes"), dict):
            asked = text(members(spec, "resourceAttributes"), "namespace")
            if asked != namespace:
                why = "must match metadata.namespace"
                causes.append(fielderrors.invalid(f"{_SPEC}.namespace", asked, why))
        if isinstance(spec.get("nonResourceAttributes"), dict):
            why = "disallowed on this kind of request"
            causes.append(_path_cause(spec, why))
        _check(causes)
        return self._judged(review, _named(spec))

    def _judged(self, review: Object, user: User) -> Object:
        spec = members(review, "spec")
        decision = self._rbac.decide(user, _action(spec))
        status: Object = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        ignored = _ignored_selectors(members(spec, "resourceAttributes"))
        if ignored:
            status["evaluationError"] = ignored
        return {**review, "status": status}

    def _rules(self, namespace: str, review: Object, user: User) -> Object:
        del namespace
        asked = text(members(review, "spec"), "namespace")
        if not asked:
            raise refusal.bad_request("no namespace on request")
        grants = list(self._rbac.grants(user, asked))
        given = [rule for grant in grants for rule in grant.rules]
        status: Object = {
            "resourceRules": [
                _part(rule, "verbs", "apiGroups", "resources", "resourceNames")
                for rule in given
                if rule.get("resources")
            ],
            "nonResourceRules": [
                _part(rule, "verbs", "nonResourceURLs")
                for rule in given
                if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        vain = [
            f"{grant.kind.lower()}.{RBAC} {quote(grant.missing)} not found"
            for grant in grants
            if grant.missing
        ]
        if vain:
            status["evaluationError"] = joined(vain)
        return {
            "kind": "SelfSubjectRulesReview",
            "apiVersion": f"{AUTHORIZATION}/v1",
            "metadata": {},
            "spec": {},
            "status": status,
        }


def user_info(user: User) -> Object:
    """Somebody as reviews and admission requests show them."""
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(user.extra[key]) for key in sorted(user.extra)}
    return info


def _named(spec: Object) -> User:
    return User(text(spec, "user"), tuple(texts(spec, "groups")), text(spec, "uid"))


def _action(spec: Object) -> Action:
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


def _check(causes: list[StatusCause]) -> None:
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


def _ignored_selectors(asked: Object) -> str:
    """RBAC looks at no selectors, but those that cannot be read are told."""
    ignored = []
    fields = text(members(asked, "fieldSelector"), "rawSelector")
    if fields and not all("=" in term for term in fields.split(",") if term):
        ignored.append(f"{_SPEC}.fieldSelector ignored due to parse error")
    try:
        selector.parse(text(members(asked, "labelSelector"), "rawSelector"))
    except selector.InvalidSelector:
        ignored.append(f"{_SPEC}.labelSelector ignored due to parse error")
    return "; ".join(ignored)


def _part(rule: Rule, *wanted: str) -> Object:
    return {member: rule[member] for member in wanted if rule.get(member)}
