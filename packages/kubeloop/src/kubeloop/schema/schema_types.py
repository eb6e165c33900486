"""How Kubernetes' own types look inside our kinds.

`crd` hands `STAND_INS` to `structural`: rules read the light types of `core`, `selector` and `conditions`, which keep some
parts as they came and know no bounds; the schema must name every member, or the API server would prune what a guardian
needs. So each has a full twin here, used for its schema and never decoded.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from kubeloop.objects import conditions, core, selector
from kubeloop.objects.meta import Base
from kubeloop.schema import field_types
from kubeloop.schema.structural import Rule, doc

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_VALUES_FIT_OPERATOR = Rule(
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0"
    " : self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || size(self.values) == 0"
    " : has(self.values) && size(self.values) == 1",
    "values must name at least one value for In and NotIn, exactly one for Gt and Lt, and none for Exists and DoesNotExist",
    field=".values",
)

LabelKey = Annotated[str, doc(min_length=1, max_length=317)]
LabelValue = Annotated[str, doc(max_length=63)]


class LabelSelectorRequirement(Base):
    """A condition on one label."""

    RULES: ClassVar[tuple[Rule, ...]] = (_VALUES_FIT_OPERATOR,)

    key: Annotated[LabelKey, doc("The label.")]
    operator: Annotated[selector.Match, doc("How the label is compared.")]
    values: Annotated[tuple[LabelValue, ...], doc("What it is compared with.", max_items=512)] = ()


class LabelSelector(Base):
    """Selects objects by labels; all conditions must hold."""

    ATOMIC: ClassVar[bool] = True

    # A bare `matchLabels:` is null. A create would drop it, but a server-side apply is judged with it.
    match_labels: Annotated[
        Mapping[str, LabelValue],
        doc("Labels that must have exactly these values.", nullable=True, max_properties=64),
    ] = {}
    match_expressions: Annotated[
        tuple[LabelSelectorRequirement, ...],
        doc("Conditions that must hold.", nullable=True, max_items=32),
    ] = ()


def selects_something(selector: str) -> str:
    """Says in CEL that a selector, which is there, is not empty."""
    return (
        f"((has({selector}.matchLabels) && size({selector}.matchLabels) > 0)"
        f" || (has({selector}.matchExpressions) && size({selector}.matchExpressions) > 0))"
    )


SELECTS_SOMETHING = Rule(
    selects_something("self"),
    "must have matchLabels or matchExpressions; an empty selector would take everything",
)
"""For selectors of which nobody means the empty one."""


class Condition(Base):
    """One thing that is, is not, or may be true of the object."""

    type: Annotated[str, doc("What is judged.", min_length=1, max_length=316)]
    status: Annotated[conditions.Status, doc("Whether it is so.")]
    observed_generation: Annotated[field_types.Count, doc("The generation that was judged.")] = 0
    last_transition_time: Annotated[datetime | None, doc("Since when the status stands.")] = None
    reason: Annotated[str, doc("Why, in one word.", max_length=1024)] = ""
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""


class NodeOperator(StrEnum):
    """How a node's label or field is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


class NodeSelectorRequirement(Base):
    """A condition on one label or field of a node."""

    RULES: ClassVar[tuple[Rule, ...]] = (_VALUES_FIT_OPERATOR,)

    key: Annotated[LabelKey, doc("The label or field.")]
    operator: Annotated[NodeOperator, doc("How it is compared.")]
    values: Annotated[
        tuple[Annotated[str, doc(max_length=253)], ...],
        doc("What it is compared with.", max_items=512),
    ] = ()


class NodeSelectorTerm(Base):
    """Conditions on a node that must all hold."""

    match_expressions: Annotated[
        tuple[NodeSelectorRequirement, ...], doc("Conditions on labels.", max_items=32)
    ] = ()
    match_fields: Annotated[
        tuple[NodeSelectorRequirement, ...], doc("Conditions on fields.", max_items=32)
    ] = ()


class NodeSelector(Base):
    """Terms of which one must hold."""

    node_selector_terms: Annotated[
        tuple[NodeSelectorTerm, ...], doc("The terms.", min_items=1, max_items=32)
    ]


class PreferredSchedulingTerm(Base):
    """A term that makes a node better."""

    weight: Annotated[int, doc("How much better.", minimum=1, maximum=100)]
    preference: Annotated[NodeSelectorTerm, doc("The term.")]


class NodeAffinity(Base):
    """Where the guardian must and would like to run, by properties of nodes."""

    required: Annotated[NodeSelector | None, doc("What a node must have.")] = msgspec.field(
        default=None, name=_REQUIRED
    )
    preferred: Annotated[
        tuple[PreferredSchedulingTerm, ...], doc("What a node should have.", max_items=32)
    ] = msgspec.field(default=(), name=_PREFERRED)


