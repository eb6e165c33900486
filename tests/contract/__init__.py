"""What a Kubernetes API server promises on the wire; the same tests ask the embedded server and a real one."""
