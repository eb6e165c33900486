"""Where a pod may run: selectors, affinity, tolerations, spreading and gates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming

Values = Mapping[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = "NoSchedule", "PreferNoSchedule", "NoExecute"
_WHEN: Final = "DoNotSchedule", "ScheduleAnyway"
_INCLUSION: Final = "Honor", "Ignore"


def check_affinity(field: str, affinity: Values | None) -> Iterator[Cause]:
    """Which nodes and which neighbours a pod wants."""
    if affinity is None:
        return
    nodes = affinity.get("nodeAffinity")
    if nodes is not None:
        yield from _check_nodes(f"{field}.nodeAffinity", nodes)
    for kind in ("podAffinity", "podAntiAffinity"):
        wanted = affinity.get(kind) or {}
        for at, term in enumerate(wanted.get(_REQUIRED) or ()):
            yield from _check_neighbours(f"{field}.{kind}.{_REQUIRED}[{at}]", term)
        for at, weighed in enumerate(wanted.get(_PREFERRED) or ()):
            where = f"{field}.{kind}.{_PREFERRED}[{at}]"
            yield from _check_weight(where, weighed)
            term = weighed.get("podAffinityTerm") or {}
            yield from _check_neighbours(f"{where}.podAffinityTerm", term)


def _check_nodes(field: str, nodes: Values) -> Iterator[Cause]:
    required = nodes.get(_REQUIRED)
    if required is not None:
        where = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        terms = required.get("nodeSelectorTerms") or ()
        if not terms:
            yield fielderrors.required(where, "must have at least one node selector term")
        for at, term in enumerate(terms):
            yield from _check_term(f"{where}[{at}]", term, strict=True)
    for at, preferred in enumerate(nodes.get(_PREFERRED) or ()):
        where = f"{field}.{_PREFERRED}[{at}]"
        yield from _check_weight(where, preferred)
        yield from _check_term(
            f"{where}.preference", preferred.get("preference") or {}, strict=False
        )


def _check_weight(field: str, holder: Values) -> Iterator[Cause]:
    weight = holder.get("weight", 0)
    if not 0 < weight <= 100:
        yield fielderrors.invalid(f"{field}.weight", weight, "must be in the range 1-100")


def _check_term(field: str, term: Values, *, strict: bool) -> Iterator[Cause]:
    for at, one in enumerate(term.get("matchExpressions") or ()):
        yield from _check_expression(f"{field}.matchExpressions[{at}]", one, strict=strict)
    for at, one in enumerate(term.get("matchFields") or ()):
        yield from _check_node_field(f"{field}.matchFields[{at}]", one)


def _check_expression(field: str, one: Values, *, strict: bool) -> Iterator[Cause]:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            said = "must be specified when `operator` is 'In' or 'NotIn'"
            yield fielderrors.required(f"{field}.values", said)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield fielderrors.forbidden(f"{field}.values", said)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            said = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield fielderrors.required(f"{field}.values", said)
    else:
        yield fielderrors.invalid(f"{field}.operator", operator, "not a valid selector operator")
    yield from naming.named(f"{field}.key", one.get("key", ""), naming.label_key)
    if strict:
        for at, value in enumerate(values):
            yield from naming.named(f"{field}.values[{at}]", value, naming.label_value)


def _check_node_field(field: str, one: Values) -> Iterator[Cause]:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield fielderrors.invalid(f"{field}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        said = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield fielderrors.required(f"{field}.values", said)
    key = one.get("key", "")
    if key != "metadata.name":
        yield fielderrors.invalid(f"{field}.key", key, "not a valid field selector key")
        return
    for at, value in enumerate(values):
        yield from naming.named(f"{field}.values[{at}]", value, naming.dns_subdomain)


def _check_neighbours(field: str, term: Values) -> Iterator[Cause]:
    chosen = term.get("labelSelector")
    yield from naming.selector(f"{field}.labelSelector", chosen)
    yield from naming.selector(f"{field}.namespaceSelector", term.get("namespaceSelector"))
    for name in term.get("namespaces") or ():
        yield from naming.named(f"{field}.namespace", name, naming.dns_label)
    yield from _check_keys(
        field, term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or (), chosen
    )
    key = term.get("topologyKey", "")
    if not key:
        yield fielderrors.required(f"{field}.topologyKey", "can not be empty")
    yield from naming.named(f"{field}.topologyKey", key, naming.label_key)


def _check_keys(
    field: str, keys: Sequence[str], other: Sequence[str], chosen: Values | None
) -> Iterator[Cause]:
    """Labels of the pod itself that are added to the selector."""
    for member, given in (("matchLabelKeys", keys), ("mismatchLabelKeys", other)):
        if given and chosen is None:
            said = "must not be specified when labelSelector is not set"
            yield fielderrors.forbidden(f"{field}.{member}", said)
            continue
        for at, key in enumerate(given):
            yield from naming.named(f"{field}.{member}[{at}]", key, naming.label_key)
    if chosen is not None:
        seen = set(chosen.get("matchLabels") or ())
        for one in chosen.get("matchExpressions") or ():
            key = one.get("key", "")
            if key in keys and key in seen:
                said = "exists in both matchLabelKeys and labelSelector"
                yield fielderrors.invalid(f"{field}[{_last(keys, key)}]", key, said)
            seen.add(key)
    for at, key in enumerate(keys):
        if key in other:
            said = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield fielderrors.invalid(f"{field}.matchLabelKeys[{at}]", key, said)


def _last(keys: Sequence[str], key: str) -> int:
    return len(keys) - 1 - keys[::-1].index(key)


def check_tolerations(field: str, tolerations: Sequence[Values]) -> Iterator[Cause]:
    """Taints of nodes that do not keep the pod away."""
    for at, one in enumerate(tolerations):
        yield from _check_toleration(f"{field}[{at}]", one)


def _check_toleration(field: str, one: Values) -> Iterator[Cause]:
    key, operator = one.get("key") or "", one.get("operator") or ""
    value, effect = one.get("value") or "", one.get("effect") or ""
    if key:
        yield from naming.named(f"{field}.key", key, naming.label_key)
    elif operator != "Exists":
        said = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield fielderrors.invalid(f"{field}.operator", operator, said)
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        said = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield fielderrors.invalid(f"{field}.effect", effect, said)
    if operator in ("", "Equal"):
        wrong = naming.label_value(value)
        if wrong:
            yield fielderrors.invalid(f"{field}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            said = "value must be empty when `operator` is 'Exists'"
            yield fielderrors.invalid(f"{field}.operator", value, said)
    else:
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield fielderrors.not_supported(f"{field}.operator", operator, known)
    if effect and effect not in _EFFECTS:
        yield fielderrors.not_supported(f"{field}.effect", effect, _EFFECTS)


def check_spreading(field: str, constraints: Sequence[Values]) -> Iterator[Cause]:
    """How evenly pods are spread."""
    for at, one in enumerate(constraints):
        where = f"{field}[{at}]"
        skew, key, when = (
            one.get("maxSkew", 0),
            one.get("topologyKey", ""),
            one.get("whenUnsatisfiable", ""),
        )
        if skew <= 0:
            yield fielderrors.invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        if not key:
            yield fielderrors.required(f"{where}.topologyKey", "can not be empty")
        if when not in _WHEN:
            yield fielderrors.not_supported(f"{where}.whenUnsatisfiable", when, _WHEN)
        for later in constraints[at + 1 :]:
            if (later.get("topologyKey", ""), later.get("whenUnsatisfiable", "")) == (key, when):
                stated = f"{{{key}, {when}}}"
                yield fielderrors.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", stated)
                break
        yield from _check_spread_options(where, one, when)
        chosen = one.get("labelSelector")
        yield from _check_keys(where, one.get("matchLabelKeys") or (), (), chosen)
        yield from naming.selector(f"{where}.labelSelector", chosen)


def _check_spread_options(field: str, one: Values, when: str) -> Iterator[Cause]:
    domains = one.get("minDomains")
    if domains is not None:
        if domains <= 0:
            yield fielderrors.invalid(f"{field}.minDomains", domains, "must be greater than zero")
        if when != "DoNotSchedule":
            said = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
            yield fielderrors.invalid(f"{field}.minDomains", domains, said)
    for member in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if one.get(member) is not None and one[member] not in _INCLUSION:
            yield fielderrors.not_supported(f"{field}.{member}", one[member], _INCLUSION)


def check_gates(field: str, gates: Sequence[Values]) -> Iterator[Cause]:
    """What holds the pod back until somebody removes it."""
    seen: set[str] = set()
    for at, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from naming.named(f"{field}[{at}]", name, naming.label_key)
        if name in seen:
            yield fielderrors.duplicate(f"{field}[{at}]", name)
        seen.add(name)


def add_own_labels(spec: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    """Turns keys of the pod's own labels into expressions, once, when the pod is made."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        wanted = affinity.get(kind) or {}
        preferred = (one.get("podAffinityTerm") or {} for one in wanted.get(_PREFERRED) or ())
        for term in (*preferred, *(wanted.get(_REQUIRED) or ())):
            _add_labels(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _add_labels(constraint, labels)


def _add_labels(holder: Values, labels: Mapping[str, str]) -> None:
    chosen = holder.get("labelSelector")
    if chosen is None:
        return
    for member, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in holder.get(member) or ():
            if key in labels:
                chosen.setdefault("matchExpressions", []).append(
                    {"key": key, "operator": operator, "values": [labels[key]]}
                )
