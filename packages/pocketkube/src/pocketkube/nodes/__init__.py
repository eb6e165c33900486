"""Simulated nodes: machines, heartbeats, and a kubelet without containers."""
