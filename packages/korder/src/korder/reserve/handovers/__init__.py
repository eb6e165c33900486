"""Hand-overs: how capacity passes from guardians to the pods that claimed it."""
