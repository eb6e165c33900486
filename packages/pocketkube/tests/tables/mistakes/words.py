"""Unknown words in the spec of a ticket, which an order carries as its template."""

from tests.tables.mistakes.spoiling import Mistake, unknown_operator, unknown_word

TERMS = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
POD_TERM = {"topologyKey": "zone"}
WEIGHTED_POD_TERM = {"weight": 1, "podAffinityTerm": POD_TERM}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def ticket_words(kind: str, spec: str) -> tuple[Mistake, ...]:
    """Unknown words in a ticket's spec, which an order carries as its template."""
    affinity = f"{spec}.affinity"
    node, pods, apart = (
        f"{affinity}.nodeAffinity",
        f"{affinity}.podAffinity",
        f"{affinity}.podAntiAffinity",
    )
    preference = f"{node}.{PREFERRED}[0].preference"
    return (
        unknown_word(kind, f"{spec}.lifecycle.cleanupPolicy"),
        unknown_word(kind, f"{spec}.afterUse"),
        unknown_word(kind, f"{spec}.tolerations[0].operator", {f"{spec}.tolerations[0].key": "a"}),
        unknown_word(
            kind, f"{spec}.tolerations[0].effect", {f"{spec}.tolerations[0].operator": "Exists"}
        ),
        *(
            unknown_word(
                kind,
                f"{spec}.topologySpreadConstraints[0].{word}",
                {f"{spec}.topologySpreadConstraints": [SPREAD]},
            )
            for word in ("whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy")
        ),
        *(
            unknown_word(
                kind,
                f"{term}[0].operator",
                {f"{term}[0].key": "a", f"{preference[: -len('.preference')]}.weight": 1}
                if term.startswith(preference)
                else {f"{term}[0].key": "a"},
            )
            for term in (
                f"{node}.{TERMS}[0].matchExpressions",
                f"{node}.{TERMS}[0].matchFields",
                f"{preference}.matchExpressions",
                f"{preference}.matchFields",
            )
        ),
        *(
            unknown_operator(
                kind, f"{where}.{REQUIRED}[0].{which}", {f"{where}.{REQUIRED}": [POD_TERM]}
            )
            for where in (pods, apart)
            for which in ("labelSelector", "namespaceSelector")
        ),
        *(
            unknown_operator(
                kind,
                f"{where}.{PREFERRED}[0].podAffinityTerm.{which}",
                {f"{where}.{PREFERRED}": [WEIGHTED_POD_TERM]},
            )
            for where in (pods, apart)
            for which in ("labelSelector", "namespaceSelector")
        ),
        unknown_operator(
            kind,
            f"{spec}.topologySpreadConstraints[0].labelSelector",
            {f"{spec}.topologySpreadConstraints": [SPREAD]},
        ),
        unknown_operator(kind, f"{spec}.owners[0].podSelector"),
    )
