"""Invariants of orders, tickets, guardians, claims and quotas; only API objects are read, as a user sees them."""
