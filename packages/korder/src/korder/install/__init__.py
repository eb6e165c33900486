"""Everything a cluster is given: CRDs, RBAC, admission objects, the Deployment of the manager."""
