"""A good object of every kind, from which the rows start."""

from collections.abc import Mapping

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
Object = dict[str, JSON]

GOOD: Mapping[str, Object] = {
    "Order": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Order",
        "spec": {
            "replicas": 3,
            "strategy": {"type": "Scheduled", "schedule": "0 2 * * *"},
            "template": {"spec": {"duration": "8h", "resources": {"requests": {"cpu": "500m"}}}},
        },
    },
    "Ticket": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Ticket",
        "spec": {"duration": "8h", "resources": {"requests": {"cpu": "500m"}}},
    },
    "Quota": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Quota",
        "spec": {
            "scope": {"type": "NamespaceList", "namespaces": ["team-a"]},
            "hard": {"orders": "10", "reserved.cpu": 20, "max-duration": "24h"},
            "timeWindows": [{"name": "day", "schedule": "0 9-17 * * 1-5", "multiplier": "2.0"}],
            "allocation": [{"namespace": "team-a", "limits": {"reserved.cpu": "5"}}],
        },
    },
    "ClusterAdvertisement": {
        "apiVersion": "broker.fluidos.eu/v1alpha1",
        "kind": "ClusterAdvertisement",
        "spec": {"clusterID": "east", "resources": {"capacity": {"cpu": "10", "memory": "8Gi"}}},
    },
    "Reservation": {
        "apiVersion": "broker.fluidos.eu/v1alpha1",
        "kind": "Reservation",
        "spec": {"requestedResources": {"cpu": "2", "memory": "4Gi"}, "duration": "1h"},
    },
    "Resource": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "Resource",
        "spec": {"tag": "analytics", "type": "ec2"},
    },
    "ResourceMonitor": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "ResourceMonitor",
        "spec": {"type": "ec2"},
    },
    "Booking": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "Booking",
        "spec": {
            "resource_name": "analytics",
            "user_id": "cd39ad8bc3",
            "start_at": "2030-01-01T20:00:00Z",
            "end_at": "2030-01-01T23:50:00Z",
            "notifications": [{"type": "email", "recipient": "a@example.com"}],
        },
    },
    "BookingScheduler": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "BookingScheduler",
        "spec": {
            "schedule": "0 8 * * 1-5",
            "duration": 600,
            "bookingTemplate": {"resource_name": "ec2.analytics", "user_id": "cd39ad8bc3"},
        },
    },
    "ShardingConfig": {
        "apiVersion": "kridge.kusionstack.io/v1alpha1",
        "kind": "ShardingConfig",
        "spec": {
            "selector": {"matchLabels": {"app": "demo"}},
            "controller": {"leaderElectionName": "operator-leader"},
            "webhook": {"certDir": "/etc/webhook-certs", "port": 9443},
            "limits": [
                {
                    "objectSelector": {
                        "relateResources": [{"apiGroups": ["*"], "resources": ["pods"]}],
                        "selector": {"matchLabels": {"kridge.kusionstack.io/namespace": "ns-a"}},
                    }
                }
            ],
        },
    },
    "CircuitBreaker": {
        "apiVersion": "kridge.kusionstack.io/v1alpha1",
        "kind": "CircuitBreaker",
        "spec": {
            "selector": {"matchLabels": {"app": "demo"}},
            "rateLimitings": [
                {
                    "name": "deletes",
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "resources": ["pods"],
                            "verbs": ["delete"],
                            "namespaces": ["*"],
                        }
                    ],
                    "bucket": {"burst": 10, "interval": "1s", "limit": 5},
                    "triggerPolicy": "Normal",
                    "recoverPolicy": {"type": "SleepingWindow", "sleepingWindowSize": "10s"},
                }
            ],
            "trafficInterceptRules": [
                {
                    "name": "hosts",
                    "interceptType": "Whitelist",
                    "contentType": "Normal",
                    "contents": ["example.com"],
                    "methods": ["GET"],
                }
            ],
        },
    },
}

ROOT: Object = {
    "prefix": "demo",
    "targetStatefulSet": "operator",
    "auto": {"shardingSize": 4, "everyShardReplicas": 2},
}

HOLD: Object = {"uid": "a", "shard": 0, "resources": {"cpu": 3000}, "state": "Held"}

HELD: Object = {
    "holds": [HOLD],
    "reserved": {"cpu": 3000},
    "held": {"cpu": 3000},
    "available": {"cpu": 7000},
}
