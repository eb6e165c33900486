"""korder books capacity on Kubernetes; ARCHITECTURE.md is the map of its rooms."""
