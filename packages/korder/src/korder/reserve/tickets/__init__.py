"""Tickets: guardian, deadlines, phases, end."""
