"""What is promised of orders, tickets, guardians and claims; only API objects are read, as a user sees them."""
