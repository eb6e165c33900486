"""What a pod says about itself: defaults, checks and allowed changes of the spec that pods and all workloads share."""
