"""How the scheduler decides: pure rules on a picture of the cluster, from which `actors.scheduler` makes plans."""
