"""The controllers every cluster has, on an embedded or a real API server."""
