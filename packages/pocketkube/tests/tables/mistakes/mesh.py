"""Mistakes in sharding configurations and circuit breakers."""

from tests.tables.mistakes.good import GOOD, ROOT
from tests.tables.mistakes.spoiling import (
    GONE,
    conditions,
    created,
    unknown_operator,
    unknown_word,
    updated,
)

MESH = (
    created(
        "a shard without pods",
        "ShardingConfig",
        {"spec.selector": GONE},
        says="selector must be given unless root is",
    ),
    created(
        "a shard of all pods",
        "ShardingConfig",
        {"spec.selector": {}},
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "a shard without limits",
        "ShardingConfig",
        {"spec.limits": GONE},
        says="limits must have an entry unless root is given",
    ),
    created(
        "a shard with an empty list of limits",
        "ShardingConfig",
        {"spec.limits": []},
        says="limits must have an entry unless root is given",
    ),
    created(
        "a limit of nothing",
        "ShardingConfig",
        {"spec.limits": [{}]},
        field="spec.limits[0].objectSelector",
        says="objectSelector must be used, or the flat form",
    ),
    created(
        "a limit in both forms",
        "ShardingConfig",
        {"spec.limits[0].selector": {"matchLabels": {"a": "b"}}},
        field="spec.limits[0].objectSelector",
        says="objectSelector must be used, or the flat form",
    ),
    created(
        "a limit without a selector",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": GONE},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a limit with an empty selector",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": {}},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a limit whose labels are null",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": {"matchLabels": None}},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a flat limit with an empty selector",
        "ShardingConfig",
        {"spec.limits": [{"selector": {"matchLabels": {}}}]},
        field="spec.limits[0].selector",
        says="selector must have matchLabels or matchExpressions; an empty one would isolate nothing",
    ),
    created(
        "all groups and one more",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].apiGroups": ["*", "apps"]},
        says="apiGroups must name '*' alone or not at all",
    ),
    created(
        "all resources and one more",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].resources": ["pods", "*"]},
        says="resources must name '*' alone or not at all",
    ),
    created(
        "resources of no group",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].apiGroups": []},
    ),
    updated(
        "a shard that takes other pods",
        "ShardingConfig",
        {},
        {"spec.selector": {"matchLabels": {"app": "other"}}},
        says="selector must not change, or two shards could own one pod",
    ),
    created(
        "an election without a name", "ShardingConfig", {"spec.controller.leaderElectionName": ""}
    ),
    created(
        "an election of nothing",
        "ShardingConfig",
        {"spec.controller": {}},
        field="spec.controller.leaderElectionName",
    ),
    created("a webhook without certificates", "ShardingConfig", {"spec.webhook.certDir": ""}),
    created("a webhook on port 0", "ShardingConfig", {"spec.webhook.port": 0}),
    created("a webhook on port 70000", "ShardingConfig", {"spec.webhook.port": 70000}),
    created(
        "a root without a prefix",
        "ShardingConfig",
        {"spec.root": {**ROOT, "prefix": ""}},
        field="spec.root.prefix",
    ),
    created(
        "a root without pods",
        "ShardingConfig",
        {"spec.root": {"prefix": "demo", "auto": {"shardingSize": 4, "everyShardReplicas": 2}}},
        field="spec.root.targetStatefulSet",
    ),
    created(
        "a root with a prefix in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "prefix": "Demo"}},
        field="spec.root.prefix",
        says="prefix must be lower-case letters, digits and dashes",
    ),
    created(
        "a root of pods in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "targetStatefulSet": "Operator"}},
        field="spec.root.targetStatefulSet",
        says="targetStatefulSet must be lower-case letters, digits, dashes and dots",
    ),
    created(
        "a canary in a namespace in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1, "inNamespaces": ["Team"]}}},
        field="spec.root.canary.inNamespaces[0]",
        says="inNamespaces must be lower-case letters, digits and dashes",
    ),
    created(
        "a root without shards",
        "ShardingConfig",
        {"spec.root": {"prefix": "demo", "targetStatefulSet": "operator"}},
        field="spec.root.auto",
        says="auto must be given, or canary",
    ),
    created(
        "a canary that owns nothing",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1}}},
        field="spec.root.canary.inNamespaces",
        says="inNamespaces must be given, or inShardHash",
    ),
    created(
        "a canary in bucket 32",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1, "inShardHash": [32]}}},
        field="spec.root.canary.inShardHash[0]",
    ),
    created(
        "more shards than buckets",
        "ShardingConfig",
        {"spec.root": {**ROOT, "auto": {"shardingSize": 33, "everyShardReplicas": 1}}},
        field="spec.root.auto.shardingSize",
    ),
    unknown_word("ShardingConfig", "spec.root.hash", {"spec.root": ROOT}),
    unknown_operator("ShardingConfig", "spec.selector"),
    unknown_operator("ShardingConfig", "spec.limits[0].objectSelector.selector"),
    unknown_operator("ShardingConfig", "spec.limits[0].selector", {"spec.limits": [{}]}),
    unknown_operator(
        "ShardingConfig", "spec.root.resourceSelector[0].selector", {"spec.root": ROOT}
    ),
    unknown_operator(
        "ShardingConfig",
        "spec.root.resourceSelector[0].objectSelector.selector",
        {"spec.root": ROOT},
    ),
    conditions("ShardingConfig"),
    created("a breaker for no pods", "CircuitBreaker", {"spec.selector": GONE}),
    created(
        "a breaker for all pods",
        "CircuitBreaker",
        {"spec.selector": {}},
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "two limits of one name",
        "CircuitBreaker",
        {"spec.rateLimitings[1]": GOOD["CircuitBreaker"]["spec"]["rateLimitings"][0]},  # type: ignore[index,call-overload]
        says="Duplicate value",
    ),
    created(
        "a limit for no requests",
        "CircuitBreaker",
        {"spec.rateLimitings[0].resourceRules": GONE},
        says="resourceRules must be given, or restRules",
    ),
    created(
        "a breaker that never closes",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy": GONE},
        says="recoverPolicy must be given for triggerPolicy Normal",
    ),
    created(
        "a breaker that closes after it does not say how long",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy.sleepingWindowSize": GONE},
        says="recoverPolicy.sleepingWindowSize must be given for type SleepingWindow",
    ),
    created(
        "a breaker that closes at once",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy.sleepingWindowSize": "0s"},
        says="sleepingWindowSize must be a duration longer than zero",
    ),
    created("a bucket for nothing", "CircuitBreaker", {"spec.rateLimitings[0].bucket.burst": 0}),
    created(
        "a bucket that never fills", "CircuitBreaker", {"spec.rateLimitings[0].bucket.limit": 0}
    ),
    created(
        "a bucket that fills sometimes",
        "CircuitBreaker",
        {"spec.rateLimitings[0].bucket.interval": "often"},
        says="interval must be a duration longer than zero",
    ),
    created(
        "a rule without verbs",
        "CircuitBreaker",
        {"spec.rateLimitings[0].resourceRules[0].verbs": GONE},
    ),
    created("a rule for no host", "CircuitBreaker", {"spec.trafficInterceptRules[0].contents": []}),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].triggerPolicy"),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].recoverPolicy.type"),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].validatePolicy"),
    unknown_word("CircuitBreaker", "spec.trafficInterceptRules[0].interceptType"),
    unknown_word("CircuitBreaker", "spec.trafficInterceptRules[0].contentType"),
    unknown_operator("CircuitBreaker", "spec.selector"),
    unknown_word(
        "CircuitBreaker",
        "status.targetStatus[0].limitingSnapshots[0].state",
        {
            "status.targetStatus[0].podName": "p",
            "status.targetStatus[0].limitingSnapshots[0].name": "deletes",
        },
    ),
    conditions("CircuitBreaker"),
)