class PodAffinityTerm(Base):
    """Pods that are looked for, and how near is near."""

    topology_key: Annotated[LabelKey, doc("Nodes with an equal value of this label are one place.")]
    label_selector: Annotated[LabelSelector | None, doc("Which pods.")] = None
    namespaces: Annotated[
        tuple[field_types.Label, ...], doc("In which namespaces.", max_items=64)
    ] = ()
    namespace_selector: Annotated[
        LabelSelector | None, doc("In which namespaces, by their labels.")
    ] = None
    match_label_keys: Annotated[
        tuple[LabelKey, ...], doc("Labels in which the pods must equal the guardian.", max_items=32)
    ] = ()
    mismatch_label_keys: Annotated[
        tuple[LabelKey, ...], doc("Labels in which they must differ.", max_items=32)
    ] = ()


class WeightedPodAffinityTerm(Base):
    """A term that makes a place better."""

    weight: Annotated[int, doc("How much better.", minimum=1, maximum=100)]
    pod_affinity_term: Annotated[PodAffinityTerm, doc("The term.")]


class PodAffinity(Base):
    """Near which pods the guardian must and would like to be, or far from which."""

    required: Annotated[tuple[PodAffinityTerm, ...], doc("What must hold.", max_items=16)] = (
        msgspec.field(default=(), name=_REQUIRED)
    )
    preferred: Annotated[
        tuple[WeightedPodAffinityTerm, ...], doc("What should hold.", max_items=16)
    ] = msgspec.field(default=(), name=_PREFERRED)


class Affinity(Base):
    """Where the guardian may be, by nodes and by other pods."""

    node_affinity: Annotated[NodeAffinity | None, doc("By nodes.")] = None
    pod_affinity: Annotated[PodAffinity | None, doc("Near other pods.")] = None
    pod_anti_affinity: Annotated[PodAffinity | None, doc("Away from other pods.")] = None


class TolerationOperator(StrEnum):
    """How a toleration compares a taint's value; empty means Equal."""

    ANY = ""
    EXISTS = "Exists"
    EQUAL = "Equal"
    GREATER = "Gt"
    LESS = "Lt"


class TaintEffect(StrEnum):
    """What a taint does; empty means every effect."""

    ANY = ""
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


TOLERATION_RULES = (
    Rule(
        "!(has(self.operator) && self.operator == 'Exists' && has(self.value) && size(self.value) > 0)",
        "value must be left out with operator Exists, which takes every value",
        field=".value",
    ),
    Rule(
        "(has(self.key) && size(self.key) > 0) || (has(self.operator) && self.operator == 'Exists')",
        "operator must be Exists when key is left out, which means every taint",
        field=".operator",
    ),
)


class Toleration(Base):
    """Leave to be on a node in spite of a taint."""

    RULES: ClassVar[tuple[Rule, ...]] = TOLERATION_RULES

    key: Annotated[
        str, doc("The taint's key; left out with Exists it means all.", max_length=317)
    ] = ""
    operator: Annotated[TolerationOperator, doc("Equal unless it says otherwise.")] = (
        TolerationOperator.ANY
    )
    value: Annotated[str, doc("The taint's value.", max_length=63)] = ""
    effect: Annotated[TaintEffect, doc("The taint's effect; left out it means all.")] = (
        TaintEffect.ANY
    )
    toleration_seconds: Annotated[int | None, doc("How long a NoExecute taint is borne.")] = None


class Unsatisfiable(StrEnum):
    """What happens when an even spread is impossible."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class InclusionPolicy(StrEnum):
    """Whether something is respected when nodes are counted."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class TopologySpreadConstraint(Base):
    """How evenly guardians are spread over the values of a node label."""

    max_skew: Annotated[int, doc("The greatest difference.", minimum=1)]
    topology_key: Annotated[LabelKey, doc("The node label.")]
    when_unsatisfiable: Annotated[Unsatisfiable, doc("Whether to wait or to go on.")]
    label_selector: Annotated[LabelSelector | None, doc("Which pods are counted.")] = None
    min_domains: Annotated[int | None, doc("The least number of values.", minimum=1)] = None
    node_affinity_policy: Annotated[
        InclusionPolicy | None, doc("Whether affinity limits the nodes that count.")
    ] = None
    node_taints_policy: Annotated[
        InclusionPolicy | None, doc("Whether taints limit the nodes that count.")
    ] = None
    match_label_keys: Annotated[
        tuple[LabelKey, ...], doc("Labels in which counted pods equal the guardian.", max_items=32)
    ] = ()


Conditions = Annotated[
    tuple[conditions.Condition, ...],
    doc("What is true of it, and why.", list_type="map", list_keys=["type"], max_items=32),
]

STAND_INS: Mapping[type, type] = {
    selector.LabelSelector: LabelSelector,
    conditions.Condition: Condition,
    core.Affinity: Affinity,
    core.Toleration: Toleration,
    core.TopologySpreadConstraint: TopologySpreadConstraint,
}
