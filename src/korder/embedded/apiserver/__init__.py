"""The embedded API server: a small, true kube-apiserver in one process."""
