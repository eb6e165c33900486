"""Which policies are to judge a write, with which bindings and parameters: the part both kinds of policies share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission import matching
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.admission.compiled import Whole
from pocketkube.apiserver.admission.expressions import Activation, Ask
from pocketkube.apiserver.admission.matching import Equivalents, Index
from pocketkube.apiserver.admission.policies import parameters
from pocketkube.apiserver.admission.policies.definitions import Binding, Bound, Policy
from pocketkube.apiserver.admission.policies.parameters import FindKind, Misconfigured
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.view import View

Object = dict[str, Any]
AskFor = Callable[[Attributes], Ask]
R = TypeVar("R")

_UNJUDGED: Final = frozenset(
    {
        "selfsubjectreviews.authentication.k8s.io",
        "tokenreviews.authentication.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        *(
            f"{plural}.{matching.GROUP}"
            for plural in (
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings",
            )
        ),
    }
)
_NAMESPACE_META: Final = (
    "name",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


@dataclass(frozen=True, slots=True)
class Invocation(Generic[R]):
    """A policy, how it is bound and one parameter; `problem` says why it cannot be evaluated."""

    policy: Policy[R]
    binding: Binding | None
    target: Resource
    param: Object | None = None
    problem: str = ""

    @property
    def key(self) -> str:
        meta = (self.param or {}).get("metadata") or {}
        binding = self.binding.name if self.binding else ""
        return f"{self.policy.name}/{binding}/{meta.get('namespace')}/{meta.get('name')}"


class Invocations(Generic[R]):
    """Finds invocations and gives them something to look at."""

    def __init__(
        self,
        view: View,
        policies: Whole[Index[Bound[R]]],
        find_kind: FindKind,
        equivalents: Equivalents,
        ask_for: AskFor | None,
    ) -> None:
        self._view = view
        self._policies = policies
        self._find_kind = find_kind
        self._equivalents = equivalents
        self._ask_for = ask_for

    def of(self, attributes: Attributes) -> Sequence[Invocation[R]]:
        """Everything that is to be evaluated for a write."""
        candidates = self._policies.get().candidates(attributes)
        if not candidates or attributes.resource.stored in _UNJUDGED:
            return ()
        return [each for one in candidates for each in self._bound(one, attributes)]

    def activation(self, invocation: Invocation[R], attributes: Attributes) -> Activation:
        """What the expressions of an invocation see."""
        return Activation(
            attributes,
            invocation.target,
            params=invocation.param,
            namespace=self._namespace(attributes),
            variables=invocation.policy.compiler.variables,
            ask=self._ask_for(attributes) if self._ask_for else None,
        )

    def _bound(self, one: Bound[R], attributes: Attributes) -> Iterator[Invocation[R]]:
        policy = one.policy
        target = policy.scope.target(attributes, self._equivalents, all_without_rules=True)
        if target is None or not policy.scope.selects(attributes, self._view):
            return
        try:
            found = (
                parameters.resource(policy.param_kind, self._find_kind)
                if policy.param_kind
                else None
            )
        except Misconfigured as problem:
            why = f"failed to configure policy: {problem}"
            yield Invocation(policy, None, target, problem=why)
            return
        for binding in one.bindings:
            if self._applies(binding, attributes):
                yield from self._with_params(policy, binding, target, found, attributes)

    def _applies(self, binding: Binding, attributes: Attributes) -> bool:
        scope = binding.scope
        if scope is None:
            return True
        target = scope.target(attributes, self._equivalents, all_without_rules=True)
        return target is not None and scope.selects(attributes, self._view)

    def _with_params(
        self,
        policy: Policy[R],
        binding: Binding,
        target: Resource,
        found: Resource | None,
        attributes: Attributes,
    ) -> Iterator[Invocation[R]]:
        home = matching.namespace_of(attributes)
        try:
            params = parameters.collect(self._view, found, binding.param_ref, home)
        except Misconfigured as problem:
            why = f"failed to configure binding: {problem}"
            yield Invocation(policy, binding, target, problem=why)
            return
        for param in params:
            yield Invocation(policy, binding, target, param)

    def _namespace(self, attributes: Attributes) -> Object | None:
        """The namespace as expressions may see it; that of a namespace is none."""
        if not attributes.namespace or matching.is_namespace(attributes.resource):
            return None
        found = self._view.get("namespaces", "", attributes.namespace)
        if found is None:
            raise refusal.not_found("namespaces", "", attributes.namespace)
        meta = found["metadata"]
        return {
            "metadata": {name: meta[name] for name in _NAMESPACE_META if name in meta},
            "spec": found.get("spec") or {},
            "status": found.get("status") or {},
        }
