"""What the kinds of Kubernetes are made of, and how objects are read along it."""
