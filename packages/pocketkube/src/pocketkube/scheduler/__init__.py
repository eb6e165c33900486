"""The scheduler: pure rules on a snapshot of the cluster, and the controller that writes bindings."""
