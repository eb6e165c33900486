"""The embedded API server: a small, true Kubernetes API over one SQLite file."""
