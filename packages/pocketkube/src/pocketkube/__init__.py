"""A Kubernetes in one Python process: API server, scheduler, controllers, simulated nodes, and simulation on virtual time."""
