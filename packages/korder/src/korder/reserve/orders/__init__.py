"""Orders: how many tickets there are, when they are made and replaced, and what the status says."""
