"""Orders, tickets and guardians: room on nodes, held for pods to come."""
