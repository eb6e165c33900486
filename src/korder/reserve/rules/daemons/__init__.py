"""DaemonSet mode: which nodes get a ticket of an order, and what becomes of it when nodes change."""
