"""Explanations of pods, orders, tickets, quotas and nodes, by the rules that decide."""
