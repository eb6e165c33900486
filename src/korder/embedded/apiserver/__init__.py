"""The API server of the embedded cluster: what it stores, what it refuses, and in which words."""
