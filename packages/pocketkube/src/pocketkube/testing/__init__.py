"""Test kit: the embedded API server, simulated nodes and a scheduler for a test, and histories for invariants."""
