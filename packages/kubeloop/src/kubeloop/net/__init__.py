"""Bytes: HTTP in and out, TLS, certificates. Knows nothing of Kubernetes."""
