"""How many tickets an order has, when they are made and replaced, and what its status says."""
