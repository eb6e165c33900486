"""korder books capacity on Kubernetes; ARCHITECTURE.md says which package and slice does what."""
