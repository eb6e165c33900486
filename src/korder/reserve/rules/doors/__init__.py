"""What is let in: verdicts on pods, orders and tickets, and the objects that put them before an API server."""
