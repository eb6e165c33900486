"""Simulation scenarios of orders, tickets and quotas: workloads, invariants and the setup of a run."""
