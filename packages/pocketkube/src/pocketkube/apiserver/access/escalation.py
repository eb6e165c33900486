"""Nobody gives more than they have: what is checked when a role or a binding is written.

The door asks before such a write. Whoever may `escalate` roles, or `bind` the role in question, and the masters, are not asked
for the rules they own.
"""

from collections.abc import Sequence
from typing import Any

from pocketkube.apiserver import refusal
from pocketkube.apiserver.access import rules
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.rbac import GROUP, Rbac, joined
from pocketkube.apiserver.access.rules import Rule
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.fielderrors import quote

Object = dict[str, Any]

_BOOKKEEPING = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


def guard(rbac: Rbac, user: User, plural: str, obj: Object, old: Object | None) -> None:
    """Checks a role or binding that is about to be stored.

    Raises:
        Refused: 403, or 404 where a binding names a role that is not there.
    """
    if old is not None and _content(obj) == _content(old):
        return
    if plural.endswith("bindings"):
        _guard_binding(rbac, user, plural, obj)
    else:
        _guard_role(rbac, user, plural, obj, old)


def _guard_role(rbac: Rbac, user: User, plural: str, obj: Object, old: Object | None) -> None:
    meta = obj["metadata"]
    namespace, name = meta.get("namespace", ""), meta.get("name", "")
    # A create names no object in its path, so a permission that is bound to names does not help it.
    asked = Action("escalate", GROUP, plural, namespace=namespace, name="" if old is None else name)
    if rbac.decide(user, asked).allowed:
        return
    _confirm(rbac, user, (plural, namespace, name), obj.get("rules") or ())
    if _gathers(obj) or (old is not None and _gathers(old)):
        owned = [rule for grant in rbac.grants(user, namespace) for rule in grant.rules]
        if rules.missing(owned, rules.EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise refusal.forbidden(plural, GROUP, name, why)


def _guard_binding(rbac: Rbac, user: User, plural: str, obj: Object) -> None:
    meta, ref = obj["metadata"], obj.get("roleRef") or {}
    namespace = meta.get("namespace", "") if plural == "rolebindings" else ""
    kind, role = ref.get("kind"), ref.get("name", "")
    if kind not in ("Role", "ClusterRole"):
        return  # no such roles: the strategy of bindings refuses it
    asked = Action("bind", ref.get("apiGroup", ""), f"{kind.lower()}s", "", namespace, role)
    if rbac.decide(user, asked).allowed:
        return
    given = rbac.role_rules(ref, namespace)
    if given is None:
        # A server names the kind of the request here, not that of the role.
        raise refusal.not_found(plural, GROUP, role)
    _confirm(rbac, user, (plural, namespace, meta.get("name", "")), given)


def _confirm(rbac: Rbac, user: User, written: tuple[str, str, str], wanted: Sequence[Rule]) -> None:
    plural, namespace, name = written
    grants = list(rbac.grants(user, namespace))
    lacking = rules.missing([rule for grant in grants for rule in grant.rules], wanted)
    if not lacking:
        return
    why = (
        f"user {quote(user.name)} (groups={rules.quoted(user.groups)}) is attempting to grant"
        f" RBAC permissions not currently held:\n{rules.described(lacking)}"
    )
    vain = [grant.missing for grant in grants if grant.missing]
    if vain:
        problems = [f"{plural}.{GROUP} {quote(role)} not found" for role in vain]
        why += f"; resolution errors: [{joined(problems)}]"
    raise refusal.forbidden(plural, GROUP, name, why)


def _gathers(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _content(obj: Object) -> Object:
    """All but what a garbage collector may have to change."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": meta}
