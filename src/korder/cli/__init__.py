"""Verbs for people; the only room that wires everything together."""
