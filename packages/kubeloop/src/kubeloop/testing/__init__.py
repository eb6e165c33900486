"""Test kit for clients and controllers: virtual time, an API server in memory, child processes, a real control plane."""
