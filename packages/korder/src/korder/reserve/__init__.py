"""Orders, tickets and quotas: capacity on nodes, held for pods to come."""
