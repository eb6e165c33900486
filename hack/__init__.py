"""Scripts of the repository, and its import contracts."""
