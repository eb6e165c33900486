"""A typed asyncio Kubernetes client and controller runtime."""
