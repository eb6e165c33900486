"""Reviews: questions about who somebody is and what they may do, answered in their status.

`serving` passes what is created at these resources through the door. Nothing is stored, and nothing is found out here: `rbac`
and `authentication` are asked as they are asked for a request.
"""

from collections.abc import Callable
from datetime import datetime

from kubeloop.objects import instant
from pocketkube.apiserver import refusal
from pocketkube.apiserver.access import questions
from pocketkube.apiserver.access.authentication import Authenticator
from pocketkube.apiserver.access.plain import Object, members, text, texts
from pocketkube.apiserver.access.questions import AUTHORIZATION
from pocketkube.apiserver.access.rbac import GROUP as RBAC, Rbac, joined
from pocketkube.apiserver.access.rules import Rule
from pocketkube.apiserver.access.tokens import BadToken
from pocketkube.apiserver.access.user import User, user_info
from pocketkube.apiserver.fielderrors import quote

AUTHENTICATION = "authentication.k8s.io"
REVIEWS = {
    "tokenreviews": AUTHENTICATION,
    "selfsubjectreviews": AUTHENTICATION,
    "subjectaccessreviews": AUTHORIZATION,
    "selfsubjectaccessreviews": AUTHORIZATION,
    "localsubjectaccessreviews": AUTHORIZATION,
    "selfsubjectrulesreviews": AUTHORIZATION,
}
"""All there are, and their groups."""


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
        questions.check_about_somebody(review)
        return self._judged(review, questions.person(review))

    def _own_access(self, namespace: str, review: Object, user: User) -> Object:
        del namespace
        questions.check_about_oneself(review)
        return self._judged(review, user)

    def _local_access(self, namespace: str, review: Object, user: User) -> Object:
        del user
        questions.check_in_namespace(review, namespace)
        return self._judged(review, questions.person(review))

    def _judged(self, review: Object, user: User) -> Object:
        decision = self._rbac.decide(user, questions.action(review))
        status: Object = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        ignored = questions.unreadable_selectors(review)
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


def _part(rule: Rule, *wanted: str) -> Object:
    return {member: rule[member] for member in wanted if rule.get(member)}
