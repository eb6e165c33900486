"""Roles and bindings: what rules and references may look like. Whether somebody may grant them is a matter of access."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")
_REFERENCE: Final = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}


class Roles(Plain):
    """How Roles and ClusterRoles are judged."""

    name_rule = staticmethod(names.path_segment)

    def check(self, obj: Object) -> Iterator[Cause]:
        for index, rule in enumerate(obj.get("rules") or ()):
            yield from self._rule(rule, f"rules[{index}]")
        aggregation = obj.get("aggregationRule")
        if aggregation is None:
            return
        place, selectors = (
            "aggregationRule.clusterRoleSelectors",
            aggregation.get("clusterRoleSelectors"),
        )
        if not selectors:
            stated = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            yield fe.required(place, stated)
        for index, selector in enumerate(selectors or ()):
            yield from naming.selector(f"{place}[{index}]", selector)

    def _rule(self, rule: Mapping[str, Any], place: str) -> Iterator[Cause]:
        if not rule.get("verbs"):
            yield fe.required(f"{place}.verbs", "verbs must contain at least one value")
        paths = rule.get("nonResourceURLs")
        if paths:
            if self.kind == "Role":
                stated = "namespaced rules cannot apply to non-resource URLs"
                yield fe.invalid(f"{place}.nonResourceURLs", paths, stated)
            if any(rule.get(member) for member in ("apiGroups", "resources", "resourceNames")):
                stated = "rules cannot apply to both regular resources and non-resource URLs"
                yield fe.invalid(f"{place}.nonResourceURLs", paths, stated)
            return
        for member, what in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(member):
                yield fe.required(
                    f"{place}.{member}", f"resource rules must supply at least one {what}"
                )


class RoleBindings(Plain):
    """How RoleBindings and ClusterRoleBindings are completed and judged."""

    name_rule = staticmethod(names.path_segment)

    def default(self, obj: Object) -> None:
        reference = obj.setdefault("roleRef", {})
        obj["roleRef"] = {
            "apiGroup": reference.get("apiGroup") or GROUP,
            "kind": reference.get("kind", ""),
            "name": reference.get("name", ""),
        }
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def check(self, obj: Object) -> Iterator[Cause]:
        reference = obj.get("roleRef") or {}
        if reference.get("apiGroup") != GROUP:
            yield fe.not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
        kinds = ("Role", "ClusterRole") if self.kind == "RoleBinding" else ("ClusterRole",)
        if reference.get("kind") not in kinds:
            yield fe.not_supported("roleRef.kind", reference.get("kind", ""), kinds)
        name = reference.get("name", "")
        if not name:
            yield fe.required("roleRef.name")
        yield from naming.named("roleRef.name", name, names.path_segment)
        for index, subject in enumerate(obj.get("subjects") or ()):
            yield from self._subject(subject, f"subjects[{index}]")

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from self.check(obj)
        if obj.get("roleRef") != old.get("roleRef"):
            reference = obj.get("roleRef") or {}
            shown = fe.in_order({go: reference.get(each, "") for go, each in _REFERENCE.items()})
            yield fe.unshown("roleRef", f"{shown}: cannot change roleRef")

    def _subject(self, subject: Mapping[str, Any], place: str) -> Iterator[Cause]:
        name, group = subject.get("name", ""), subject.get("apiGroup", "")
        if not name:
            yield fe.required(f"{place}.name")
        match subject.get("kind", ""):
            case "ServiceAccount":
                if name:
                    yield from naming.named(f"{place}.name", name, names.subdomain)
                if group:
                    yield fe.not_supported(f"{place}.apiGroup", group, ("",))
                if self.kind == "ClusterRoleBinding" and not subject.get("namespace"):
                    yield fe.required(f"{place}.namespace")
            case "User" | "Group":
                if group != GROUP:
                    yield fe.not_supported(f"{place}.apiGroup", group, (GROUP,))
            case other:
                yield fe.not_supported(f"{place}.kind", other, _SUBJECTS)
